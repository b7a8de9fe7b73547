#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# measure.py --omptier build/release/bin/omptier: records the programs of this folder, each by every compiler and by
# perf and timers, and prints what the report says of each object beside what the program knows of itself. It measures
# and demands nothing: its exit status is 0 unless a program does not build or run. All of it took 12 minutes on two
# cores that were busy with other work.
#
#   --only cg,heat   --compiler gcc   --source perf     these only
#   --rate 1000      samples a second; without it the recorder's own
#   --small          sizes for a run of a moment: for trying this script, not for its figures
#   --wrong          lines of wrong figures only
#   --check          instead: each program builds, runs in small and tells a consistent truth; one is recorded
#   --json FILE      the table for programs
import argparse
import collections
import dataclasses
import json
import sys
import tempfile

from figures import judge
from programs import PROGRAMS, Bench, Failed, inconsistencies

SOURCES = {"perf": "perf", "timers": "timer"}  # by their name for --events
VERDICTS = ("right", "unsaid", "wrong")


def arguments():
    made = argparse.ArgumentParser()
    made.add_argument("--omptier", required=True)
    made.add_argument("--only", type=lambda text: text.split(","), default=list(PROGRAMS))
    made.add_argument("--compiler", choices=("clang", "gcc", "python"))
    made.add_argument("--source", choices=list(SOURCES))
    made.add_argument("--rate", type=float)
    for flag in "small", "wrong", "check":
        made.add_argument("--" + flag, action="store_true")
    made.add_argument("--json")
    options = made.parse_args()
    unknown = set(options.only) - set(PROGRAMS)
    if unknown:
        made.error(f"no program {', '.join(sorted(unknown))}; there are {', '.join(PROGRAMS)}")
    return options


def compilers(options, name):
    return [compiler for compiler in PROGRAMS[name].compilers if options.compiler in (None, compiler)]


def measure(options, bench):
    """A dictionary for each line of the table."""
    for name in options.only:
        sizes = PROGRAMS[name].small if options.small else ()
        for compiler in compilers(options, name):
            command = bench.build(name, compiler)
            truth = bench.truth(name, command, *sizes)
            for source, events in SOURCES.items():
                if options.source in (None, source):
                    report, text, recorded = bench.record(name, command, *sizes, events=events, rate=options.rate)
                    run = {"program": name, "compiler": compiler, "source": source, "samples": report["samples"],
                           "weighed_by": report.get("accesses_weighed_by", "nothing")}
                    for line in judge(truth, recorded, report, text):
                        yield {**run, **dataclasses.asdict(line)}


HEAD = ("program", "compiler", "source", "object", "figure", "printed", "truth", "verdict")
WIDTHS = (13, 8, 6, 16, 11, 38, 16, 0)


def row(cells):
    return "  ".join(f"{cell:{width}}" for cell, width in zip(cells, WIDTHS)).rstrip()


def print_totals(lines):
    counts = collections.defaultdict(collections.Counter)
    for line in lines:
        counts[line["figure"]][line["verdict"]] += 1
        counts["all"][line["verdict"]] += 1
    print(f"\n{'figure':12}" + "".join(f"{verdict:>8}" for verdict in VERDICTS))
    for figure, count in sorted(counts.items(), key=lambda pair: (pair[0] == "all", pair[0])):
        print(f"{figure:12}" + "".join(f"{count[verdict]:8}" for verdict in VERDICTS))


def check(options, bench):
    """Each program by the first of its compilers, one of them recorded."""
    faults = []
    for name in options.only:
        command = bench.build(name, PROGRAMS[name].compilers[-1])
        truth = bench.truth(name, command, *PROGRAMS[name].small, alone=name != "caches")
        faults += [f"{name}: {fault}" for fault in inconsistencies(truth)]
        print(f"{name}: {len(truth['objects'])} objects")
    name = options.only[0]
    command = bench.build(name, PROGRAMS[name].compilers[-1])
    truth = bench.truth(name, command, *PROGRAMS[name].small)
    report, text, recorded = bench.record(name, command, *PROGRAMS[name].small, events="timer", rate=options.rate)
    lines = list(judge(truth, recorded, report, text))
    named = {line.object for line in lines if line.figure == "name"}
    if named != {one["name"] for one in truth["objects"]}:
        faults.append(f"{name}: lines of {sorted(named)}")
    print(f"{name} recorded: {len(lines)} figures")
    return faults


def main():
    options = arguments()
    with tempfile.TemporaryDirectory() as folder:
        bench = Bench(options.omptier, folder)
        if options.check:
            sys.exit("\n".join(check(options, bench)) or 0)
        lines, run = [], None
        print(row(HEAD))
        for line in measure(options, bench):
            lines.append(line)
            if run != (run := (line["program"], line["compiler"], line["source"])):
                print(f"# {' '.join(run)}: {line['samples']} samples, loops weighed by {line['weighed_by']}")
            if not options.wrong or line["verdict"] == "wrong":
                print(row(line[column] for column in HEAD), flush=True)
    print_totals(lines)
    if options.json:
        with open(options.json, "w") as out:
            json.dump(lines, out, indent=1)


if __name__ == "__main__":
    try:
        main()
    except Failed as failure:
        sys.exit(f"measure.py: {failure}")
