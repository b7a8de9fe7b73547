#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# A plan that names what the program may not write: constants, and a table that is read-only once it is
# relocated (which `omptier sites` lists by itself). The program runs as without the plan.
#
# usage: preload_constants.py --omptier O --compiler CC --folder F
import json
import os

from trial import check, enter_fresh, parser, run

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

options = parser("omptier", "compiler", "folder").parse_args()
enter_fresh(options.folder)
with open("program.c", "w") as file:
    file.write(PROGRAM)
run(options.compiler, "-O1", "-fPIE", "-pie", "-Wl,-z,relro,-z,now", "program.c", "-o", "program")
statics = ["constants", "relocated", "written"]
entries = [{"kinds": ["dram"], "static": {"module": 0, "symbol": symbol}} for symbol in statics]
with open("person.plan", "w") as file:
    json.dump({"version": 1, "modules": [{"identity": "build-id:00", "name": "program"}], "entries": entries}, file)

verbose = dict(os.environ, OMPTIER_VERBOSE="1")
plain = run("./program").stdout
run(options.omptier, "sites", "-o", "sites.plan", "--", "./program")
listed = [entry["static"]["symbol"] for entry in json.load(open("sites.plan"))["entries"] if "static" in entry]
check(sorted(listed) == ["relocated", "written"], f"the list of sites has the statics {listed}")
for plan, named in [("person.plan", statics), ("sites.plan", listed)]:
    placed = run(options.omptier, "run", "--plan", plan, "--", "./program", env=verbose)
    check(placed.stdout == plain, f"{placed.stdout} instead of {plain}")
    for symbol in named:
        check(f"Static {symbol}: " in placed.stderr and "its whole pages in DRAM" in placed.stderr,
              f"{plan}: {symbol} was not placed\n{placed.stderr}")
