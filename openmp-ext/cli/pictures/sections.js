// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The sections of the page, one for each picture: a sentence that says what the picture tells, the
// picture, and the same numbers as a table. One that has nothing to show is left out.

const sampled = value => profile.samples > 0 ? value : null;
const sumOf = (list, of) => list.reduce((sum, one) => sum + of(one), 0);

const shareColumns =
    whole => [{title: "share of " + whole, of: row => sampled(row.share), as: percentText},
              {title: "95 %", of: row => sampled(row.low), as: (low, row) => intervalText(row)},
];

// With few samples those objects come first on which one fell by chance: the curve is too steep.
function isByChance(reached) {
  const leastSamples = 5; // of an object
  return profile.too_few_samples ||
      (profile.drawn_run.source !== "exact" && reached.samples < leastSamples * reached.sites);
}

function densestSentence(reached, last) {
  if (isByChance(reached))
    return "The " + countOf(profile.samples, "sample") +
        " are too few to say how little memory takes how much of " + whatFell;
  return countText(reached.sites) + " of " + countOf(last.sites, "object") + ", " +
      roundPercent(reached.bytes / last.bytes) + " of the bytes (" + sizeText(reached.bytes) +
      "), take " + roundPercent(reached.share) + " of " + whatFell;
}

function densestText(reached, last) {
  let text = "How much memory the hottest objects need: objects in order of their share per " +
      "byte, each at its largest. The band is the 95 % interval.";
  if (last.share < 0.97)
    text +=
        " The rest of " + whatFell + " fell on stacks, small objects and what was not recorded.";
  if (isByChance(reached))
    text += " Up to the dashed line are " + countOf(reached.sites, "object") + " with " +
        countOf(reached.samples, "sample") + " together: which come first is partly chance, and " +
        "the curve rises too early. Record longer.";
  return text;
}

function densestSection() {
  const steps = profile.densest;
  if (!steps.length || steps[steps.length - 1].share <= 0) return;
  const last = steps[steps.length - 1];
  // Where the curve is farthest above the even one: what comes later costs more than it brings.
  const gain = step => step.share / last.share - step.bytes / last.bytes;
  const reached = steps.reduce((best, step) => gain(step) > gain(best) ? step : best);
  const sentence = densestSentence(reached, last);
  section(sentence, [
    faint(densestText(reached, last)),
    picture("densest", sentence, curve(steps, reached, whatFell)),
    folded("The same as a table",
           tableOf("densest-table", "Objects together, hottest per byte first",
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
  // Not a column without any value.
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

// The largest, and the hottest per byte: a treemap of the largest alone hides these.
function shownTiles() {
  const sized = sites.filter(hasBytes), perByte = site => site.share / site.bytes_peak;
  const largest = sized.sort((a, b) => b.bytes_peak - a.bytes_peak).slice(0, mostTiles - 40);
  const hottest = sized.filter(site => !largest.includes(site) && site.share > 0)
                      .sort((a, b) => perByte(b) - perByte(a))
                      .slice(0, 40);
  return [...largest, ...hottest];
}

function treemapSentence(largest, allBytes) {
  const begin = cutName(largest.label) +
      " is the largest object: " + roundPercent(largest.bytes_peak / allBytes) + " of the bytes";
  if (whyUnsampled) return begin;
  const unused = sites.filter(site => hasBytes(site) && site.share <= 0 &&
                                  site.kind !== "runtime" && site !== largest);
  const part = sumOf(unused, site => site.bytes_peak) / allBytes;
  return begin + ", " + shareWords(largest, whatFell) +
      (part >= 0.001 ? "; no sample fell on " + (leftOut ? "at least " : "") + roundPercent(part) +
               " of the bytes" + (largest.share > 0 ? "" : ", in other objects") :
                       "");
}

function treemapSection() {
  const tiles = shownTiles();
  if (!profile.densest.length || !tiles.length) return;
  const last = profile.densest[profile.densest.length - 1];
  const sentence = treemapSentence(tiles[0], last.bytes);
  const colours = whyUnsampled ? "; there are no colours. " + whyUnsampled :
                                 ", its colour how much one byte of it gets of " + whatFell +
          ", the average's also where samples do not tell on which side of it that is.";
  section(sentence, [
    faint("Each area is an object at its largest" + colours),
    picture("treemap", sentence, treemap(tiles, othersOf(tiles), last.share / last.bytes))
  ]);
}

// Objects, and what belongs to none: with these, shares add up to the whole.
function objectRows() {
  const {small_objects: small, other, densest} = profile;
  const rows = [...sites], all = densest.length ? densest[densest.length - 1].bytes : 0;
  const rest = (whole, of) => Math.max(0, whole - sumOf([...sites, small, other], of));
  if (leftOut)
    rows.push({
      label: countOf(leftOut, "other object"),
      share: rest(1, row => row.share),
      bytes_peak: Math.max(0, all - sumOf(sites.filter(hasBytes), site => site.bytes_peak)),
      samples: rest(profile.samples, row => row.samples)
    });
  if (small.objects > 0) rows.push({label: "small objects (under 4 KiB)", ...small});
  if (profile.samples > 0) rows.push({label: "everything else", ...other});
  return rows;
}

function objectsSection() {
  const rows = objectRows();
  if (!rows.length) return;
  const title = countOf(profile.sites.length, "object") +
      (whyUnsampled ? "" : ", and what fell on none of them");
  section(title, tableOf("objects-table", "Objects, most samples first", objectColumns(), rows));
}

function regionsTable() {
  const parts = [...profile.phases, ...profile.regions];
  const rows = parts.filter(part => part && (part.samples > 0 || part.nanoseconds > 0))
                   .sort((a, b) => b.share - a.share);
  return folded("Phases and regions as a table",
                tableOf("regions-table", "Named phases, regions, stretches between barriers",
                        [
                          {title: "part of the run", words: true, of: row => row.label},
                          ...shareColumns(whatFell),
                          {title: "time", of: row => row.nanoseconds || null, as: timeText},
                          {title: "entries", of: row => row.entries || null, as: countText},
                          {title: "threads", of: row => row.threads || null, as: countText}
                        ],
                        rows, parts.filter(part => !part).length));
}

const movesLeftOut = () => profile.all_moves.count - profile.moves.length;

function movesTable() {
  const objectOf = move => move.site === undefined ? null : nameOf(move.site);
  return folded("Moves as a table",
                tableOf("moves-table",
                        "Pages moved" + (movesLeftOut() ? ": the largest, in order of time" : ""),
                        [
                          {title: "object", words: true, of: objectOf},
                          {title: "at", of: move => move.begin, as: timeText},
                          {title: "bytes", of: move => move.bytes, as: sizeText},
                          {title: "from", words: true, of: move => move.from},
                          {title: "to", words: true, of: move => move.to},
                          {title: "took", of: move => move.seconds * 1e9, as: timeText}
                        ],
                        profile.moves, movesLeftOut()));
}

function timeSection() {
  const {live, nanoseconds, accesses} = profile.over_time, {most} = live;
  if (nanoseconds <= 0 || !(most.bytes > 0 || accesses.sites.length)) return;
  const moved = profile.all_moves.bytes;
  const sentence = "At most " + sizeText(most.bytes) + " were alive at once, " + timeText(most.at) +
      " after the start" +
      (moved > 0 ? "; " + sizeText(moved) + " were moved between kinds of memory" : "");
  const how = "The run from left to right. A cell is stronger the longer the region ran in that " +
      "time, or the more of " + whatFell + " fell on the object.";
  const undrawn = movesLeftOut();
  const moves = undrawn ? " " + countText(undrawn) + " smaller moves are not drawn." : "";
  section(sentence, [
    faint(how + moves + whoseTime), picture("time", sentence, timeLine()), regionsTable(),
    ...(moved > 0 ? [movesTable()] : [])
  ]);
}

// A row for each object and part of the run.
function partsTable(rows, listOf, what) {
  const inside = shareColumns(whatFell + " there").map(column => ({
    ...column,
    of: row => column.of(row.part),
    as: (value, row) => column.as(value, row.part)
  }));
  const shown = rows.flatMap(site => site[listOf].map(part => ({site, part})));
  const all = sumOf(sites, site => site["all_" + listOf] ?? (site[listOf] ?? []).length);
  const nameOfPart = row => profile[listOf][row.part[listOf.slice(0, -1)]].label;
  return folded("The same as a table",
                tableOf(listOf + "-parts-table", "Objects in " + what,
                        [
                          {title: "object", words: true, of: row => row.site.label},
                          {title: "in", words: true, of: nameOfPart}, ...inside,
                          {title: "samples", of: row => row.part.samples, as: countText}
                        ],
                        shown, all - shown.length));
}

const leastShown = 0.005; // share of a region or phase; the table has them all

// listOf: "regions" or "phases".
function partsSection(listOf, what) {
  const parts = profile[listOf]
                    .map((part, number) => ({...part, number}))
                    .filter(part => part.share >= leastShown) // one that is left out has none
                    .sort((a, b) => b.share - a.share)
                    .slice(0, 8);
  const rows = sites.filter(site => (site[listOf] ?? []).length).slice(0, 16);
  if (parts.length < 2 || !rows.length) return;
  const hottest = parts[0];
  const inIt = site =>
      (site[listOf] ?? []).find(part => part[listOf.slice(0, -1)] === hottest.number)?.share ?? 0;
  const first = rows.reduce((best, site) => inIt(site) > inIt(best) ? site : best);
  const sentence = cutName(hottest.label) + " takes " + roundPercent(hottest.share) + " of " +
      whatFell +
      (inIt(first) > 0 ? ", " + roundPercent(inIt(first)) + " of that on " + cutName(first.label) :
                         "");
  const how =
      "Objects against " + what + ": the part of " + whatFell + " there that fell on the object.";
  section(sentence, [
    faint(how), picture(listOf, sentence, objectsByPart(rows, parts, listOf)),
    partsTable(rows, listOf, what)
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
      "Nine tenths of what falls on " + cutName(concentrated.label) + " fall on " +
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
    faint(
        "Which ranges of an object's blocks were accessed when. Objects with most samples can be " +
        "chosen." + whoseTime),
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
            objects.flatMap(of => profile.sites[of.site].hot_ranges.map(
                                range => ({site: profile.sites[of.site], range}))))),
  ]);
}

const placeOf = line => line.line ? line.file.split("/").pop() + ":" + line.line : null;

// The line that gets most, on all objects together, and the object that it gets most of that by.
function hottestLine(rows) {
  const lines = new Map();
  for (const row of rows) {
    const key = row.line.function + " " + row.line.file + ":" + row.line.line;
    const sum = lines.get(key) ?? {first: row, share: 0, objects: 0};
    lines.set(key, {first: sum.first, share: sum.share + row.share, objects: sum.objects + 1});
  }
  return [...lines.values()].reduce((best, line) => line.share > best.share ? line : best);
}

function linesSentence(rows) {
  const {first, share, objects} = hottestLine(rows), place = placeOf(first.line);
  return cutName(first.line.function) + (place ? " (" + place + ")" : "") + " gets " +
      roundPercent(share) + " of " + whatFell + " by accessing " + cutName(first.site.label) +
      (objects > 1 ? " and " + countOf(objects - 1, "other object") : "");
}

const linesColumns = () => [{title: "function", words: true, of: row => row.line.function},
                            {title: "line", words: true, of: row => placeOf(row.line)},
                            {title: "object", words: true, of: row => row.site.label},
                            ...shareColumns(whatFell),
                            {title: "of the object's", of: row => row.line.share, as: percentText},
                            {title: "samples", of: row => row.line.samples, as: countText},
                            {
                              title: "does",
                              words: true,
                              of: row => [row.line.loads && "loads", row.line.stores && "stores"]
                                             .filter(Boolean)
                                             .join(", ")
                            },
];

function linesSection() {
  const mostRows = 200;
  const linesOf = site => (site.lines ?? []).filter(line => line.samples > 0);
  const rows = sites.flatMap(site => linesOf(site).map(line => ({site, line, ...line.of_all})))
                   .sort((a, b) => b.share - a.share);
  if (!rows.length) return;
  const cut = sumOf(sites, site => site.all_lines ? site.all_lines - site.lines.length : 0);
  section(linesSentence(rows),
          tableOf("lines-table", "Source lines by the objects that they access", linesColumns(),
                  rows.slice(0, mostRows), Math.max(0, rows.length - mostRows) + cut));
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
                  {title: "sum of the objects' peaks", of: rank => rank.bytes_peak, as: sizeText},
                  {title: "ran for", of: rank => rank.nanoseconds, as: timeText},
                  {title: "samples", of: rank => rank.samples, as: countText}
                ], ranks));
}

function ranksSection() {
  const ranks = profile.ranks;
  if (ranks.length < 2) return;
  const mean = ranks.reduce((sum, rank) => sum + rank.weight, 0) / ranks.length;
  const byWeight = [...ranks].sort((a, b) => b.weight - a.weight);
  const shown = (ranks.length > 32 ? [...byWeight.slice(0, 16), ...byWeight.slice(-16)] : byWeight)
                    .sort((a, b) => a.rank - b.rank);
  const most = byWeight[0], times = mean > 0 ? (most.weight / mean).toFixed(2) : "1.00";
  const sentence = whyUnsampled ? countOf(ranks.length, "rank") :
      times === "1.00" ? countOf(ranks.length, "rank") + " have the same part of " + whatFell :
                         "Rank " + most.rank + " has " + times + " times the mean of " + whatFell +
          " of " + countOf(ranks.length, "rank");
  const how = ranks.length > shown.length ? "The 16 ranks with most and the 16 with least; the " +
          "mean is that of all." :
                                            "Ranks beside each other.";
  section(sentence,
          [faint(how), picture("ranks", sentence, rankBars(shown, mean)), ranksTable(ranks, mean)]);
}
