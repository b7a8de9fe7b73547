#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Accesses per second against a program's own count, and shares of accesses between two loops of which one takes much
# longer for an access: by time they would be far off.
#
# usage: record_rates.py --omptier O --program P
from recording import Recorder, check, parser, site

options = parser("omptier", "program").parse_args()
bench = Recorder(options)
counts = bench.record(options.program, options=["--rate", "1000", "--events", "perf"]).stdout.split()
quick, late, seconds = int(counts[0]), int(counts[1]), float(counts[2])
report, text = bench.report(), bench.text()
check(report["accesses_weighed_by"] == "accesses", f"loops are weighed by {report['accesses_weighed_by']}\n{text}")
for name, count in ("quick", quick), ("late", late):
    rate = site(report, name)["access_rate"]
    check(abs(rate["per_second"] * seconds / count - 1) < 0.15,
          f"{name}: {rate} a second, counted {count / seconds:.4g}\n{text}")
    check(rate["low"] <= rate["per_second"] <= rate["high"] and rate["pairs"] >= 6, f"{name}: {rate}")
    print(f"{name}: {rate['per_second']:.4g} accesses a second, counted {count / seconds:.4g}, {rate['pairs']} pairs")
bytes_of = {"quick": 8 * quick, "late": 8 * late, "chain": 4 * late}
for name, count in bytes_of.items():
    share, true = site(report, name)["access_share"]["share"], count / sum(bytes_of.values())
    check(abs(share - true) < 0.03, f"{name} has {share:.3f} of the accesses, not {true:.3f}\n{text}")
    print(f"{name}: {100 * share:.1f} % of the bytes accessed, counted {100 * true:.1f} %")
