#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# What cannot be preloaded into is said, by run and sites alike: run goes on without, sites fails.
#
# usage: preload_refusals.py --omptier O --compiler CC --folder F
import os
import shutil
import sys

from trial import enter_fresh, parser, run

options = parser("omptier", "compiler", "folder").parse_args()
enter_fresh(options.folder)
with open("program.c", "w") as file:
    file.write("int main(void) { return 5; }\n")
run(options.compiler, "-static", "program.c", "-o", "static")
run(options.compiler, "program.c", "-o", "dynamic")
with open("empty.plan", "w") as file:
    file.write('{"version": 1, "made_by": "a person", "program": "p", "modules": [], "entries": []}')
prefix = os.path.dirname(os.path.dirname(options.omptier))
for part in ["bin", "lib"]:
    os.makedirs(f"two words/{part}")
for source in ["bin/omptier", "lib/libomptier.so", "lib/libomptier_preload.so", "lib/libomp.so"]:
    shutil.copy2(os.path.join(prefix, source), f"two words/{source}")
blank = os.path.abspath("two words/bin/omptier")

CASES = [
    ([options.omptier, "sites", "--", "./dynamic"], 2, "--output is required"),
    ([options.omptier, "sites", "-o", "list", "--runtime", "libgomp", "--", "./dynamic"], 2, "not libgomp"),
    ([options.omptier, "run", "--runtime", "libgomp", "--", "./dynamic"], 2, "not libgomp"),
    ([options.omptier, "sites", "-o", "list", "--", "./static"], 125, "./static is statically linked"),
    ([options.omptier, "run", "--plan", "empty.plan", "--", "./static"], 5, "./static is statically linked"),
    ([blank, "sites", "-o", "list", "--", "./dynamic"], 125, "has a blank or colon in its name"),
    ([blank, "run", "--plan", "empty.plan", "--", "./dynamic"], 5, "has a blank or colon in its name"),
    ([options.omptier, "run", "--plan", "empty.plan", "--", "./dynamic"], 5, ""),
]
failed = False
for command, status, text in CASES:
    done = run(*command, status=None)
    if done.returncode != status or text not in done.stderr or (text and len(done.stderr.splitlines()) != 1):
        print(f"FAILED: {' '.join(command)}: status {done.returncode}, not {status}, or not \"{text}\": {done.stderr}")
        failed = True
sys.exit(failed)
