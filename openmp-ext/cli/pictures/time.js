// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Pictures with time from left to right: what ran, what lived, what moved, what was accessed, and
// where in an object; and objects against phases and regions. All are bounded by the profile's
// "over_time".

// Each step of a list as a datum with its begin and end.
function stepsOf(list, nanoseconds, make) {
  const width = nanoseconds / profile.over_time.steps;
  return list.map((value, step) =>
                      ({begin : step * width, end : (step + 1) * width, ...make(value, step)}));
}

function between(datum) { return timeText(datum.begin) + " to " + timeText(datum.end); }

const labelRoom = width => width < narrow ? 96 : 220;

function timeAxis(nanoseconds, width, shown) {
  return {
    field : "begin",
    type : "quantitative",
    scale : {domain : [ 0, nanoseconds ], nice : false},
    title : shown ? "time since the start" : null,
    axis : {
      formatType : "timeText",
      tickCount : width < narrow ? 4 : 8,
      grid : false,
      labels : shown,
      ticks : shown
    }
  };
}

// Rows of cells: rows (names, top down), values ({row, begin, end, part, tip}).
function timeRows(title, rows, values, nanoseconds, width, colours, shown, legend) {
  return {
    title,
    width : width - labelRoom(width) - 16,
    height : {step : 18},
    data : {values},
    mark : {type : "rect", stroke : null},
    encoding : {
      x : timeAxis(nanoseconds, width, shown),
      x2 : {field : "end"},
      tooltip : {field : "tip"},
      y : {
        field : "row",
        type : "nominal",
        sort : rows,
        title : null,
        scale : {domain : rows},
        axis : {
          labelLimit : labelRoom(width),
          minExtent : labelRoom(width),
          domain : false,
          ticks : false
        }
      },
      color : {
        field : "part",
        type : "quantitative",
        legend : null,
        scale : {
          type : legend ? "sqrt" : "linear",
          domain : [ 0, legend || 1 ],
          range : colours.heat,
          interpolate : "rgb"
        }
      },
    },
  };
}

function ranRows() {
  const over = profile.over_time;
  const named =
      over.phases.map(ran => ({row : profile.phases[ran.phase].label, parts : ran.parts}));
  const regions =
      over.regions.map(ran => ({row : profile.regions[ran.region].label, parts : ran.parts}));
  return uniqueRows([...named, ...regions ]);
}

// Two rows of one name would be drawn as one.
function uniqueRows(rows) {
  const seen = new Map();
  for (const row of rows) {
    const times = (seen.get(row.row) ?? 0) + 1;
    seen.set(row.row, times);
    if (times > 1) row.row += " #" + times;
  }
  return rows;
}

function liveLayers() {
  const {live, nanoseconds} = profile.over_time;
  const shown = live.sites.slice(0, 8).map((of, place) =>
                                               ({name : nameOf(of.site), bytes : of.bytes, place}));
  const rest =
      live.bytes.map((all, step) => all - shown.reduce((sum, of) => sum + of.bytes[step], 0));
  if (rest.some(bytes => bytes > 0))
    shown.push({name : "all others", bytes : rest, place : shown.length});
  uniqueRows(shown.map(
      of => Object.defineProperty(of, "row", {get : () => of.name, set : name => of.name = name})));
  const values = shown.flatMap(
      of => stepsOf(of.bytes, nanoseconds,
                    (bytes, step) => ({name : of.name, place : of.place, bytes, tip : ""}))
                .map((datum, step) => ({
                       ...datum,
                       tip : of.name + "\n" + sizeText(datum.bytes) + " of " +
                                 sizeText(live.bytes[step]) + " alive\n" + between(datum)
                     })));
  return {names : shown.map(of => of.name), values};
}

// From top to bottom: phases and regions, live bytes, moves, accesses of objects.
function timeLine() {
  const {nanoseconds, live, accesses} = profile.over_time;
  const ran = ranRows(), lives = liveLayers();
  const ranValues =
      ran.flatMap(row => stepsOf(row.parts, nanoseconds, part => ({row : row.row, part})))
          .filter(datum => datum.part > 0)
          .map(datum => ({
                 ...datum,
                 tip : datum.row + "\n" + between(datum) + ": ran " + roundPercent(datum.part) +
                           " of it"
               }));
  const objects = uniqueRows(
      accesses.sites.slice(0, 12).map(of => ({row : nameOf(of.site), shares : of.shares})));
  const most = Math.max(1e-9, ...objects.flatMap(row => row.shares));
  const accessed = objects
                       .flatMap(row => stepsOf(row.shares, accesses.nanoseconds,
                                               share => ({row : row.row, part : share})))
                       .filter(datum => datum.part > 0)
                       .map(datum => ({
                              ...datum,
                              tip : datum.row + "\n" + between(datum) + ": " +
                                        (datum.part * 100).toPrecision(3) + " % of " + whatFell +
                                        " of the whole run"
                            }));
  const moves = profile.moves.map(
      move => ({
        begin : move.begin,
        bytes : move.bytes,
        row : move.from + " to " + move.to,
        tip : sizeText(move.bytes) + " from " + move.from + " to " + move.to + " in " +
                  timeText(move.seconds * 1e9) + "\nat " + timeText(move.begin) +
                  (move.site === undefined ? "" : "\n" + nameOf(move.site))
      }));
  return (width, colours) => {
    const panels = [];
    if (ran.length)
      panels.push(timeRows("phases and regions that ran", ran.map(row => row.row), ranValues,
                           nanoseconds, width, colours, false));
    panels.push({
      title : "live bytes",
      width : width - labelRoom(width) - 16,
      height : width < narrow ? 150 : 190,
      data : {values : lives.values},
      mark : {type : "bar", binSpacing : 0, stroke : null},
      encoding : {
        x : timeAxis(nanoseconds, width, !objects.length && !moves.length),
        x2 : {field : "end"},
        tooltip : {field : "tip"},
        y : {
          field : "bytes",
          type : "quantitative",
          stack : "zero",
          title : null,
          axis : {formatType : "sizeText", tickCount : 4, minExtent : labelRoom(width)}
        },
        order : {field : "place", type : "quantitative"},
        color : {
          field : "name",
          type : "nominal",
          sort : lives.names,
          scale : {domain : lives.names, range : colours.objects},
          legend : {
            orient : "bottom",
            columns : width < narrow ? 1
                      : width < 900  ? 2
                                     : 3,
            title : null,
            labelLimit : width < narrow ? width - 60 : 260
          }
        }
      }
    });
    if (moves.length)
      panels.push({
        title : "pages moved",
        width : width - labelRoom(width) - 16,
        height : {step : 24},
        data : {values : moves},
        mark : {type : "circle", color : colours.objects[1], opacity : 0.7},
        encoding : {
          x : timeAxis(nanoseconds, width, !objects.length),
          tooltip : {field : "tip"},
          y : {
            field : "row",
            type : "nominal",
            title : null,
            axis : {minExtent : labelRoom(width), labelLimit : labelRoom(width)}
          },
          size :
              {field : "bytes", type : "quantitative", legend : null, scale : {range : [ 20, 300 ]}}
        }
      });
    if (objects.length)
      panels.push(timeRows("accesses by object", objects.map(row => row.row), accessed, nanoseconds,
                           width, colours, true, most));
    return {
      lite : {
        vconcat : panels,
        spacing : 14,
        resolve : {scale : {color : "independent", y : "independent"}}
      }
    };
  };
}

// Objects against the parts of the run that they were accessed in. parts: {number, label}; of: a
// site's shares in them.
function objectsByPart(sites, parts, listOf) {
  const rows = uniqueRows(sites.map(site => ({row : site.label, site})));
  const columns = uniqueRows(parts.map(part => ({row : part.label, number : part.number})));
  const values = rows.flatMap(({row, site}) => columns.flatMap(column => {
    const found = (site[listOf] ?? []).find(part => part[listOf.slice(0, -1)] === column.number);
    return found ? [ {
      row,
      column : column.row,
      share : found.share,
      tip : row + " in " + column.row + "\n" + shareLine(found) + " of " + whatFell + " there\n" +
                countOf(found.samples, "sample")
    } ]
                 : [];
  }));
  return (width, colours) => {
    const room = width - labelRoom(width) - 30;
    return {
      lite : {
        width : Math.min(room, columns.length * 110),
        height : {step : 20},
        data : {values},
        encoding : {
          x : {
            field : "column",
            type : "nominal",
            sort : null,
            scale : {domain : columns.map(column => column.row)},
            title : null,
            axis : {
              orient : "top",
              labelAngle : columns.length * 90 > room ? -35 : 0,
              labelLimit : columns.length * 90 > room ? 120 : 108,
              domain : false,
              ticks : false
            }
          },
          y : {
            field : "row",
            type : "nominal",
            scale : {domain : rows.map(row => row.row)},
            title : null,
            axis : {
              labelLimit : labelRoom(width),
              minExtent : labelRoom(width),
              domain : false,
              ticks : false
            }
          },
          tooltip : {field : "tip"}
        },
        layer : [
          {
            mark : {type : "rect", stroke : colours.ground, strokeWidth : 2},
            encoding : {
              color : {
                field : "share",
                type : "quantitative",
                legend : null,
                scale : {domain : [ 0, 1 ], range : colours.heat}
              }
            }
          },
          {
            transform : [ {filter : "datum.share >= 0.005"} ],
            mark : {type : "text", fontSize : 11},
            encoding : {
              text :
                  {field : "share", type : "quantitative", formatType : "percentText", format : ""},
              color : {
                condition : {
                  test : dark.matches ? "datum.share > 0.55" : "datum.share < 0.55",
                  value : "#14181d"
                },
                value : "#f0f4f8"
              }
            }
          },
        ],
      }
    };
  };
}

// Where in an object accesses fell, over time. of: one of over_time.accesses.sites.
function rangesOverTime(of) {
  const ranges = Math.max(...of.ranges.map(list => list.length));
  const values = stepsOf(of.ranges, profile.over_time.accesses.nanoseconds, list => ({list}))
                     .flatMap(step => step.list.flatMap(
                                  (share, range) => share > 0 ? [ {
                                    begin : step.begin,
                                    end : step.end,
                                    low : range / ranges,
                                    high : (range + 1) / ranges,
                                    share,
                                    tip : between(step) + "\nfrom " + roundTick(range / ranges) +
                                              " to " + roundTick((range + 1) / ranges) +
                                              " of the object: " + (share * 100).toPrecision(3) +
                                              " % of " + whatFell
                                  } ]
                                                              : []));
  return (width, colours) => ({
           lite : {
             width : "container",
             height : width < narrow ? 220 : 260,
             autosize : {type : "fit", contains : "padding"},
             data : {values},
             mark : {type : "rect", stroke : null},
             encoding : {
               x : timeAxis(profile.over_time.accesses.nanoseconds, width, true),
               x2 : {field : "end"},
               tooltip : {field : "tip"},
               y : {
                 field : "low",
                 type : "quantitative",
                 scale : {domain : [ 0, 1 ]},
                 title : "place in the object",
                 axis : {formatType : "percentText", tickCount : 5, grid : false}
               },
               y2 : {field : "high"},
               color : {
                 field : "share",
                 type : "quantitative",
                 legend : null,
                 scale : {
                   type : "sqrt",
                   domain : [ 0, Math.max(...values.map(datum => datum.share)) ],
                   range : colours.heat
                 }
               }
             },
           }
         });
}
