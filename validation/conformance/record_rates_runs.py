#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Bytes per second where a loop's pace is easily taken for another's: that of two arrays must be known, and right; that
# of the third must not be said to be known. How many samples a run of a loop has depends on the machine: as long as a
# pace is not known, runs are made longer.
#
# usage: record_rates_runs.py --omptier O --program P
from recording import Recorder, check, parser, site

KNOWN = 0.9  # of the time
RIGHT = {"fresh": (0.6, 1.5), "large": (0.7, 1.4)}  # of the bytes counted
UNKNOWN = 0.1
options = parser("omptier", "program").parse_args()
bench = Recorder(options)


def measure(times):
    """By array: share of its time whose pace is known, and bytes found of those counted; and the report."""
    counts = bench.record(options.program, times, options=["--rate", "1000", "--events", "perf"]).stdout.split()
    seconds, report, found = float(counts[3]), bench.report(), {}
    for name, count, size in zip(("fresh", "large", "little"), map(int, counts), (8, 4, 4)):
        rate = site(report, name).get("access_rate") or {"known_share": 0, "bytes_per_second": 0}
        found[name] = rate["known_share"], rate["bytes_per_second"] * seconds / (size * count)
        print(f"{name}, {times} times: pace known of {100 * found[name][0]:.0f} % of the time, "
              f"{found[name][1]:.2f} of the bytes counted")
    return found, bench.text()


for times in ("1", "2", "4"):
    found, text = measure(times)
    check(found["little"][0] < UNKNOWN and found["little"][1] < UNKNOWN, f"little has a pace: {found}\n{text}")
    known = [name for name in ("fresh", "large") if found[name][0] > KNOWN]
    for name in known:
        check(RIGHT[name][0] < found[name][1] < RIGHT[name][1], f"{name}: {found[name]}\n{text}")
    if len(known) == 2:
        break
check(len(known) == 2, f"known are the paces of {known} alone: {found}\n{text}")
