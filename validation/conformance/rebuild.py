#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# A plan made for one build of rebuild_cases.c, applied to builds in which other things changed: an
# entry places its own object or none, never another, and whatever does not is said.
# rebuild.py --omptier PATH --builds PREFIX --machine XML
import os
import pathlib
import re
import tempfile
import time

from trial import check, clean_environment, parser, run

RECORDED = {"grid", "table", "list", "halo", "edge", "mesh", "ghost", "gone", "field"}


class Bench:
    def __init__(self, arguments, folder):
        self.omptier, self.builds, self.folder = arguments.omptier, arguments.builds, folder
        self.machine = arguments.machine
        self.environment = clean_environment()

    def program(self, build):
        return f"{self.builds}-{build}/solver"

    def call(self, *command, **more):
        return run(*command, status=None, cwd=self.folder, env=dict(self.environment, **more))

    def make_plan(self):
        result = self.call(self.omptier, "record", "--events", "none", "-o", "p.profile", "--",
                           self.program("0-debug"))
        check(result.returncode == 0, f"record: {result}")
        result = self.call(self.omptier, "advise", "--xml", self.machine, "-o", "plan.json",
                           "p.profile")
        check(result.returncode == 0, f"advise: {result}")

    def run(self, build, *arguments, options=(), program=None):
        return self.call(self.omptier, "run", *options, "--plan", "plan.json", "--",
                         program or self.program(build), *arguments)


def placed_by_plan(result):
    """What the plan placed, each by its own entry; a wrong one fails."""
    check(result.returncode == 0, f"status {result.returncode}: {result.stderr}")
    found = set()
    for line in result.stdout.splitlines():
        name, reason = line.split("|", 1)
        entry = re.search(r'by the plan, "(\w+) ', reason)
        if entry:
            check(entry[1] == name, f"{name} was placed by the entry of {entry[1]}")
            found.add(name)
    return found


def lost(result):
    """Labels that omptier run says it left out, with the reasons."""
    return {match[1]: match[2] for match in
            re.finditer(r"omptier run: left unplaced: (\w+) \(rebuild_cases.c:\d+\): (.+)",
                        result.stderr)}


def unused(result):
    return re.findall(r"OMP: Warning #5016: (\d+) of (\d+) entries of the plan matched no",
                      result.stderr)


def expect(bench, build, placed, reasons):
    result = bench.run(build)
    check(placed_by_plan(result) == placed, f"{build}: {result.stdout} {result.stderr}")
    check(lost(result) == reasons, f"{build}: {lost(result)}")
    check(f"{len(placed)} of {len(RECORDED)} entries found again" in result.stderr, result.stderr)
    check(unused(result) == [], result.stderr)


def other_builds(bench):
    gone = {"gone": "main makes no call of make_gone now"}
    expect(bench, "1-debug", RECORDED, {})
    expect(bench, "1-plain", RECORDED, {})
    expect(bench, "2-debug", RECORDED - {"gone"}, gone)
    main = "main makes 4 calls of allocate now, not 3"
    halo = "main makes 3 calls of omp_alloc now, not 2"
    expect(bench, "2-plain", {"mesh", "ghost", "field"},
           {"grid": main, "table": main, "list": main, "halo": halo, "edge": halo, **gone})


def program_found_otherwise(bench):
    """By a path relative to the folder, and along PATH."""
    relative = os.path.relpath(bench.program("1-debug"), bench.folder)
    check(placed_by_plan(bench.run("", program=relative)) == RECORDED, "relative path")
    folder = str(pathlib.Path(bench.program("1-debug")).parent)
    result = bench.call(bench.omptier, "run", "--plan", "plan.json", "--", "solver",
                        PATH=folder + ":" + bench.environment["PATH"])
    check(placed_by_plan(result) == RECORDED, "along PATH")


def strict(bench):
    result = bench.run("1-debug", options=["--strict"])
    check(result.returncode == 2 and result.stdout == "" and result.stderr.count("\n") == 1 and
          "another build" in result.stderr, f"{result}")
    check(placed_by_plan(bench.run("0-debug", options=["--strict"])) == RECORDED, "same build")


def end_of_program(bench):
    """Entries that matched nothing are said once, by the process itself."""
    result = bench.run("0-debug")
    check(placed_by_plan(result) == RECORDED and unused(result) == [], f"{result}")
    for how in "less", "fork":
        result = bench.run("0-debug", how)
        check(placed_by_plan(result) == RECORDED - {"gone"}, f"{result}")
        check(unused(result) == [("1", "9")], f"{how}: {result.stderr}")
    check(unused(bench.run("0-debug", "nothing")) == [], "said where nothing was allocated")
    # Without the command nothing is found again: all is said.
    library = str(pathlib.Path(bench.omptier).parent.parent / "lib")
    result = bench.call(bench.program("1-debug"), LD_LIBRARY_PATH=library, OMPTIER_PLAN="plan.json")
    check(placed_by_plan(result) == set() and unused(result) == [("9", "9")], f"{result}")


def program_closes_what_it_did_not_open(bench):
    """And hides files, and starts others, before it allocates: it has its plan all the same."""
    temporary = bench.folder / "temporary"
    temporary.mkdir()
    more = {"TMPDIR": str(temporary)}

    def run_after(before, **environment):
        return bench.call(bench.omptier, "run", "--plan", "plan.json", "--",
                          bench.program("1-debug"), **more, **environment, BEFORE=before)
    for before in "close", "exec", "hide":
        result = run_after(before)
        check(placed_by_plan(result) == RECORDED, f"{before}: {result}")
        check(unused(result) == [] and not list(temporary.iterdir()), f"{before}: {result}")
    # A child that starts the program when everything is long over.
    check(run_after("daemon").returncode == 0, "daemon")
    check(len(list(temporary.iterdir())) == 1, "the plan's file is gone before its last reader")
    (bench.folder / "go").touch()
    out = bench.folder / "daemon.out"
    for _ in range(400):
        if out.read_text().count("by the plan") == len(RECORDED):
            break
        time.sleep(0.05)
    check(out.read_text().count("by the plan") == len(RECORDED), out.read_text())
    # Of another machine that shares the folder: who made it is not known here, nor who reads it.
    foreign = temporary / "omptier-plan-00000000-999999999-abcdef"
    foreign.touch()
    for _ in range(100): # its end
        result = run_after("none")
        if list(temporary.iterdir()) == [foreign]:
            break
    check(list(temporary.iterdir()) == [foreign], f"stay: {list(temporary.iterdir())}")


def no_folder_for_the_plan(bench):
    nowhere = str(bench.folder / "nowhere")
    result = bench.call(bench.omptier, "run", "--plan", "plan.json", "--", bench.program("1-debug"), TMPDIR=nowhere)
    check(result.returncode == 125 and result.stdout == "" and nowhere in result.stderr.splitlines()[-1], f"{result}")


with tempfile.TemporaryDirectory() as folder:
    bench = Bench(parser("omptier", "builds", "machine").parse_args(), pathlib.Path(folder))
    bench.make_plan()
    for part in (other_builds, program_found_otherwise, strict, end_of_program,
                 program_closes_what_it_did_not_open, no_folder_for_the_plan):
        part(bench)
