#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The library's threads that copy chunks are not recorded: a program of one thread has one stack in its profile. What
its chunks lie in is an object of it.

usage: chunked_recorded.py --omptier O --program P
"""

from recording import Recorder, check, parser

bench = Recorder(parser("omptier", "program").parse_args())
bench.record(bench.options.program, "recorded", options=("--rate", "1000"))
report = bench.report()
check(report["samples"] + report["samples_waiting"] > 100, f"only {report['samples']} samples")
stacks = [row["objects"] for row in report["sites"] if row["kind"] == "stacks"]
check(report["threads"] == 1 and stacks == [1], f"{report['threads']} threads, stacks: {stacks}")
buffers = [row for row in report["sites"] if row["bytes_peak"] == 2 << 20 and row["objects"] == 80]
check(len(buffers) == 1, f"no row of two buffers of 1 MiB: {[row['label'] for row in report['sites']]}")
print(f"{report['samples']} samples of one thread; chunks in {buffers[0]['label']}")
