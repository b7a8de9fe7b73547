// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Objects against the parts of the run in which they were accessed: regions or phases.

// The cells of one object: a row's name, and its share in each column.
function partCells(row, site, columns, listOf) {
  const index = listOf.slice(0, -1); // "regions" have a "region"
  return columns.flatMap(({name, number}) => {
    const part = (site[listOf] ?? []).find(part => part[index] === number);
    if (!part) return [];
    return [{
      row,
      column: name,
      share: part.share,
      text: part.share >= 0.005 ? (part.share * 100).toFixed(0) + " %" : "",
      tip: row + " in " + name + "\n" + shareLine(part, whatFell + " there") + "\n" +
          countOf(part.samples, "sample")
    }];
  });
}

// parts: {number, label}, of the profile's list that listOf names.
function objectsByPart(sites, parts, listOf) {
  const rows = shortNames(sites.map(site => site.label));
  const names = shortNames(parts.map(part => part.label));
  const columns = parts.map((part, i) => ({name: names[i], number: part.number}));
  const values = sites.flatMap((site, i) => partCells(rows[i], site, columns, listOf));
  return (width, colours) => {
    const room = width - labelRoom(width) - 30;
    const step = Math.min(200, Math.max(34, Math.floor(room / columns.length)));
    const turned = step < 110;
    return {
      lite: {
        width: {step},
        height: {step: 20},
        data: {values},
        encoding: {
          x: {
            field: "column",
            type: "nominal",
            scale: {domain: names},
            title: null,
            axis: {
              orient: "top",
              labelAngle: turned ? -35 : 0,
              labelAlign: turned ? "left" : "center",
              labelLimit: turned ? 150 : step - 6,
              domain: false,
              ticks: false
            }
          },
          y: {
            field: "row",
            type: "nominal",
            scale: {domain: rows},
            title: null,
            axis: rowAxis(width)
          },
          tooltip: {field: "tip"}
        },
        layer: [
          {
            mark: {type: "rect", stroke: colours.ground, strokeWidth: 2},
            encoding: {
              color: {
                field: "share",
                type: "quantitative",
                legend: heatLegendBelow("share of " + whatFell + " there", 1),
                scale: {domain: [0, 1], range: colours.heat, interpolate: "rgb"}
              }
            }
          },
          {
            mark: {type: "text", fontSize: 11},
            encoding: {
              text: {field: "text"},
              color: {
                condition: {test: "datum.share " + colours.readable, value: "#14181d"},
                value: "#f0f4f8"
              }
            }
          },
        ],
      }
    };
  };
}
