#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# omptier record of mappings: calls that fail change nothing, a site that maps often is counted and does not fill the
# log, and what a thread of C11's reads afterwards is still sampled.
#
# usage: record_capacity_mappings.py --omptier O --program P
from recording import Recorder, check, parser, site

LIMIT, COUNT, MIB = 1 << 20, 100_000, 1 << 20
options = parser("omptier", "program").parse_args()
bench = Recorder(options)
bench.record(options.program, str(COUNT), "1", options=("--size", str(LIMIT), "--rate", "1000"))
size = (bench.folder / "p.profile").stat().st_size
report, text = bench.report(), bench.text()
check(size <= LIMIT, f"the log has {size} bytes")
kept, again, passing, hot = (site(report, name) for name in ("kept", "again", "passing", "hot"))
figures = lambda row: (row["objects"], row["bytes_largest"], row["bytes_peak"])
check(figures(kept) == (1, MIB, MIB), f"kept: {figures(kept)}\n{text}")
check(figures(again) == (10, 3 * MIB, 3 * MIB), f"again: {figures(again)}\n{text}")
check(figures(passing) == (COUNT, 8192, 8192), f"passing: {figures(passing)}\n{text}")
check(hot["share"] > 0.2 and hot["samples"] > 20, f"the thread's array: {hot['samples']} samples\n{text}")
print(f"log {size} bytes; {hot['samples']} of {report['samples']} samples in hot, {hot['share']:.2f}")
