// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// How little memory holds how many accesses, and how ranks differ. Specifications for Vega-Lite.

// Band, line, the step that the text is about, points, and larger ones that nobody sees: for tips.
function curveLayers(fromNothing, reached, what, colours, small) {
  const share = {type: "quantitative", scale: {domain: [0, 1]}};
  const title = "share of " + what, axis = {formatType: "percentText", tickCount: 5};
  const line = {interpolate: "step-after", color: colours.accent};
  return [
    {
      data: {values: fromNothing},
      mark: {type: "area", ...line, opacity: 0.18},
      encoding: {y: {field: "low", ...share}, y2: {field: "high"}}
    },
    {
      data: {values: fromNothing},
      mark: {type: "line", ...line, strokeWidth: 2},
      encoding: {y: {field: "share", ...share, title, axis}}
    },
    {data: {values: [reached]}, mark: {type: "rule", strokeDash: [4, 4], color: colours.faint}}, {
      mark: {type: "circle", color: colours.accent, size: small ? 12 : 45, opacity: 1},
      encoding: {y: {field: "share", ...share}}
    },
    {
      mark: {type: "circle", size: 260, opacity: 0},
      encoding: {y: {field: "share", ...share}, tooltip: {field: "tip"}}
    }
  ];
}

// Steps: of the profile's list "densest"; reached: the one that the text is about.
function curve(steps, reached, what) {
  const tip = step => countOf(step.sites, "object") + ", " + sizeText(step.bytes) + ":\n" +
      shareLine(step, what) + "\nlast added: " + nameOf(step.site);
  const values = steps.map(step => ({...step, tip: tip(step)}));
  const last = steps[steps.length - 1].bytes, first = steps[0].bytes;
  const logarithmic = last > 40 * first;
  const fromNothing = logarithmic ? values : [{bytes: 0, share: 0, low: 0, high: 0}, ...values];
  const scale =
      logarithmic ? {type: "log", base: 2, domain: [first / 2, last]} : {domain: [0, last]};
  return (width, colours) => {
    const most = width < narrow ? 4 : 8;
    const ticks = logarithmic ? powersBetween(first / 2, last, most) : byteTicks(last, most);
    const bytes = {
      field: "bytes",
      type: "quantitative",
      title: "bytes of the objects, hottest per byte first",
      scale,
      axis: {formatType: "sizeText", labelOverlap: true, values: ticks}
    };
    return {
      lite: {
        width,
        height: width < narrow ? 220 : 280,
        autosize: {type: "fit", contains: "padding"},
        data: {values},
        encoding: {x: bytes},
        layer: curveLayers(fromNothing, reached, what, colours, steps.length > 80)
      }
    };
  };
}

// Two bars for each rank: of what fell, against the mean of all ranks, and of bytes.
function rankBars(ranks, mean) {
  const most = Math.max(...ranks.map(rank => rank.bytes_peak));
  const tip = (rank, times) => "rank " + rank.rank + " on " + rank.host + "\n" + times.toFixed(2) +
      " times the mean of " + whatFell + "\n" + sizeText(rank.bytes_peak) +
      " as the sum of its objects' peaks\nran for " + timeText(rank.nanoseconds);
  const values = ranks.map(rank => {
    const times = mean > 0 ? rank.weight / mean : 0;
    return {rank: "rank " + rank.rank, times, bytes: rank.bytes_peak, tip: tip(rank, times)};
  });
  return (width, colours) => {
    const ticks = width < narrow ? 3 : 4;
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
      bars("times", whatFell + ", against the mean", {tickCount: ticks}),
      bars("bytes", "sum of the objects' peaks",
           {formatType: "sizeText", values: byteTicks(most, ticks)})
    ];
    return {lite: {data: {values}, [width < narrow ? "vconcat" : "hconcat"]: panels}};
  };
}
