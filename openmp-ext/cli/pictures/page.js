// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The page from top to bottom: what ran, then the sections. In the profile's numbers, sites that
// the page leaves out are null.

const profile = JSON.parse(document.getElementById("numbers").textContent);
const wholeList = "omptier report --json"; // where tables are not cut
const whatFell = {
  time: "the time",
  accesses: "the accesses",
  misses: "the misses"
}[profile.measure];
const sites = profile.sites.flatMap((site, number) => site ? [{...site, number}] : []);
const leftOut = profile.sites.length - sites.length;

function nameOf(site) {
  return profile.sites[site] ? cutName(profile.sites[site].label) :
                               "an object that this page leaves out";
}

// Why there are no samples, or "".
const whyUnsampled = profile.samples > 0 ?
    "" :
    "There are no samples: " + (profile.runs[0].source_description || "none was taken") + ".";

// Time passes in one run; of several profiles it is said whose.
const whoseTime = profile.profiles < 2 ? "" :
                                         " This is of one of " + profile.profiles +
        " profiles: process " + profile.drawn_run.process + " on " + profile.drawn_run.host + ".";

function samplesFact() {
  let text = countText(profile.samples);
  if (profile.samples_lost > 0) text += ", " + countText(profile.samples_lost) + " lost";
  if (profile.samples_waiting > 0)
    text += ", and " + countText(profile.samples_waiting) +
        " waiting in the OpenMP runtime, or recording";
  return text;
}

function runningNote() {
  const who = profile.profiles < 2 ? "The program" :
      profile.running === 1        ? "One process" :
                                     countText(profile.running) + " processes";
  return who + " still ran when this was written: figures are those so far.";
}

function headNotes() {
  const notes = [...profile.notes];
  if (whyUnsampled) notes.push(whyUnsampled);
  if (profile.running > 0) notes.push(runningNote());
  if (profile.profiles > 1)
    notes.push(countOf(profile.profiles, "profile") +
               " are joined: bytes and times are figures of one " +
               "process, and an object's bytes those of the process where it is largest.");
  if (profile.samples > 0 && profile.worst_error > 0)
    notes.push("Shares may be off by " + Math.round(profile.worst_error * 100) +
               " points beside their intervals: what this source of samples cannot tell apart.");
  if (leftOut > 0)
    notes.push("Shown are the " + countText(sites.length) +
               " objects with most samples or most bytes; " + countText(leftOut) +
               " more are counted together. omptier report --json has all.");
  return notes;
}

function head() {
  const run = profile.runs[0];
  const program = run.command_line || run.program;
  document.title = run.program.split("/").pop() + ": omptier report";
  const facts = [
    ["ran for", timeText(profile.nanoseconds)], ["threads", countText(profile.threads)],
    ["samples of " + profile.measure, samplesFact()], ["source", run.source], ["on", run.host],
    ["at", run.wall_clock_start ? new Date(run.wall_clock_start * 1000).toLocaleString() : "-"],
    ["objects", countText(profile.sites.length)]
  ];
  if (profile.profiles > 1) facts.push(["profiles", countText(profile.profiles)]);
  const list =
      element("dl", {className: "facts"},
              ...facts.map(([name, text]) => element("div", {}, element("dt", {textContent: name}),
                                                     element("dd", {textContent: text}))));
  document.querySelector("header").append(
      element("h1", {textContent: cutName(program, 400), title: program}), list);
  const notes = headNotes();
  if (notes.length)
    document.querySelector("header").append(
        element("ul", {className: "notes faint"},
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
objectsSection();
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
