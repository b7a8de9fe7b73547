#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# A program whose data are small blocks is recorded and advised; its plan places them: rows and the nodes of a hash table in
# HBM, names and lists that grow in NVM. The program itself checks where they lie; its output must be what it is without us.
# Where the machine has one memory, the kinds' fallbacks put them there, still by the plan.
import json
import os
import re

import trial
from trial import check

parser = trial.parser("omptier", "program", "folder")
parser.add_argument("--machine", help="preset of the virtual machine; default: here")
options = parser.parse_args()
trial.enter_fresh(options.folder)
environment = trial.clean_environment()
omptier = options.omptier


def run(*command, **variables):
    return trial.run(*command, env=dict(environment, **variables))


plain = run(options.program).stdout
recorded = run(omptier, "record", "--rate", "1000", "-o", "small.profile", "--", options.program)
check(recorded.stdout == plain, f"another output while recorded:\n{recorded.stdout}instead of\n{plain}")
WANTED = {"rows (": "hbm", "node (": "hbm", "names (": "nvm", "list (": "nvm"}
keep = [word for name, kind in WANTED.items() for word in ("--keep", f"{name}={kind}")]
said = run(omptier, "advise", "--machine", "dram-hbm-nvm", *keep, "-o", "small.plan", "small.profile")
plan = json.load(open("small.plan"))
small = [entry for entry in plan["entries"] if entry.get("least_block") == 1]
for name, kind in WANTED.items():
    kinds = {entry["kinds"][0] for entry in small if entry["label"].startswith(name)}
    check(kinds == {kind}, f"{name} is in {kinds} by the plan, not {kind}:\n{said.stdout}")
for entry in plan["entries"]:
    entry["kinds"] = list(dict.fromkeys([*entry["kinds"], "dram"]))
json.dump(plan, open("small.plan", "w"))

nodes = ["1", "2"] if options.machine else ["-1", "-1"]


def place(file, *arguments):
    command = [omptier, "run", "--plan", file, "--", options.program, "placed", *nodes, *arguments]
    if options.machine:
        command = [omptier, "sandbox", "--machine", options.machine, "--", *command]
    placed = run(*command)
    check(placed.stdout == plain, f"another output with {file}:\n{placed.stdout}instead of\n{plain}\n{placed.stderr}")
    unwanted = [line for line in placed.stderr.splitlines() if "Warning #5" in line and "#5010" not in line]
    check(not unwanted, "\n".join(unwanted))


place("small.plan")
for entry in plan["entries"]:
    if entry["label"].startswith("rows (") and entry in small:
        entry.update(kinds=["hbm", "dram"], share=0.3)
json.dump(plan, open("shared.plan", "w"))
place("shared.plan", "30")

# While a program is recorded, its small blocks stay where it puts them, and that is said.
again = run(omptier, "record", "-o", "again.profile", "--", options.program, OMPTIER_PLAN=os.path.abspath("small.plan"))
check(again.stdout == plain and re.search(r"#5068.*recorded", again.stderr), again.stderr)
print(f"{len(small)} entries of small blocks, placed as planned; output unchanged")
