#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# What libomptier_preload.so costs a program that it has nothing to do for, counted by callgrind: the
# instructions of a malloc-free pair of a small block, and of the start of a process. And that it exports
# exactly what its version script lists.
import argparse
import os
import re
import subprocess
import sys

PROGRAM = r"""
#include <stdlib.h>
int main(int argc, char** argv) {
  void* volatile block;
  for (long i = argc > 1 ? atol(argv[1]) : 0; i > 0; --i) {
    block = malloc(64);
    free(block);
  }
  return 0;
}
"""
PAIR_LIMIT = 8  # instructions: three for malloc, four for free, one to spare
START_LIMIT = 250_000  # instructions, about a twentieth of a millisecond

parser = argparse.ArgumentParser()
for name in ["preload", "compiler", "map", "folder"]:
    parser.add_argument("--" + name, required=True)
options = parser.parse_args()


def run(command, **variables):
    environment = {k: v for k, v in os.environ.items() if not k.startswith("OMPTIER_") and k != "LD_PRELOAD"}
    return subprocess.run(command, env=dict(environment, **variables), check=True, capture_output=True, text=True)


def instructions(pairs, **variables):
    said = run(["valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null", program, str(pairs)], **variables)
    return int(re.search(r"Collected : (\d+)", said.stderr).group(1))


wanted = set(re.findall(r"(\w+);", open(options.map).read().split("local:")[0]))
exported = {line.split()[-1] for line in run(["nm", "-D", "--defined-only", options.preload]).stdout.splitlines()}
if exported != wanted:
    sys.exit(f"FAILED: exported and not listed {exported - wanted}, listed and not exported {wanted - exported}")

program = os.path.join(options.folder, "pairs")
with open(program + ".c", "w") as file:
    file.write(PROGRAM)
run([options.compiler, "-O2", program + ".c", "-o", program])
count = 20_000
cost = {}
for name, variables in {"without": {}, "with": {"LD_PRELOAD": options.preload}}.items():
    start = instructions(0, **variables)
    cost[name] = start, (instructions(count, **variables) - start) / count
pair = cost["with"][1] - cost["without"][1]
start = cost["with"][0] - cost["without"][0]
print(f"a pair {cost['without'][1]:.1f} + {pair:.1f} instructions ({100 * pair / cost['without'][1]:.1f} %), "
      f"start + {start} instructions; {len(exported)} functions exported")
if pair > PAIR_LIMIT or start > START_LIMIT:
    sys.exit(f"FAILED: more than {PAIR_LIMIT} a pair or {START_LIMIT} at start")
