#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# A program that knows nothing of OMPTier is placed by a plan: `omptier sites` lists where it allocates,
# what it calls hot_* is sent to one kind of memory and cold_* to another, and it runs with that plan, on
# OMPTier's OpenMP runtime or its own, on this machine or in the virtual one. Output must be what it is
# without us, and the kernel's count of pages must say that everything touched lies where the plan says.
#
# usage: preload.py --omptier O --program P --folder F [--runtime own|omptier] [--machine M]
#                   [--hot KIND=NODE] [--cold KIND=NODE] [--name-by-size] [--folder-of-runtime L] [-- ARGUMENTS]
import json
import os
import re

import trial
from trial import fail

parser = trial.parser("omptier", "program", "folder")
parser.add_argument("--runtime", default="omptier")
parser.add_argument("--machine", help="preset of the virtual machine; default: here")
parser.add_argument("--hot", default="dram=0", help="kind and its node")
parser.add_argument("--cold", default="dram=0")
parser.add_argument("--nodes", action="store_true", help="tell the program the nodes: it checks by itself")
parser.add_argument("--hot-names", default=r"\bhot_|_hot_", help="what names of hot blocks match")
parser.add_argument("--cold-names", default=r"\bcold_", help="what names of cold blocks match")
parser.add_argument("--ignore", default="$^", help="lines of output that are never the same")
parser.add_argument("--all-cold", action="store_true", help="every site is cold, whatever its name")
parser.add_argument("--least", type=int, default=3, help="entries that must have been placed")
parser.add_argument("--touched", type=int, default=0, help="MiB that must have been touched")
parser.add_argument("--stock", help="folder of the program's own OpenMP runtime")
parser.add_argument("--output", help="file that the program writes; compared too")
parser.add_argument("arguments", nargs="*")
options = parser.parse_args()
os.makedirs(options.folder, exist_ok=True)
os.chdir(options.folder)
environment = dict(os.environ, OMP_NUM_THREADS="2", OMP_WAIT_POLICY="passive", KMP_WARNINGS="1")
if options.stock:
    environment["LD_LIBRARY_PATH"] = options.stock


def run(command, **more):
    if options.output and os.path.exists(options.output):
        os.remove(options.output)
    done = trial.run(*command, env=dict(environment, **more))
    written = open(options.output, "rb").read() if options.output else b""
    same = "".join(line for line in done.stdout.splitlines(True) if not re.search(options.ignore, line))
    return same, done.stderr, written


kind = {"hot": options.hot.split("=")[0], "cold": options.cold.split("=")[0]}
node = {"hot": options.hot.split("=")[1], "cold": options.cold.split("=")[1]}
program = [options.program, *options.arguments]
plain, _, plain_file = run(program)
listed, _, listed_file = run([options.omptier, "sites", "-o", "sites.json", "--runtime", options.runtime, "--",
                              *program])
if (listed, listed_file) != (plain, plain_file):
    fail(f"another output while its sites are listed:\n{listed}\ninstead of\n{plain}")

plan = json.load(open("sites.json"))
chosen = []
for entry in plan["entries"]:
    names = " ".join([entry["label"]] + [frame.get("variable", "") for frame in entry.get("frames", [])])
    for frame in entry.get("frames", [])[:1]:
        names += f" {frame.get('callee')}#{frame.get('ordinal')}"
    for frame in entry.get("frames", []):  # ALLOCATE and a constructor give their result to no variable
        if "variable" in frame:
            continue
        source = os.path.join(os.path.dirname(os.path.abspath(__file__)), frame.get("file", ""))
        if os.path.isfile(source):
            names += " " + open(source).readlines()[frame["line"] - 1]
    manner = None
    if options.all_cold or re.search(options.cold_names, names):
        manner = "cold"
    elif re.search(options.hot_names, names):
        manner = "hot"
    if not manner or (options.all_cold and "static" in entry):
        continue
    entry["kinds"] = [kind[manner]]
    entry["label"] = f"{len(chosen)} {entry['label']}"
    chosen.append(entry)
if len(chosen) < options.least:
    fail(f"{len(chosen)} sites found, at least {options.least} expected:\n{open('sites.json').read()}")
plan["entries"] = chosen
json.dump(plan, open("plan.json", "w"), indent=1)

command = [options.omptier, "run", "--plan", "plan.json", "--runtime", options.runtime, "--", *program]
if options.nodes:
    command += [node["hot"], node["cold"]]
if options.machine:
    command = [options.omptier, "sandbox", "--machine", options.machine, "--", *command]
placed, said, placed_file = run(command, OMPTIER_VERBOSE="1")
if (placed, placed_file) != (plain, plain_file):
    fail(f"another output with the plan:\n{placed}\ninstead of\n{plain}\n{said}")
if "Warning #5" in said:
    fail(f"a warning\n{said}")
title = {"dram": "DRAM", "hbm": "HBM", "nvm": "NVM", "cxl": "CXL"}
touched = 0
for entry in chosen:
    wanted = title[entry["kinds"][0]]
    if "static" in entry:
        if f"Static {entry['static']['symbol']}: " not in said or f"in {wanted}." not in said:
            fail(f"{entry['label']} was not placed\n{said}")
        continue
    line = re.search(r'"%s": (\d+) blocks of malloc, (\d+) bytes: (\d+) untouched(.*)\.' % re.escape(entry["label"]),
                     said)
    if not line:
        fail(f"nothing was placed for {entry['label']}\n{said}")
    on_kinds = dict((k, int(b)) for b, k in re.findall(r"(\d+) in (\w+)", line.group(4)))
    if set(on_kinds) != {wanted} or on_kinds[wanted] + int(line.group(3)) != int(line.group(2)):
        fail(f"{entry['label']}, wanted in {wanted}: {line.group(0)}")
    touched += on_kinds[wanted]
if touched < options.touched << 20:
    fail(f"{touched} bytes of malloc's touched, expected {options.touched} MiB")
print(f"{len(chosen)} entries placed, {touched} bytes of malloc's touched and verified, output unchanged")
