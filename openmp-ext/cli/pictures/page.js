// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The page from top to bottom: what ran, then the sections. In the profile's numbers, sites that
// the page leaves out are null.

const profile = JSON.parse(document.getElementById("profile").textContent);
const whatFell = {
  time: "the time",
  accesses: "the accesses",
  misses: "the misses"
}[profile.measure];
const sites = profile.sites.flatMap((site, number) => site ? [{...site, number}] : []);
const leftOut = profile.sites.length - sites.length;

function nameOf(site) {
  return profile.sites[site] ? profile.sites[site].label : "an object that this page leaves out";
}

function head() {
  const run = profile.runs[0];
  const program = run.command_line || run.program;
  document.title = run.program.split("/").pop() + ": omptier report";
  const facts = [
    ["ran for", timeText(profile.nanoseconds)], ["threads", countText(profile.threads)],
    ["samples of " + profile.measure, countText(profile.samples)], ["source", run.source],
    ["on", run.host],
    ["at", run.wall_clock_start ? new Date(run.wall_clock_start * 1000).toLocaleString() : "-"],
    ["objects", countText(profile.sites.length)]
  ];
  if (profile.runs.length > 1) facts.push(["profiles", countText(profile.runs.length)]);
  const list = element(
      "dl", {className: "facts"},
      ...facts.map(
          ([name, text]) => element(
              "div", {}, element("dt", {textContent: name}), element("dd", {textContent: text}))));
  document.querySelector("header").append(element("h1", {textContent: program}), list);
  const notes = [...profile.notes];
  if (profile.worst_error > 0)
    notes.push(
        "Shares may be off by " + roundPercent(profile.worst_error) +
        " beside their intervals: what this source of samples cannot tell apart.");
  if (leftOut > 0)
    notes.push(
        "Shown are the " + countText(sites.length) + " objects with most samples or most bytes; " +
        countText(leftOut) + " more are counted together. omptier report --json has all.");
  if (notes.length)
    document.querySelector("header").append(element(
        "ul", {className: "notes faint"},
        ...notes.map(note => element("li", {textContent: note}))));
}

function foot() {
  const text =
      "Written by omptier report --html; the numbers are those of omptier report --json. " +
      "What the words mean: omptier help profiling. Drawn by Vega and Vega-Lite; their licenses " +
      "are in this page's source.";
  document.querySelector("footer").append(element("p", {className: "faint", textContent: text}));
}

head();
densestSection();
treemapSection();
timeSection();
partsSection("regions", "parallel regions");
partsSection("phases", "phases and stretches between barriers");
rangesSection();
linesSection();
ranksSection();
foot();
drawAll().then(() => {
  performance.mark("drawn");
  document.body.dataset.drawn = drawn.length;
});
