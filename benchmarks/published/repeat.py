#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Whether the timed machine repeats itself: the same ratios five times on a quiet host, and five times
beside a busy loop for each processor. A ratio further than 5 % from the median of the quiet ones that were not refused must
have been refused: its run said that emulation was too slow. Nothing is taken from earlier results."""
import dataclasses
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile

import published

REPEATS, ALLOWED = 5, 0.05


@dataclasses.dataclass
class Case:
    what: str
    machine: str
    dilation: int
    program: str
    fast: str
    slow: str


CASES = (Case("Xeon Max, STREAM triad, DDR over HBM", "xeon-max-flat", 400, "stream", "triad 1,1,1 16 4", "triad 0,0,0 16 4"),
         Case("Xeon Max, pointer chase, DDR over HBM", "xeon-max-flat", 100, "stream", "chase 1 16", "chase 0 16"),
         Case("Xeon Max, MG, DDR over HBM", "xeon-max-flat", 800, "multigrid", "1,1,1", "0,0,0"),
         Case("Ice Lake, random loads, Optane over DRAM", "icelake-optane", 200, "stream", "random 0 16", "random 2 16"),
         Case("Ice Lake, synthetic sequential, crit over p_3", "icelake-8-threads", 100, "synthetic",
              "sequential 4 p_3 0,1 8", "sequential 4 crit 0,1 8"))


def measured(options, case, results):
    """The ratio, and whether the machine refused it."""
    program = (options.build / "benchmarks/published" / case.program).resolve()
    commands = [f"{program} {case.fast}", f"{program} {case.slow}"]
    options.results = results
    ran = {result["command"]: result
           for result in published.run_all(options, case.machine, case.dilation, commands)}
    fast, slow = (ran[command] for command in commands)
    refused = any(published.is_too_slow(result) for result in (fast, slow))
    return float(slow["output"].split()[0]) / float(fast["output"].split()[0]), refused


def series(options, case, folder, name):
    return [measured(options, case, pathlib.Path(folder) / f"{name}.{i}") for i in range(REPEATS)]


def show(ratios):
    return ", ".join(f"{ratio:.3f}{' (refused)' if refused else ''}" for ratio, refused in ratios)


def main():
    options = published.arguments(__doc__)
    options.build = options.build.resolve()
    unsaid = 0
    for case in CASES[:2] if options.short else CASES:
        with tempfile.TemporaryDirectory() as folder:
            quiet = series(options, case, folder, "quiet")
            loops = [subprocess.Popen(["sh", "-c", "while :; do :; done"]) for _ in range(os.cpu_count())]
            try:
                busy = series(options, case, folder, "busy")
            finally:
                for loop in loops:
                    loop.kill()
                    loop.wait()
        told = [ratio for ratio, refused in quiet if not refused]
        if not told:
            print(f"{case.what}\n  quiet: {show(quiet)}\n  the host is too busy to say anything", flush=True)
            unsaid += 1
            continue
        middle = statistics.median(told)
        wrong = [ratio for ratio, refused in quiet + busy
                 if not refused and published.factor(ratio, middle) > 1 + ALLOWED]
        unsaid += len(wrong)
        not_refused = len(told) + sum(not refused for _, refused in busy)
        print(f"{case.what}\n  quiet: {show(quiet)}\n  busy: {show(busy)}\n  more than 5 % off and not refused: "
              f"{len(wrong)} of {not_refused}", flush=True)
    return 1 if unsaid else 0


if __name__ == "__main__":
    sys.exit(main())
