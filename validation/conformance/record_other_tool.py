#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# omptier record beside another OMPT tool: a tracer (record_other_tool_client.c) and Archer.
# record_other_tool.py <case> --omptier PATH --program PATH --client PATH --races PATH
import json
import pathlib
import subprocess

from recording import Recorder, check, run_case


class Beside(Recorder):
    def counts(self):
        path = self.folder / "counts"
        counts = json.loads(path.read_text()) if path.exists() else None
        path.unlink(missing_ok=True)
        return counts


def case_tracer(bench):
    """A tracer sees the same events with and without us, in data of its own; so do we."""
    tracer = {"OMP_TOOL_LIBRARIES": bench.options.client, "OTHER_TOOL_COUNTS": "counts"}
    alone = bench.run(bench.options.program, "exit", "20000", LD_LIBRARY_PATH=bench.libraries, **tracer)
    counts = bench.counts()
    check(counts is not None and counts["regions"] > 5 and counts["tasks"] > 10 and counts["loops"] > 10,
          f"alone: {counts}")
    both = bench.record(bench.options.program, "exit", "20000", **tracer)
    check(both.stdout == alone.stdout, f"{both}")
    together = bench.counts()
    check(together == counts, f"alone {counts}, beside us {together}")
    check(counts["foreign"] == 0, f"its data were touched: {counts}")
    report = bench.report()
    check({region["label"].split()[0] for region in report["regions"]} >= {"gather", "add_up"},
          f"{report['regions']}")
    entries = sum(region["entries"] for region in report["regions"])
    check(entries == counts["regions"], f"{entries} regions recorded, the tracer saw {counts['regions']}")


def case_declines(bench):
    """A tool that wants nothing, or that is no tool: recorded as if it were not there."""
    client = bench.options.client
    for tools, declines in (client, {"OTHER_TOOL_DECLINES": "1"}), ("/no/such/tool.so:libm.so.6", {}):
        result = bench.record(bench.options.program, "exit", "20000", OMP_TOOL_LIBRARIES=tools, OTHER_TOOL_COUNTS="counts",
                              **declines)
        check(bench.counts() is None, f"{tools}: {result}")
        check(sum(region["entries"] for region in bench.report()["regions"]) == 11, tools)
    # The log cannot be written: the other tool works all the same.
    (bench.folder / "full").mkdir()
    result = bench.run(bench.omptier, "record", "--", bench.options.program, "exit", "20000", OMPTIER_PROFILE="full",
                       OMP_TOOL_LIBRARIES=client, OTHER_TOOL_COUNTS="counts")
    check("full" in result.stderr, f"nothing is said of the log: {result}")
    counts = bench.counts()
    check(counts is not None and counts["foreign"] == 0, f"{result} {counts}")


def case_archer(bench):
    """Under ThreadSanitizer Archer still explains OpenMP's barriers: no false race, and the true one."""
    races = bench.options.races
    sanitizer = {"TSAN_OPTIONS": "exitcode=66 ignore_noninstrumented_modules=1"}
    archer = subprocess.run(("clang-19", "-print-file-name=libarcher.so"), text=True, capture_output=True)
    folder = str(pathlib.Path(archer.stdout.strip()).resolve().parent)
    for argument, status in ("", 0), ("race", 66):
        result = bench.record(races, *filter(None, [argument]), status=status, LD_LIBRARY_PATH=folder,
                              ARCHER_OPTIONS="verbose=1", **sanitizer)
        check("Archer detected OpenMP application with TSan" in result.stdout, f"Archer is not there: {result}")
        check(result.stdout.endswith("\n3\n"), f"{argument}: {result}")
        check(sum(region["entries"] for region in bench.report()["regions"]) == 1, "the region is not recorded")


run_case(globals(), "program", "client", "races", recorder=Beside)
