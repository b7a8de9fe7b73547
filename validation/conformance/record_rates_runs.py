#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Bytes per second where a loop's pace is easily taken for another's: what is said to be known must be right, and one
# array's pace must be known.
#
# usage: record_rates_runs.py --omptier O --program P
from recording import Recorder, check, parser, site

options = parser("program").parse_args()
bench = Recorder(options)
counts = bench.record(options.program, options=["--rate", "1000", "--events", "perf"]).stdout.split()
seconds = float(counts[3])
report, text = bench.report(), bench.text()
for name, count, size in zip(("fresh", "large", "little"), map(int, counts), (8, 4, 4)):
    rate = site(report, name).get("access_rate")
    known = rate["known_share"] if rate else 0
    found = rate["bytes_per_second"] * seconds / (size * count) if rate else 0
    print(f"{name}: pace known of {100 * known:.0f} % of the time, {found:.2f} of the bytes counted")
    check(known > 0.9 or name != "large", f"the pace of {name} is not known: {rate}\n{text}")
    check(0.7 * known - 0.1 < found < 1.4 * known + 0.1, f"{name}: {found} of the bytes counted: {rate}\n{text}")
