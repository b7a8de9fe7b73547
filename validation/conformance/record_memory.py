#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# omptier record sees all memory: a program that sums up one array of each kind equally often, recorded by `omptier
# record` and by the variables of `omptier env`: each array has its row and its share, and what is left is
# small. Stripped, its statics are one row.
#
# usage: record_memory.py --omptier O --program P --folder F --rows LABEL=PARTS,… [--stripped] [--env]
import argparse
import json
import os
import shutil
import subprocess
import sys

parser = argparse.ArgumentParser()
for name in ["omptier", "program", "folder", "rows"]:
    parser.add_argument("--" + name, required=True)
parser.add_argument("--stripped", action="store_true")
parser.add_argument("--env", action="store_true", help="by omptier env, too")
options = parser.parse_args()
shutil.rmtree(options.folder, ignore_errors=True)
os.makedirs(options.folder)
os.chdir(options.folder)
program = options.program
if options.stripped:
    program = os.path.join(options.folder, os.path.basename(program))
    subprocess.run(["strip", "-o", program, options.program], check=True)


def run(*command):
    done = subprocess.run(command, capture_output=True, text=True, timeout=100, check=False)
    if done.returncode != 0:
        sys.exit(f"FAILED: status {done.returncode}: {' '.join(command)}\n{done.stdout}{done.stderr}")
    return done.stdout


rows = {label: int(parts) for label, parts in (row.split("=") for row in options.rows.split(","))}
plain = run(program)
script = f'eval "$({options.omptier} env -o by-env --rate 1000 {program})" && exec {program}'
ways = [("by-record", [options.omptier, "record", "-o", "by-record", "--rate", "1000", "--", program])]
if options.env:
    ways.append(("by-env", ["sh", "-c", script]))
for log, command in ways:
    if run(*command) != plain:
        sys.exit(f"FAILED: {command} prints something else")
    report = json.loads(run(options.omptier, "report", "--json", log))
    text = run(options.omptier, "report", log)
    total = report["other"]["share"] + report["small_objects"]["share"] + sum(s["share"] for s in report["sites"])
    if abs(total - 1) > 1e-6 or report["samples"] < 50:
        sys.exit(f"FAILED: shares add up to {total}, {report['samples']} samples\n{text}")
    for label, parts in rows.items():
        share = sum(site["share"] for site in report["sites"] if site["label"].startswith(label))
        if abs(share - parts / sum(rows.values())) > 0.06:
            sys.exit(f"FAILED: {label} has {share:.3f}, not {parts}/{sum(rows.values())}\n{text}")
    if report["other"]["share"] > 0.03:
        sys.exit(f"FAILED: too much is left\n{text}")
print(text)
