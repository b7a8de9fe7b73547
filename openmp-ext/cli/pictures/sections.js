// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The sections of the page, one for each picture: a sentence that says what the picture tells, the
// picture, and the same numbers as a table. One that has nothing to show is left out.

function section(title, parts) {
  document.querySelector("main").append(
      element("section", {}, element("h2", {textContent: title}), ...parts));
}

const shareColumns = whole =>
    [{title: "share of " + whole, of: row => row.share, as: percentText},
     {title: "95 %", of: row => row.low, as: (low, row) => intervalText(row)},
];

function densestSection() {
  const steps = profile.densest;
  if (!steps.length || steps[steps.length - 1].share <= 0) return;
  const last = steps[steps.length - 1];
  // Where the curve is farthest above the even one: what comes later costs more than it brings.
  const gain = step => step.share / last.share - step.bytes / last.bytes;
  const reached = steps.reduce((best, step) => gain(step) > gain(best) ? step : best);
  const sentence = countText(reached.sites) + " of " + countOf(last.sites, "object") + ", " +
      roundPercent(reached.bytes / last.bytes) + " of the bytes (" + sizeText(reached.bytes) +
      "), take " + roundPercent(reached.share) + " of " + whatFell;
  section(sentence, [
    element("p", {
      className: "faint",
      textContent: "How much memory the hottest objects need: objects in order of their " +
          "share per byte, each at its largest. The band is the 95 % interval." +
          (last.share < 0.97 ? " The rest of " + whatFell +
                   " fell on stacks, small objects and what was not recorded." :
                               "")
    }),
    picture("densest", sentence, curve(steps, reached, whatFell)),
    folded(
        "The same as a table",
        tableOf(
            "densest-table", "Objects together, hottest per byte first",
            [
              {title: "last added", words: true, of: row => nameOf(row.site)},
              {title: "objects", of: row => row.sites, as: countText},
              {title: "bytes", of: row => row.bytes, as: sizeText}, ...shareColumns(whatFell)
            ],
            steps)),
  ]);
}

const patternText = site => site.pattern && site.pattern !== "unknown" ? site.pattern : null;

function objectColumns() {
  const columns = [
    {title: "object", words: true, of: site => site.label}, ...shareColumns(whatFell),
    {title: "most bytes", of: site => site.bytes_peak || null, as: sizeText},
    {title: "blocks", of: site => site.objects || null, as: countText},
    {title: "stores", of: site => site.write_share, as: percentText},
    {title: "pattern", words: true, of: patternText},
    {title: "hot part", of: site => site.hot_part, as: percentText},
    {title: "latency", of: site => site.mean_latency || null, as: timeText},
    {title: "samples", of: site => site.samples, as: countText}
  ];
  return columns.filter(column => sites.some(site => (column.of(site) ?? null) !== null));
}

// What has no tile: too many objects, or left out of the page.
function othersOf(tiles) {
  const last = profile.densest[profile.densest.length - 1];
  const sum = of => tiles.reduce((all, site) => all + of(site), 0);
  return {
    objects: last.sites - tiles.length,
    bytes: last.bytes - sum(site => site.bytes_peak),
    share: Math.max(0, last.share - sum(site => site.share))
  };
}

const hasBytes = site =>
    !["stacks", "heap", "constants"].includes(site.kind) && site.bytes_peak > 0;

function treemapSection() {
  if (!profile.densest.length) return;
  const last = profile.densest[profile.densest.length - 1];
  const tiles =
      sites.filter(hasBytes).sort((a, b) => b.bytes_peak - a.bytes_peak).slice(0, mostTiles);
  const unused = sites.filter(site => hasBytes(site) && site.share <= 0);
  const largest = tiles[0];
  let sentence = largest.label +
      " is the largest object: " + roundPercent(largest.bytes_peak / last.bytes) +
      " of the bytes, " + roundPercent(largest.share) + " of " + whatFell;
  const unusedBytes = unused.reduce((sum, site) => sum + site.bytes_peak, 0);
  if (unused.length)
    sentence += "; no sample fell on " + (leftOut ? "at least " : "") +
        roundPercent(unusedBytes / last.bytes) + " of the bytes";
  section(sentence, [
    element("p", {
      className: "faint",
      textContent:
          "Each area is an object at its largest, its colour how much one byte of it gets of " +
          whatFell + "."
    }),
    picture(
        "treemap", sentence,
        treemap(tiles, othersOf(tiles), last.bytes > 0 ? last.share / last.bytes : 0)),
    ...tableOf(
        "objects-table",
        "Objects, most samples first" + (leftOut ? ", without " + countOf(leftOut, "other") : ""),
        objectColumns(), sites),
  ]);
}

function regionsTable() {
  const rows = [...profile.phases, ...profile.regions]
                   .filter(part => part.samples > 0 || part.nanoseconds > 0)
                   .sort((a, b) => b.share - a.share);
  return folded(
      "Phases and regions as a table",
      tableOf(
          "regions-table", "Named phases, regions, stretches between barriers",
          [
            {title: "part of the run", words: true, of: row => row.label},
            ...shareColumns(whatFell),
            {title: "time", of: row => row.nanoseconds || null, as: timeText},
            {title: "entries", of: row => row.entries || null, as: countText},
            {title: "threads", of: row => row.threads || null, as: countText}
          ],
          rows));
}

function movesTable() {
  const objectOf = move => move.site === undefined ? null : nameOf(move.site);
  return folded(
      "Moves as a table",
      tableOf(
          "moves-table", "Pages moved",
          [
            {title: "object", words: true, of: objectOf},
            {title: "at", of: move => move.begin, as: timeText},
            {title: "bytes", of: move => move.bytes, as: sizeText},
            {title: "from", words: true, of: move => move.from},
            {title: "to", words: true, of: move => move.to},
            {title: "took", of: move => move.seconds * 1e9, as: timeText}
          ],
          profile.moves));
}

function timeSection() {
  const {live, nanoseconds, steps, accesses} = profile.over_time;
  if (nanoseconds <= 0 || !(live.bytes.some(bytes => bytes > 0) || accesses.sites.length)) return;
  const peak = Math.max(...live.bytes), step = live.bytes.indexOf(peak);
  const moved = profile.moves.reduce((sum, move) => sum + move.bytes, 0);
  const sentence = "At most " + sizeText(peak) + " were alive at once, " +
      timeText((step + 0.5) * nanoseconds / steps) + " after the start" +
      (moved > 0 ? "; " + sizeText(moved) + " were moved between kinds of memory" : "");
  const how = "The run from left to right. A cell is stronger the longer the region ran in that " +
      "time, or the more of " + whatFell + " fell on the object.";
  section(sentence, [
    element("p", {className: "faint", textContent: how}), picture("time", sentence, timeLine()),
    regionsTable(), ...(moved > 0 ? [movesTable()] : [])
  ]);
}

// A row for each object and part of the run.
function partsTable(rows, listOf, what) {
  const inside = shareColumns(whatFell + " there").map(column => ({
    ...column,
    of: row => column.of(row.part),
    as: (value, row) => column.as(value, row.part)
  }));
  const nameOfPart = row => profile[listOf][row.part[listOf.slice(0, -1)]].label;
  return folded(
      "The same as a table",
      tableOf(
          listOf + "-parts-table", "Objects in " + what,
          [
            {title: "object", words: true, of: row => row.site.label},
            {title: "in", words: true, of: nameOfPart}, ...inside,
            {title: "samples", of: row => row.part.samples, as: countText}
          ],
          rows.flatMap(site => site[listOf].map(part => ({site, part})))));
}

const leastShown = 0.005;  // share of a region or phase; the table has them all

// listOf: "regions" or "phases".
function partsSection(listOf, what) {
  const parts = profile[listOf]
                    .map((part, number) => ({...part, number}))
                    .filter(part => part.share >= leastShown)
                    .sort((a, b) => b.share - a.share)
                    .slice(0, 8);
  const rows = sites.filter(site => (site[listOf] ?? []).length).slice(0, 16);
  if (parts.length < 2 || !rows.length) return;
  const hottest = parts[0];
  const inIt = site =>
      (site[listOf] ?? []).find(part => part[listOf.slice(0, -1)] === hottest.number)?.share ?? 0;
  const first = rows.reduce((best, site) => inIt(site) > inIt(best) ? site : best);
  const sentence = hottest.label + " takes " + roundPercent(hottest.share) + " of " + whatFell +
      ", " + roundPercent(inIt(first)) + " of that on " + first.label;
  const how =
      "Objects against " + what + ": the part of " + whatFell + " there that fell on the object.";
  section(sentence, [
    element("p", {className: "faint", textContent: how}),
    picture(listOf, sentence, objectsByPart(rows, parts, listOf)), partsTable(rows, listOf, what)
  ]);
}

function rangesSection() {
  const objects = profile.over_time.accesses.sites.filter(
      of => of.ranges.some(list => list.length) && nameOf(of.site) &&
          hasBytes(profile.sites[of.site]));
  if (!objects.length) return;
  const concentrated = objects.map(of => profile.sites[of.site])
                           .filter(site => site.hot_part !== undefined)
                           .sort((a, b) => a.hot_part - b.hot_part)[0];
  const sentence = !concentrated || concentrated.hot_part > 0.7 ?
      "Where in its memory an object is accessed, and when" :
      "Nine tenths of what falls on " + concentrated.label + " fall on " +
          roundPercent(concentrated.hot_part) + " of its memory";
  const choice = element(
      "select", {id: "ranges-of"},
      ...objects.map((of, i) => element("option", {value: i, textContent: nameOf(of.site)})));
  const start = Math.max(0, objects.findIndex(of => profile.sites[of.site] === concentrated));
  choice.value = start;
  const place = picture("ranges", sentence, rangesOverTime(objects[start]));
  const entry = drawn[drawn.length - 1];
  choice.onchange = () => {
    entry.specification = rangesOverTime(objects[choice.value]);
    redraw(entry);
  };
  section(sentence, [
    element("p", {
      className: "faint",
      textContent: "Which ranges of an object's blocks were accessed when. Objects with " +
          "most samples can be chosen."
    }),
    element("label", {}, "Object: ", choice),
    place,
    folded(
        "The hottest ranges as a table",
        tableOf(
            "ranges-table", "Ranges that take nine tenths of an object's samples",
            [
              {title: "object", words: true, of: row => row.site.label},
              {title: "begins at", of: row => row.range.begin, as: percentText},
              {title: "ends at", of: row => row.range.end, as: percentText},
              {title: "share of the object's samples", of: row => row.range.share, as: percentText}
            ],
            objects.flatMap(
                of => profile.sites[of.site].hot_ranges.map(
                    range => ({site: profile.sites[of.site], range}))))),
  ]);
}

function linesSection() {
  const rows =
      sites
          .flatMap(
              site =>
                  (site.lines ?? [])
                      .filter(line => line.samples > 0)
                      .map(line => ({
                             site,
                             line,
                             share: line.share * site.share,
                             place: line.line ? line.file.split("/").pop() + ":" + line.line : null
                           })))
          .sort((a, b) => b.share - a.share)
          .slice(0, 200);
  if (!rows.length) return;
  const first = rows[0];
  section(
      (first.place ? first.line.function + " (" + first.place + ")" : first.line.function) +
          " gets " + roundPercent(first.share) + " of " + whatFell + " by accessing " +
          first.site.label,
      [...tableOf(
          "lines-table", "Source lines by the objects that they access",
          [
            {title: "function", words: true, of: row => row.line.function},
            {title: "line", words: true, of: row => row.place},
            {title: "object", words: true, of: row => row.site.label},
            {title: "share of " + whatFell, of: row => row.share, as: percentText},
            {title: "of the object's", of: row => row.line.share, as: percentText},
            {title: "samples", of: row => row.line.samples, as: countText}, {
              title: "does",
              words: true,
              of: row => [row.line.loads && "loads", row.line.stores && "stores"]
                             .filter(Boolean)
                             .join(", ")
            }
          ],
          rows)]);
}

function ranksTable(ranks, mean) {
  return folded("The same as a table", tableOf("ranks-table", "Ranks", [
                  {title: "rank", of: rank => rank.rank},
                  {title: "host", words: true, of: rank => rank.host},
                  {
                    title: "against the mean",
                    of: rank => mean > 0 ? rank.weight / mean : null,
                    as: times => times.toFixed(2)
                  },
                  {title: "most bytes", of: rank => rank.bytes_peak, as: sizeText},
                  {title: "ran for", of: rank => rank.nanoseconds, as: timeText},
                  {title: "samples", of: rank => rank.samples, as: countText}
                ], ranks));
}

function ranksSection() {
  const ranks = profile.ranks;
  if (ranks.length < 2) return;
  const mean = ranks.reduce((sum, rank) => sum + rank.weight, 0) / ranks.length;
  const most = ranks.reduce((a, b) => b.weight > a.weight ? b : a);
  const shown =
      [...ranks].sort((a, b) => b.weight - a.weight).slice(0, 32).sort((a, b) => a.rank - b.rank);
  const sentence = "Rank " + most.rank + " has " +
      (mean > 0 ? (most.weight / mean).toFixed(2) : "-") + " times the mean of " + whatFell +
      " of " + countOf(ranks.length, "rank");
  section(sentence, [picture("ranks", sentence, rankBars(shown)), ranksTable(ranks, mean)]);
}
