// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Where bytes lie that are hardly used: an area for each object's bytes, its colour the share that
// a byte gets, against the average. A specification for Vega.

const mostTiles = 150;

// How many times the average share per byte, as a power of ten; null: not sampled at all. 0 also
// where the interval includes the average: samples do not tell on which side the object is.
function heatOf(site, averagePerByte) {
  if (site.share <= 0 || site.bytes_peak <= 0 || averagePerByte <= 0) return null;
  const average = averagePerByte * site.bytes_peak;
  if (site.low <= average && average <= site.high) return 0;
  return Math.log10(site.share / site.bytes_peak / averagePerByte);
}

function timesAverage(heat) {
  if (heat === null) return "";
  if (heat === 0) return "\nabout the average share per byte, as far as samples tell";
  const times = 10 ** heat;
  return "\n" +
      (times >= 10    ? times.toFixed(0) :
           times >= 1 ? times.toFixed(1) :
                        times.toPrecision(1)) +
      " times the average share per byte";
}

// The innermost calls that led to the allocation.
function callersOf(site) {
  const known = site.frames.filter(frame => frame.function).slice(0, 4);
  const text = frame =>
      frame.function + (frame.line ? " (" + frame.file + ":" + frame.line + ")" : "");
  return known.length ? "\nin " + known.map(text).join("\nfrom ") : "";
}

const tileShare = site => whyUnsampled ? "" : "\n" + shareLine(site, whatFell);

// sites: with bytes; others: {objects, bytes, share} of those that have no tile.
function tilesOf(sites, others, averagePerByte) {
  const tileOf = (id, label, bytes, share, heat, tip) => ({
    id,
    parent: "all",
    label,
    bytes,
    size: sizeText(bytes),
    share: whyUnsampled ? "" :
        share > 0       ? percentText(share) :
                          "no sample",
    heat,
    tip: label + "\n" + sizeText(bytes) + tip
  });
  const tiles =
      sites.map(site => tileOf(site.number, cutName(site.label), site.bytes_peak, site.share,
                               heatOf(site, averagePerByte),
                               " in " + countOf(site.objects, "block") + tileShare(site) +
                                   timesAverage(heatOf(site, averagePerByte)) + callersOf(site)));
  if (others.bytes <= 0) return tiles;
  const tip = whyUnsampled ? "" : "\n" + percentText(others.share) + " of " + whatFell;
  const heat = heatOf({share: others.share, bytes_peak: others.bytes}, averagePerByte);
  return [
    ...tiles,
    tileOf("others", countOf(others.objects, "other"), others.bytes, others.share, heat, tip)
  ];
}

// A line of text in each tile that has room for so many.
function tileText(line, field, fontSize) {
  const room = "datum.x1 - datum.x0 > 44 && datum.y1 - datum.y0 > " + (line * 16 + 4);
  return {
    type: "text",
    from: {data: "tiles"},
    interactive: false,
    encode: {
      update: {
        x: {field: "x0", offset: 6},
        y: {field: "y0", offset: line * 16 - 12},
        baseline: {value: "top"},
        fontSize: {value: fontSize},
        fill: {value: "#14181d"},
        limit: {signal: "datum.x1 - datum.x0 - 10"},
        text: {signal: room + " ? datum." + field + " : ''"}
      }
    }
  };
}

function tileAreas(colours) {
  const fill = whyUnsampled ?
      {value: colours.even} :
      [{test: "datum.heat === null", value: colours.unused}, {scale: "heat", field: "heat"}];
  return {
    type: "rect",
    from: {data: "tiles"},
    encode: {
      update: {
        x: {field: "x0"},
        x2: {field: "x1"},
        y: {field: "y0"},
        y2: {field: "y1"},
        tooltip: {field: "tip"},
        fill,
        stroke: {value: colours.ground}
      }
    }
  };
}

function heatLegend(width, top) {
  const names = "datum.value < 0 ? 'a tenth' : datum.value > 0 ? 'ten times' : 'average'";
  return {
    fill: "heat",
    direction: "horizontal",
    orient: "none",
    legendX: 0,
    legendY: top,
    type: "gradient",
    gradientLength: Math.min(300, width - 20),
    title: "share per byte, against the average (grey: no sample)",
    titleLimit: width,
    values: [-1, 0, 1],
    encode: {labels: {update: {text: {signal: names}}}}
  };
}

function treemap(sites, others, averagePerByte) {
  const tiles = tilesOf(sites, others, averagePerByte);
  const legendHeight = whyUnsampled ? 0 : 66;
  return (width, colours) => {
    const height = width < narrow ? 340 : 420;
    const layout = {
      type: "treemap",
      field: "bytes",
      sort: {field: "value", order: "descending"},
      round: true,
      method: "squarify",
      ratio: 1.6,
      paddingInner: 2,
      size: [width, height - legendHeight]
    };
    const heat = {
      name: "heat",
      type: "linear",
      domain: [-1.5, 0, 1.5],
      clamp: true,
      range: [colours.cold, colours.even, colours.hot]
    };
    return {
      vega: {
        width,
        height,
        padding: 0,
        autosize: "none",
        data: [
          {
            name: "tree",
            values: [{id: "all", parent: null}, ...tiles],
            transform: [{type: "stratify", key: "id", parentKey: "parent"}, layout]
          },
          {name: "tiles", source: "tree", transform: [{type: "filter", expr: "datum.parent"}]}
        ],
        scales: [heat],
        legends: whyUnsampled ? [] : [heatLegend(width, height - legendHeight + 10)],
        marks: [
          tileAreas(colours), tileText(1, "label", 12), tileText(2, "size", 11),
          tileText(3, "share", 11)
        ]
      }
    };
  };
}
