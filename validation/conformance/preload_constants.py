#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# A plan that names what the program may not write: constants, and a table that is read-only once it is
# relocated (which `omptier sites` lists by itself). The program runs as without the plan.
#
# usage: preload_constants.py --omptier O --compiler CC --folder F
import argparse
import json
import os
import shutil
import subprocess
import sys

PROGRAM = r"""
#include <stdio.h>
enum { n = 1 << 18 };
const int constants[n] = {[0 ... n - 1] = 3};
static const char *const relocated[n] = {[0 ... n - 1] = "word"};
int written[n] = {[0 ... n - 1] = 5};
int main(void) {
  long sum = 0;
  for (int i = 0; i < n; ++i) {
    const int* volatile constant = &constants[i];
    const char* const* volatile word = &relocated[i];
    sum += *constant + (*word)[0] + written[i]++;
  }
  printf("%ld\n", sum);
}
"""

parser = argparse.ArgumentParser()
for name in ["omptier", "compiler", "folder"]:
    parser.add_argument("--" + name, required=True)
options = parser.parse_args()
shutil.rmtree(options.folder, ignore_errors=True)
os.makedirs(options.folder)
os.chdir(options.folder)
with open("program.c", "w") as file:
    file.write(PROGRAM)
subprocess.run([options.compiler, "-O1", "-fPIE", "-pie", "-Wl,-z,relro,-z,now", "program.c", "-o", "program"],
               check=True)
statics = ["constants", "relocated", "written"]
entries = [{"kinds": ["dram"], "static": {"module": 0, "symbol": symbol}} for symbol in statics]
with open("person.plan", "w") as file:
    json.dump({"version": 1, "modules": [{"identity": "build-id:00", "name": "program"}], "entries": entries}, file)


def run(command):
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False,
                          env=dict(os.environ, OMPTIER_VERBOSE="1"))
    if done.returncode != 0:
        sys.exit(f"FAILED: {' '.join(command)}: status {done.returncode}\n{done.stderr}")
    return done


plain = run(["./program"]).stdout
run([options.omptier, "sites", "-o", "sites.plan", "--", "./program"])
listed = [entry["static"]["symbol"] for entry in json.load(open("sites.plan"))["entries"] if "static" in entry]
if sorted(listed) != ["relocated", "written"]:
    sys.exit(f"FAILED: the list of sites has the statics {listed}")
for plan, named in [("person.plan", statics), ("sites.plan", listed)]:
    placed = run([options.omptier, "run", "--plan", plan, "--", "./program"])
    if placed.stdout != plain:
        sys.exit(f"FAILED: {placed.stdout} instead of {plain}")
    for symbol in named:
        if f"Static {symbol}: " not in placed.stderr or "its whole pages in DRAM" not in placed.stderr:
            sys.exit(f"FAILED: {plan}: {symbol} was not placed\n{placed.stderr}")
