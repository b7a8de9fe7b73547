#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# omptier record sees all memory: a program that sums up one array of each kind equally often, recorded by `omptier
# record` and by the variables of `omptier env`: each array has its row and its share, and what is left is
# small. Stripped, its statics are one row.
#
# usage: record_memory.py --omptier O --program P --rows LABEL=PARTS,… [--stripped] [--env]
import pathlib
import subprocess

from recording import Recorder, check, parser

arguments = parser("omptier", "program", "rows")
arguments.add_argument("--stripped", action="store_true")
arguments.add_argument("--env", action="store_true", help="by omptier env, too")
options = arguments.parse_args()
bench = Recorder(options)
program = options.program
if options.stripped:
    program = str(bench.folder / pathlib.Path(program).name)
    subprocess.run(["strip", "-o", program, options.program], check=True)
rows = {label: int(parts) for label, parts in (row.split("=") for row in options.rows.split(","))}
plain = bench.run(program).stdout
script = f'eval "$({options.omptier} env -o by-env --rate 1000 {program})" && exec {program}'
ways = [("by-record", [options.omptier, "record", "-o", "by-record", "--rate", "1000", "--", program])]
if options.env:
    ways.append(("by-env", ["sh", "-c", script]))
for log, command in ways:
    check(bench.run(*command).stdout == plain, f"{command} prints something else")
    report, text = bench.report(log), bench.text(log)
    check(report["samples"] >= 50, f"{report['samples']} samples\n{text}")
    for label, parts in rows.items():
        share = sum(site["share"] for site in report["sites"] if site["label"].startswith(label))
        check(abs(share - parts / sum(rows.values())) < 0.06, f"{label} has {share:.3f}, not {parts}/{sum(rows.values())}\n{text}")
    check(report["other"]["share"] < 0.03, f"too much is left\n{text}")
print(text)
