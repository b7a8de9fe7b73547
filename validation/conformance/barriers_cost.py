#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# What a barrier of two threads costs in instructions, counted by callgrind: on LLVM's own libomp, on ours, with a plan
# that names regions only (both within 1 %), and with one that names another barrier, so that the stack is walked. How
# long threads wait for each other varies from run to run, so what they do meanwhile counts for the whole only.
import json
import os
import re

from trial import check, clean_environment, enter_fresh, parser, run

PROGRAM = r"""
#include <omp.h>
#include <stdlib.h>
int main(int argc, char** argv) {
  void* volatile block = omp_alloc(1 << 20, omp_default_mem_alloc);
  const long barriers = argc > 1 ? atol(argv[1]) : 0;
#pragma omp parallel num_threads(2)
  for (long i = 0; i < barriers; ++i) {
#pragma omp barrier
  }
  omp_free(block, omp_null_allocator);
  return 0;
}
"""
FEW, MANY = 1000, 5000
WALK = 700  # instructions, at most, of the primary thread's look at its stack
options = parser("runtime", "builder", "compiler", "folder").parse_args()
enter_fresh(options.folder)
with open("loop.c", "w") as file:
    file.write(PROGRAM)
run(options.compiler, "-O2", "-fopenmp", "loop.c", "-o", "loop", "-L" + os.path.dirname(options.runtime))
stock = run(*options.builder.split(), "stock").stdout.split()[-1] + "/lib"


def plan(name, callee):
    """A plan for a region that never begins, called so."""
    frame = {"module": 0, "offset": 1}
    entry = {"kinds": ["dram"], "frames": [frame], "region": [dict(frame, offset=2, callee=callee)]}
    json.dump({"version": 1, "modules": [{"identity": "build-id:00"}], "entries": [entry]}, open(name, "w"))
    return {"OMPTIER_PLAN": os.path.abspath(name)}


def instructions(barriers, folder, variables):
    """Of all, and of those that wait for no other thread: a barrier's own routines, and what is ours."""
    environment = clean_environment(LD_LIBRARY_PATH=folder, KMP_BLOCKTIME="0", OMPTIER_JOB="off",
                                    OMPTIER_NODES="dram:0", OMPTIER_QUIET="1", **variables)
    run("valgrind", "--tool=callgrind", "--callgrind-out-file=counts", "./loop", barriers, env=environment)
    everything = own = 0
    for line in run("callgrind_annotate", "--threshold=100", "--auto=no", "counts").stdout.splitlines():
        if found := re.match(r" *([0-9,]+) \([^)]*\)  (.*)", line):
            count, name = int(found[1].replace(",", "")), found[2]
            everything = max(everything, count)  # the first line is the sum
            if re.search(r":__kmpc?_barrier \[|/lib(omptier|gcc_s|unwind)[^/]*\]$", name):
                own += count
    return everything, own


def of_a_barrier(folder, **variables):
    many, few = (instructions(barriers, folder, variables) for barriers in (MANY, FEW))
    return [(more - less) / (MANY - FEW) for more, less in zip(many, few)]


ours = os.path.dirname(options.runtime)
whole, before = of_a_barrier(stock)
check(before > 100, f"LLVM's own barrier has {before} instructions")
cases = {"ours": of_a_barrier(ours), "a plan for regions": of_a_barrier(ours, **plan("regions.plan", "__kmpc_fork_call")),
         "a plan for another barrier": of_a_barrier(ours, **plan("barriers.plan", "__kmpc_barrier"))}
print(f"LLVM's own: {whole:.1f} instructions a barrier of two threads, {before:.1f} of them without waiting")
for name, (_, count) in cases.items():
    print(f"{name}: {count - before:.1f} more ({100 * (count - before) / whole:+.2f} % of all)")
    check(count - before < (WALK if "barrier" in name else whole / 100), f"{name}: {count - before:.1f} more")
check(cases["a plan for another barrier"][1] - before > 50, "no stack was walked")
