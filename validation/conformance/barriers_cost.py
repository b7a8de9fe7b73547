#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# What a barrier of two threads costs in instructions, counted by callgrind: on LLVM's own libomp, on ours, with a plan
# that names regions only (both within 1 %), and with one that names another barrier, so that the stack is walked.
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
    environment = clean_environment(LD_LIBRARY_PATH=folder, KMP_BLOCKTIME="0", OMPTIER_JOB="off",
                                    OMPTIER_NODES="dram:0", OMPTIER_QUIET="1", **variables)
    said = run("valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null", "./loop", barriers, env=environment)
    return int(re.search(r"Collected : (\d+)", said.stderr).group(1))


def of_a_barrier(folder, **variables):
    return (instructions(MANY, folder, variables) - instructions(FEW, folder, variables)) / (MANY - FEW)


ours = os.path.dirname(options.runtime)
before = of_a_barrier(stock)
cases = {"ours": of_a_barrier(ours), "a plan for regions": of_a_barrier(ours, **plan("regions.plan", "__kmpc_fork_call")),
         "a plan for another barrier": of_a_barrier(ours, **plan("barriers.plan", "__kmpc_barrier"))}
print(f"LLVM's own: {before:.1f} instructions a barrier of two threads")
for name, count in cases.items():
    print(f"{name}: {count:.1f} ({100 * (count / before - 1):+.2f} %)")
    check(count - before < (WALK if "barrier" in name else before / 100), f"{name}: {count - before:.1f} more")
