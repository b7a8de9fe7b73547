#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Accesses per second against a program's own count, and shares of accesses between two loops of which one takes much
# longer for an access: by time they would be far off. The median of seven recordings is judged: what else runs on the
# host changes a loop's speed from one moment to the next. Two more may leave a rate open, as beside other load some do.
#
# usage: record_rates.py --omptier O --program P
import statistics

from recording import Recorder, check, parser, site

RECORDINGS = 7

options = parser("omptier", "program").parse_args()
bench = Recorder(options)


def recorded():
    """By name: the rate and the share of accesses, each as (reported, counted by the program); and the report's text.
    None where a rate was left open."""
    counts = bench.record(options.program, options=["--rate", "1000", "--events", "perf"]).stdout.split()
    quick, late, seconds = int(counts[0]), int(counts[1]), float(counts[2])
    report, text = bench.report(), bench.text()
    check(report["accesses_weighed_by"] == "accesses", f"loops are weighed by {report['accesses_weighed_by']}\n{text}")
    rates, shares = {}, {}
    for name, count in ("quick", quick), ("late", late):
        rate = site(report, name).get("access_rate")
        if rate is None:
            return None
        check(rate["low"] <= rate["per_second"] <= rate["high"] and rate["pairs"] >= 6, f"{name}: {rate}")
        rates[name] = rate["per_second"], count / seconds
    bytes_of = {"quick": 8 * quick, "late": 8 * late, "chain": 4 * late}
    for name, count in bytes_of.items():
        shares[name] = site(report, name)["access_share"]["share"], count / sum(bytes_of.values())
    return rates, shares, text


def told_of(values):
    return ", ".join(f"{reported:.4g}, counted {counted:.4g}" for reported, counted in values)


def judge(runs):
    """Whether all medians are near; and a text with all."""
    near, text = [], ""
    for name in "quick", "late":
        rates = [run[0][name] for run in runs]
        near.append(abs(statistics.median(reported / counted for reported, counted in rates) - 1) < 0.15)
        text += f"{name}, accesses a second: {told_of(rates)}\n"
    for name in "quick", "late", "chain":
        shares = [run[1][name] for run in runs]
        near.append(abs(statistics.median(share - true for share, true in shares)) < 0.03)
        text += f"{name}, part of the bytes accessed: {told_of(shares)}\n"
    return all(near), text


runs, left_open = [], 0
while len(runs) < RECORDINGS:
    run = recorded()
    runs += [run] if run else []
    left_open += run is None
    check(left_open <= 2, f"{left_open} recordings left a rate open\n{bench.text()}")
good, text = judge(runs)
check(good, f"{text}{runs[-1][2]}")
print(text)
