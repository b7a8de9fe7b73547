// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Two runs of a program side by side: what each object and each region cost before and after. Only
// what changed beyond the noise has a colour.

const changes = JSON.parse(document.getElementById("numbers").textContent);
const mostRows = 24; // of a picture
const whatCosts = {
  time: "thread time",
  accesses: "bytes accessed",
  misses: "misses"
}[changes.measure];
const costText = {
  time: timeText,
  accesses: sizeText,
  misses: countText
}[changes.measure];
const costFormat = {
  time: "timeText",
  accesses: "sizeText"
}[changes.measure];
const wholeList = "omptier diff --json"; // where tables are not cut
const ways = ["less", "more", "within the noise", "noise not known"];

const between = (of, text) =>
    of.low === of.high ? "" : " (" + text(of.low) + "–" + text(of.high) + ")";

function wayOf(change, knowsNoise) {
  if (!knowsNoise) return ways[3];
  if (!change.sure) return ways[2];
  return change.b.value < change.a.value ? ways[0] : ways[1];
}

// Of one of the two runs; nothing to draw where the noise is not known.
const intervalOf = (of, knowsNoise) => knowsNoise ? [of.low, of.high] : [of.value, of.value];

// rows: {label, change: {a, b, sure}, knowsNoise, tip}; one line each, from before to after.
function beforeAfter(rows, title, format) {
  const names = shortNames(rows.map(row => row.label));
  const values = rows.map(({change, knowsNoise, tip}, i) => {
    const [aLow, aHigh] = intervalOf(change.a, knowsNoise);
    const [bLow, bHigh] = intervalOf(change.b, knowsNoise);
    const way = wayOf(change, knowsNoise);
    return {
      name: names[i],
      tip,
      a: change.a.value,
      b: change.b.value,
      aLow,
      aHigh,
      bLow,
      bHigh,
      way
    };
  });
  return (width, colours) => {
    const x = field =>
        ({field, type: "quantitative", title, axis: {formatType: format, tickCount: 5}});
    const way = {
      field: "way",
      type: "nominal",
      title: null,
      scale: {domain: ways, range: [colours.cold, colours.hot, colours.unused, colours.faint]},
      legend: {orient: "top", columns: width < narrow ? 2 : 4, symbolOpacity: 1}
    };
    const interval = (low, high, opacity) => ({
      mark: {type: "rule", strokeWidth: 9, opacity},
      encoding: {x: x(low), x2: {field: high}, color: way}
    });
    return {
      lite: {
        width,
        height: 30 * values.length + 90, // with axis and legend
        autosize: {type: "fit", contains: "padding"},
        data: {values},
        encoding: {
          y: {
            field: "name",
            type: "nominal",
            sort: null,
            title: null,
            axis: {labelLimit: width < narrow ? 120 : 300, grid: true}
          },
          tooltip: {field: "tip"}
        },
        layer: [
          interval("aLow", "aHigh", 0.25), interval("bLow", "bHigh", 0.45), {
            mark: {type: "rule", strokeWidth: 2},
            encoding: {x: x("a"), x2: {field: "b"}, color: way}
          },
          {
            mark: {type: "point", filled: true, fill: colours.ground, size: 70, strokeWidth: 2},
            encoding: {x: x("a"), stroke: way}
          },
          {mark: {type: "circle", size: 110, opacity: 1}, encoding: {x: x("b"), color: way}}
        ]
      }
    };
  };
}

function costColumns(of, text) {
  return [
    {title: "before", of: row => of(row).a.value, as: text},
    {title: "after", of: row => of(row).b.value, as: text}, {
      title: "change",
      of: row => of(row).sure ? of(row).difference.value : null,
      as: value => (value < 0 ? "− " : "+ ") + text(Math.abs(value))
    },
  ];
}

const stateOf = object => object.new ? "new" : object.gone ? "gone" : null;

function objectTip(object) {
  const lines = [
    cutName(object.label),
    "before: " + costText(object.cost.a.value) + between(object.cost.a, costText),
    "after: " + costText(object.cost.b.value) + between(object.cost.b, costText)
  ];
  if (object.new || object.gone)
    lines.push(object.new ? "not in the run before" : "not in the run after");
  else if (!object.cost.sure)
    lines.push("the difference of its cost is within the noise");
  return lines.join("\n");
}

// What changed first, then what costs most.
function drawnOf(list, cost) {
  const most = row => Math.max(cost(row).a.value, cost(row).b.value);
  return [...list]
      .filter(row => most(row) > 0)
      .sort((one, other) => cost(other).sure - cost(one).sure || most(other) - most(one))
      .slice(0, mostRows);
}

function objectsSection() {
  const {objects} = changes;
  const costs = object => object.cost;
  const sure = changes.objects_sure, left = objects.length + changes.objects_left_out - sure;
  const title = "The " + whatCosts + " of " + (sure ? countOf(sure, "object") : "no object") +
      " changed beyond the noise, that of " + countText(left) + " did not";
  const shown = drawnOf(objects, costs);
  const rest = [changes.small_objects, changes.other].filter(one => costs(one).a.value ||
                                                                 costs(one).b.value);
  const rows = [...objects, ...rest];
  const columns = [
    {title: "object", words: true, of: object => object.label}, ...costColumns(costs, costText),
    {title: "only in one run", words: true, of: stateOf},
    {title: "bytes before", of: object => object.bytes.a || null, as: sizeText},
    {title: "bytes after", of: object => object.bytes.b || null, as: sizeText},
    {title: "latency before", of: object => object.latency.a, as: timeText},
    {title: "latency after", of: object => object.latency.b, as: timeText}
  ].filter(column => rows.some(row => column.of(row) !== null) || column.title === "change");
  const table =
      tableOf("objects-table", "Objects of both runs", columns, rows, changes.objects_left_out);
  if (!shown.length) return section(title, table);
  section(title, [
    faint("What each object took of the " + whatCosts +
          ", before (ring) and after (dot), with its 95 % interval."),
    picture("objects", title,
            beforeAfter(shown.map(object => ({
                                    label: object.label,
                                    change: object.cost,
                                    knowsNoise: true,
                                    tip: objectTip(object)
                                  })),
                        whatCosts, costFormat)),
    ...table
  ]);
}

function regionTip(region) {
  return [
    cutName(region.label),
    "before: " + timeText(region.time.a.value) + between(region.time.a, timeText),
    "after: " + timeText(region.time.b.value) + between(region.time.b, timeText),
    "entries: " + countText(region.entries.a) + " and " + countText(region.entries.b),
    ...(region.knows_noise ? [] : ["noise not known"])
  ].join("\n");
}

function regionsSection() {
  const {regions} = changes;
  const times = region => region.time;
  const shown = drawnOf(regions, times);
  if (!shown.length) return;
  const sure = changes.regions_sure;
  const title = sure ? countOf(sure, "parallel region") + " changed"
                     : "No parallel region is known to have changed";
  section(title, [
    faint(
        "The time of each parallel region, before (ring) and after (dot). Where a region ran less " +
        "than ten times, how much its time varies is not known."),
    picture("regions", title,
            beforeAfter(shown.map(region => ({
                                    label: region.label,
                                    change: region.time,
                                    knowsNoise: region.knows_noise,
                                    tip: regionTip(region)
                                  })),
                        "time", "timeText")),
    ...tableOf("regions-table", "Parallel regions of both runs",
               [
                 {title: "region", words: true, of: region => region.label},
                 ...costColumns(times, timeText),
                 {title: "entries before", of: region => region.entries.a, as: countText},
                 {title: "entries after", of: region => region.entries.b, as: countText}
               ],
               regions, changes.regions_left_out)
  ]);
}

const movesText = ({moves}) => moves.count ? countOf(moves.count, "move") + ", " +
        sizeText(moves.bytes) + ", " + timeText(moves.seconds * 1e9)
                                           : "none";

function head() {
  const {a, b} = changes, program = a.program.split("/").pop();
  document.title = program + ": omptier diff";
  const times = a.nanoseconds > 0 ? b.nanoseconds / a.nanoseconds : 1;
  const title = program + " took " + times.toFixed(2) + " times as long after as before";
  const facts = [
    {title: "", words: true, of: fact => fact.name},
    {title: "before", words: true, of: fact => fact.text(a)},
    {title: "after", words: true, of: fact => fact.text(b)}
  ];
  const rows = [
    {name: "profile", text: run => run.file},
    {name: "command", text: run => run.command_line || run.program},
    {name: "ran for", text: run => timeText(run.nanoseconds)},
    {name: "threads", text: run => countText(run.threads)}, {
      name: "samples of " + changes.measure,
      text: run => countText(run.samples) + " by " + run.source
    },
    {name: "moves of pages", text: movesText}
  ];
  document.querySelector("header").append(
      element("h1", {textContent: title}), ...tableOf("runs-table", "The runs", facts, rows),
      faint("These are single runs: how much they vary from one to the next is not known."));
}

head();
objectsSection();
regionsSection();
document.querySelector("footer").append(faint(
    "Written by omptier diff --html; the numbers are those of omptier diff --json. Drawn by Vega " +
    "and Vega-Lite; their licenses are in this page's source."));
drawAll().then(() => {
  performance.mark("drawn");
  document.body.dataset.drawn = drawn.length;
});
