// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The run from left to right: what ran, what lived, what moved, what was accessed, and where in an
// object. All are bounded by the profile's "over_time", whose steps are the cells.

const labelRoom = width => width < narrow ? 96 : 220;

// Each step of a list as a datum with its begin and end.
function stepsOf(list, nanoseconds, make) {
  const width = nanoseconds / profile.over_time.steps;
  return list.map((value, step) =>
                      ({begin: step * width, end: (step + 1) * width, ...make(value, step)}));
}

function between(datum) { return timeText(datum.begin) + " to " + timeText(datum.end); }

function timeAxis(width, shown) {
  return {
    field: "begin",
    type: "quantitative",
    scale: {domain: [0, profile.over_time.nanoseconds], nice: false},
    title: shown ? "time since the start" : null,
    axis: {
      formatType: "timeText",
      tickCount: width < narrow ? 4 : 8,
      grid: false,
      labels: shown,
      ticks: shown
    }
  };
}

function rowAxis(width) {
  return {labelLimit: labelRoom(width), minExtent: labelRoom(width), domain: false, ticks: false};
}

// What the colours of cells mean, below them.
function heatLegendBelow(title, most) {
  return {
    title,
    orient: "bottom",
    direction: "horizontal",
    gradientLength: 160,
    gradientThickness: 8,
    values: [0, most],
    formatType: "percentText",
    titleLimit: 400
  };
}

// Rows of cells, as a panel by width and colours. values: {row, begin, end, part, tip}; most: of
// the parts; scale: what these are of.
function cellRows(title, rows, values, most, scale) {
  return (width, colours, shown) => ({
           title,
           height: {step: 18},
           data: {values},
           mark: {type: "rect"},
           encoding: {
             x: timeAxis(width, shown),
             x2: {field: "end"},
             tooltip: {field: "tip"},
             y: {
               field: "row",
               type: "nominal",
               title: null,
               scale: {domain: rows},
               axis: rowAxis(width)
             },
             color: {
               field: "part",
               type: "quantitative",
               legend: heatLegendBelow(scale, most),
               scale: {type: "sqrt", domain: [0, most], range: colours.heat, interpolate: "rgb"}
             },
           },
         });
}

// Cells of those lists' steps that are not 0.
function cellsOf(names, lists, nanoseconds, tip) {
  return lists.flatMap((list, i) => stepsOf(list, nanoseconds, part => ({row: names[i], part})))
      .filter(datum => datum.part > 0)
      .map(datum => ({...datum, tip: datum.row + "\n" + between(datum) + tip(datum)}));
}

// Only runs of regions in which a sample lies are in a profile. Which part of its time they are.
function drawnPart(ran) {
  const time = profile.regions[ran.region].nanoseconds;
  const drawn = ran.parts.reduce((sum, part) => sum + part, 0) * profile.over_time.nanoseconds /
      profile.over_time.steps;
  return time > 0 ? Math.min(1, drawn / time) : 1;
}

function ranPanel() {
  const {phases, regions, nanoseconds} = profile.over_time;
  const names = shortNames([
    ...phases.map(ran => profile.phases[ran.phase].label),
    ...regions.map(ran => profile.regions[ran.region].label)
  ]);
  const lists = [...phases, ...regions].map(ran => ran.parts);
  const drawn = [...phases.map(() => 1), ...regions.map(drawnPart)].map(
      part => part < 0.95 ?
          "\nonly its runs with samples are drawn: " + roundPercent(part) + " of its time" :
          "");
  const missing = new Map(names.map((name, i) => [name, drawn[i]]));
  const values = cellsOf(names, lists, nanoseconds,
                         of => ": ran " + roundPercent(of.part) + " of it" + missing.get(of.row));
  const title = "phases and regions that ran" +
      (drawn.some(Boolean) ? " (of some regions only runs with samples)" : "");
  return names.length ? cellRows(title, names, values, 1, "part of the time") : null;
}

function accessesPanel() {
  const {nanoseconds, sites} = profile.over_time.accesses;
  const shown = sites.slice(0, 12), names = shortNames(shown.map(of => nameOf(of.site)));
  const lists = shown.map(of => of.shares);
  const values = cellsOf(names, lists, nanoseconds,
                         of => ": " + (of.part * 100).toPrecision(3) + " % of " + whatFell +
                             " of the whole run");
  const title = whatFell[0].toUpperCase() + whatFell.slice(1) + " by object";
  const most = Math.max(...lists.flat(), 1e-9);
  return names.length ?
      cellRows(title, names, values, most, "share of " + whatFell + " of the whole run") :
      null;
}

// The largest objects stacked, the others on top of them.
function liveValues(names, others) {
  const {live, nanoseconds} = profile.over_time;
  const below = live.bytes.map(() => 0);
  const layer = (name, bytes) =>
      stepsOf(bytes, nanoseconds, (size, step) => ({name, size, low: below[step], step}))
          .map(datum => ({
                 ...datum,
                 high: below[datum.step] += datum.size,
                 tip: name + "\n" + sizeText(datum.size) + " of " +
                     sizeText(live.bytes[datum.step]) + " alive\n" + between(datum)
               }));
  const values = names.flatMap((name, i) => layer(name, live.sites[i].bytes));
  return [...values, ...layer(others, live.bytes.map((all, step) => all - below[step]))].filter(
      datum => datum.size > 0);
}

function livePanel() {
  const {live} = profile.over_time;
  const all = shortNames([...live.sites.slice(0, 8).map(of => nameOf(of.site)), "all others"]);
  const others = all[all.length - 1], names = all.slice(0, -1);
  const values = liveValues(names, others), peak = live.most.bytes;
  const hasOthers = values.some(datum => datum.name === others);
  const domain = hasOthers ? all : names;
  const rangeOf = colours =>
      domain.map((name, i) => name === others ? colours.objects[8] : colours.objects[i]);
  return (width, colours, shown) => ({
           title: "live bytes",
           height: width < narrow ? 150 : 190,
           data: {values},
           mark: {type: "rect"},
           encoding: {
             x: timeAxis(width, shown),
             x2: {field: "end"},
             tooltip: {field: "tip"},
             y: {
               field: "low",
               type: "quantitative",
               title: null,
               scale: {domain: [0, peak]},
               axis:
                   {formatType: "sizeText", values: byteTicks(peak, 5), minExtent: labelRoom(width)}
             },
             y2: {field: "high"},
             color: {
               field: "name",
               type: "nominal",
               scale: {domain, range: rangeOf(colours)},
               legend: {
                 orient: "bottom",
                 columns: width < narrow ? 1 : 3,
                 title: null,
                 labelLimit: width < narrow ? width - 60 : 260
               }
             }
           }
         });
}

function movesPanel() {
  const values = profile.moves.map(
      move => ({
        begin: move.begin,
        bytes: move.bytes,
        row: move.from + " to " + move.to,
        tip: sizeText(move.bytes) + " from " + move.from + " to " + move.to + " in " +
            timeText(move.seconds * 1e9) + "\nat " + timeText(move.begin) +
            (move.site === undefined ? "" : "\n" + nameOf(move.site))
      }));
  if (!values.length) return null;
  return (width, colours, shown) => ({
           title: "pages moved",
           height: {step: 24},
           data: {values},
           mark: {type: "circle", color: colours.objects[1], opacity: 0.7},
           encoding: {
             x: timeAxis(width, shown),
             tooltip: {field: "tip"},
             y: {field: "row", type: "nominal", title: null, axis: rowAxis(width)},
             size: {field: "bytes", type: "quantitative", legend: null, scale: {range: [20, 300]}}
           }
         });
}

function timeLine() {
  const panels = [ranPanel(), livePanel(), movesPanel(), accessesPanel()].filter(Boolean);
  return (width, colours) => ({
           lite: {
             vconcat: panels.map((panel, i) => ({
                                   width: width - labelRoom(width) - 24,
                                   ...panel(width, colours, i === panels.length - 1)
                                 })),
             spacing: 14,
             resolve: {scale: {color: "independent", y: "independent"}}
           }
         });
}

// Where in an object accesses fell. of: one of over_time.accesses.sites.
function rangesOverTime(of) {
  const ranges = Math.max(...of.ranges.map(list => list.length));
  const cellOf = (step, range, share) => ({
    begin: step.begin,
    end: step.end,
    low: range / ranges,
    high: (range + 1) / ranges,
    share,
    tip: between(step) + "\nfrom " + roundTick(range / ranges) + " to " +
        roundTick((range + 1) / ranges) + " of the object: " + (share * 100).toPrecision(3) +
        " % of " + whatFell
  });
  const values = stepsOf(of.ranges, profile.over_time.accesses.nanoseconds, list => ({list}))
                     .flatMap(step => step.list.map((share, range) => cellOf(step, range, share)))
                     .filter(cell => cell.share > 0);
  const most = Math.max(...values.map(cell => cell.share));
  return (width, colours) => ({
           lite: {
             width,
             height: width < narrow ? 220 : 260,
             autosize: {type: "fit", contains: "padding"},
             data: {values},
             mark: {type: "rect"},
             encoding: {
               x: timeAxis(width, true),
               x2: {field: "end"},
               tooltip: {field: "tip"},
               y: {
                 field: "low",
                 type: "quantitative",
                 scale: {domain: [0, 1]},
                 title: "place in the object",
                 axis: {formatType: "percentText", tickCount: 5, grid: false}
               },
               y2: {field: "high"},
               color: {
                 field: "share",
                 type: "quantitative",
                 legend: heatLegendBelow("share of " + whatFell + " of the whole run", most),
                 scale: {type: "sqrt", domain: [0, most], range: colours.heat, interpolate: "rgb"}
               }
             },
           }
         });
}
