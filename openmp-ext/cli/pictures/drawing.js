// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// From a specification of Vega or Vega-Lite to a picture: colours of light and dark, widths, tips
// at the pointer. Pictures are drawn anew when the width or the colours change.

const narrow = 560; // pixels: below it labels are short
const dark = matchMedia("(prefers-color-scheme: dark)");
const drawn = [];  // {place, specification: (width, look) => {lite or vega: …}, drawing}

function look() {
  const night = dark.matches;
  return {
    text: night ? "#e6edf3" : "#1f2328",
    faint: night ? "#9aa4af" : "#59636e",
    line: night ? "#3d444d" : "#d1d9e0",
    ground: night ? "#0d1117" : "#ffffff",
    accent: night ? "#58a6ff" : "#0969da",
    readable: night ? '> 0.55' : '< 0.55',  // dark text on the heat of a share
    // From nothing to much, and colours of objects side by side.
    heat: night ? ["#1b2836", "#1f6feb", "#79c0ff", "#fff3c4"] :
                  ["#eaf1f8", "#9ecae1", "#2a7ab9", "#08264d"],
    objects: night ?
        [
          "#58a6ff", "#f0883e", "#3fb950", "#bc8cff", "#e3b341", "#39c5cf", "#ff7b72", "#a5d6ff",
          "#6e7681"
        ] :
        [
          "#2a7ab9", "#e3762b", "#2f9e57", "#8757c9", "#c29b00", "#1595a0", "#d1495b", "#7fb2dd",
          "#9aa4af"
        ],
    // Against the average: less, as much, more. Dark text is read on each of them.
    cold: "#7fb2dd",
    even: "#dcdcdc",
    hot: "#f4843c",
    unused: "#b4bac1",
  };
}

function configuration() {
  const colours = look();
  const font = 'system-ui, "DejaVu Sans", sans-serif';
  const axis = {
    labelColor: colours.faint,
    titleColor: colours.text,
    domainColor: colours.line,
    tickColor: colours.line,
    gridColor: colours.line,
    gridOpacity: 0.6,
    labelFontSize: 12,
    titleFontSize: 12,
    titleFontWeight: 500,
    labelFont: font,
    titleFont: font
  };
  return {
    background: null,
    aria: false,
    font,
    customFormatTypes: true,
    axis,
    view: {stroke: null},
    title:
        {color: colours.text, font, fontSize: 13, anchor: "start", frame: "group", fontWeight: 600},
    text: {fill: colours.text, font},
    legend: {
      labelColor: colours.text,
      titleColor: colours.text,
      labelFont: font,
      titleFont: font,
      labelFontSize: 12,
      titleFontSize: 12,
      titleFontWeight: 500,
      symbolLimit: 20,
      gradientStrokeColor: null
    },
    range: {heatmap: colours.heat, ramp: colours.heat, category: colours.objects},
  };
}

// Lines of text beside the pointer.
function showTip(event, text) {
  let tip = document.getElementById("tip");
  if (!text) {
    if (tip) tip.remove();
    return;
  }
  if (!tip) document.body.append(tip = element("div", {id: "tip"}));
  tip.textContent = text;
  const room = 14, {width, height} = tip.getBoundingClientRect();
  const left = event.clientX + room + width > innerWidth ? event.clientX - room - width :
                                                           event.clientX + room;
  const top = event.clientY + room + height > innerHeight ? event.clientY - room - height :
                                                            event.clientY + room;
  tip.style.left = Math.max(4, left) + "px";
  tip.style.top = Math.max(4, top) + "px";
}

async function redraw(picture) {
  if (picture.drawing) picture.drawing.finalize();
  const width = picture.place.clientWidth;
  const asked = picture.specification(width, look());
  picture.width = width;
  picture.drawing = await vegaEmbed(picture.place, asked.lite ?? asked.vega, {
    mode: asked.lite ? "vega-lite" : "vega",
    config: configuration(),
    renderer: "svg",
    actions: false,
    hover: false,
    defaultStyle: false,
    expressionFunctions: {sizeText: sizeTick, percentText: roundTick, timeText: timeTick},
    tooltip: (handler, event, item, text) => showTip(event, text)
  });
}

// description: for who does not see it.
function picture(id, description, specification) {
  const place = element("div", {id, className: "picture", role: "img", ariaLabel: description});
  drawn.push({place, specification});
  return place;
}

function drawAll() {
  return Promise.all(drawn.map(redraw));
}

dark.addEventListener("change", drawAll);
let waiting = 0;
addEventListener("resize", () => {
  clearTimeout(waiting);
  waiting = setTimeout(
      () => drawn.filter(one => one.place.clientWidth !== one.width).forEach(redraw), 150);
});
addEventListener("scroll", () => showTip(null, ""), {passive: true});
