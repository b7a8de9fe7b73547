// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Pictures of the objects as a whole: how little memory holds how many accesses, and where bytes
// lie that are hardly used. Specifications for Vega-Lite and Vega (the treemap).

const mostTiles = 150;
const narrow = 560;  // pixels: below it labels are short

// Steps: of the profile's list "densest"; reached: the one that the text is about.
function curve(steps, reached, what) {
  const values =
      steps.map(step => ({
                  ...step,
                  tip: countOf(step.sites, "object") + ", " + sizeText(step.bytes) + ":\n" +
                      shareLine(step) + " of " + what + "\nlast added: " + nameOf(step.site)
                }));
  const last = steps[steps.length - 1].bytes, first = steps[0].bytes;
  const logarithmic = last > 40 * first;
  return (width, colours) => {
    const bytes = {
      field: "bytes",
      type: "quantitative",
      title: "bytes of the objects, hottest per byte first",
      scale: logarithmic ? {type: "log", base: 2, domain: [first / 2, last]} : {domain: [0, last]},
      axis: {
        formatType: "sizeText",
        tickCount: width < narrow ? 4 : 8,
        labelOverlap: true,
        values: logarithmic ? powersBetween(first / 2, last, width < narrow ? 4 : 8) : undefined
      }
    };
    const share = {type: "quantitative", scale: {domain: [0, 1]}};
    return {
      lite: {
        width,
        height: width < narrow ? 220 : 280,
        autosize: {type: "fit", contains: "padding"},
        data: {values},
        encoding: {x: bytes},
        layer: [
          {
            mark: {type: "area", interpolate: "step-after", opacity: 0.18, color: colours.accent},
            encoding: {y: {field: "low", ...share}, y2: {field: "high"}}
          },
          {
            mark: {type: "line", interpolate: "step-after", color: colours.accent, strokeWidth: 2},
            encoding: {
              y: {
                field: "share",
                ...share,
                title: "share of " + what,
                axis: {formatType: "percentText", tickCount: 5}
              }
            }
          },
          {
            data: {values: [reached]},
            mark: {type: "rule", strokeDash: [4, 4], color: colours.faint},
            encoding: {y: {field: "share", type: "quantitative"}}
          },
          {
            data: {values: [reached]},
            mark: {type: "rule", strokeDash: [4, 4], color: colours.faint},
            encoding: {x: {field: "bytes", type: "quantitative"}}
          },
          {
            mark: {
              type: "circle",
              color: colours.accent,
              size: steps.length > 80 ? 12 : 45,
              opacity: 1
            },
            encoding: {y: {field: "share", ...share}}
          },
          {
            mark: {type: "circle", size: 260, opacity: 0},
            encoding: {y: {field: "share", ...share}, tooltip: {field: "tip"}}
          },
        ],
      }
    };
  };
}

// How many times the average share per byte, as a power of ten; null: not sampled at all.
function heatOf(site, averagePerByte) {
  if (site.share <= 0 || site.bytes_peak <= 0 || averagePerByte <= 0) return null;
  return Math.log10(site.share / site.bytes_peak / averagePerByte);
}

// sites: with bytes; others: {objects, bytes, share} of those that have no tile.
function treemap(sites, others, averagePerByte) {
  const tileOf = (name, of, tip) => ({
    id: name,
    parent: "all",
    label: of.label,
    size: sizeText(of.bytes_peak),
    share: percentText(of.share),
    bytes: of.bytes_peak,
    heat: heatOf(of, averagePerByte),
    tip
  });
  const tiles = sites.map(
      site => tileOf(
          "site " + site.number, site,
          site.label + "\n" + sizeText(site.bytes_peak) + " in " + countOf(site.objects, "block") +
              "\n" + shareLine(site) + " of " + whatFell + "\n" +
              timesAverage(heatOf(site, averagePerByte))));
  if (others.bytes > 0) {
    const rest = {
      label: countOf(others.objects, "other"),
      bytes_peak: others.bytes,
      share: others.share
    };
    tiles.push(tileOf(
        "others", rest,
        rest.label + "\n" + sizeText(others.bytes) + "\n" + percentText(others.share) + " of " +
            whatFell));
  }
  return (width, colours) => {
    const height = width < narrow ? 340 : 420;
    const tileText = (dy, lines, field, size) => ({
      type: "text",
      from: {data: "tiles"},
      interactive: false,
      encode: {
        update: {
          x: {field: "x0", offset: 6},
          y: {field: "y0", offset: dy},
          baseline: {value: "top"},
          fontSize: {value: size},
          fill: {value: "#14181d"},
          limit: {signal: "datum.x1 - datum.x0 - 10"},
          text: {
            signal: "datum.x1 - datum.x0 > 44 && datum.y1 - datum.y0 > " + lines * 17 + " ? " +
                field + " : ''"
          }
        }
      }
    });
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
            transform: [
              {type: "stratify", key: "id", parentKey: "parent"}, {
                type: "treemap",
                field: "bytes",
                sort: {field: "value", order: "descending"},
                round: true,
                method: "squarify",
                ratio: 1.6,
                paddingInner: 2,
                size: [{signal: "width"}, {signal: "height - 66"}]
              }
            ]
          },
          {
            name: "tiles",
            source: "tree",
            transform: [{type: "filter", expr: "datum.parent !== null"}]
          }
        ],
        scales: [{
          name: "heat",
          type: "linear",
          domain: [-1.5, 0, 1.5],
          clamp: true,
          range: [colours.cold, colours.even, colours.hot]
        }],
        legends: [{
          fill: "heat",
          direction: "horizontal",
          orient: "none",
          legendX: 0,
          legendY: height - 56,
          type: "gradient",
          gradientLength: Math.min(300, width - 20),
          title: "share per byte, against the average (grey: no sample)",
          titleLimit: width,
          values: [-1, 0, 1],
          encode: {
            labels: {
              update: {
                text: {
                  signal: "datum.value < 0 ? 'a tenth' : datum.value > 0 ? 'ten times' : 'average'"
                }
              }
            }
          }
        }],
        marks: [
          {
            type: "rect",
            from: {data: "tiles"},
            encode: {
              update: {
                x: {field: "x0"},
                x2: {field: "x1"},
                y: {field: "y0"},
                y2: {field: "y1"},
                tooltip: {field: "tip"},
                fill: [
                  {test: "datum.heat === null", value: colours.unused},
                  {scale: "heat", field: "heat"}
                ],
                stroke: {value: colours.ground}
              }
            }
          },
          tileText(4, 1.2, "datum.label", 12),
          tileText(20, 2.2, "datum.size", 11),
          tileText(35, 3.1, "datum.share", 11),
        ],
      }
    };
  };
}

function timesAverage(heat) {
  if (heat === null) return "no sample fell on it";
  const times = 10 ** heat;
  return (times >= 10    ? times.toFixed(0) :
              times >= 1 ? times.toFixed(1) :
                           times.toPrecision(1)) +
      " times the average share per byte";
}

// ranks: the profile's; two bars each, against the mean.
function rankBars(ranks) {
  const mean = ranks.reduce((sum, rank) => sum + rank.weight, 0) / ranks.length;
  const values = ranks.map(
      rank => ({
        rank: "rank " + rank.rank,
        times: mean > 0 ? rank.weight / mean : 0,
        bytes: rank.bytes_peak,
        tip: "rank " + rank.rank + " on " + rank.host + "\n" +
            (mean > 0 ? (rank.weight / mean).toFixed(2) : "-") + " times the mean of " + whatFell +
            "\n" + sizeText(rank.bytes_peak) + " at most, " + timeText(rank.nanoseconds)
      }));
  return (width, colours) => {
    const bars = (field, title, axis) => ({
      width: Math.max(60, width < narrow ? width - 90 : width / 2 - 90),
      height: {step: 20},
      mark: {type: "bar", color: colours.accent, cornerRadiusEnd: 2},
      encoding: {
        y: {field: "rank", type: "nominal", sort: null, title: null},
        tooltip: {field: "tip"},
        x: {field, type: "quantitative", title, axis}
      }
    });
    const panels = [
      bars("times", whatFell + ", against the mean", {tickCount: 4}),
      bars("bytes", "most bytes", {formatType: "sizeText", tickCount: 4})
    ];
    return {lite: {data: {values}, [width < narrow ? "vconcat" : "hconcat"]: panels}};
  };
}
