#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# What omp_alloc and omp_free of a block cost that came and went before, counted by callgrind: instructions, and
# locks taken. A small block takes none, a large one its place's, once each way.
import argparse
import os
import re
import subprocess
import sys
import tempfile

# Bytes: pairs counted, the most instructions and locks of one (measured: 112 and 0, 1,700 and 2).
LIMITS = {64: (20_000, 116, 0), 1 << 20: (200, 2_000, 2)}

parser = argparse.ArgumentParser()
parser.add_argument("--program", required=True)
options = parser.parse_args()


def counted(size, pairs):
    variables = {name: value for name, value in os.environ.items() if not name.startswith("OMPTIER_")}
    variables |= {"OMPTIER_NODES": "dram:0", "OMPTIER_DECAY": "100000", "OMPTIER_JOB": "off"}
    with tempfile.NamedTemporaryFile() as out:
        said = subprocess.run(["valgrind", "--tool=callgrind", "--toggle-collect=pairs", "--compress-strings=no",
                               f"--callgrind-out-file={out.name}", options.program, str(size), str(pairs)],
                              env=variables, check=True, capture_output=True, text=True)
        calls = re.findall(r"^cfn=\w*mutex_(?:try)?lock\b.*\ncalls=(\d+)", open(out.name).read(), re.M)
    return int(re.search(r"Collected : (\d+)", said.stderr).group(1)), sum(map(int, calls))


failed = False
for size, (pairs, most_instructions, most_locks) in LIMITS.items():
    few, many = counted(size, pairs // 10), counted(size, pairs)
    instructions, locks = [(more - less) / (pairs - pairs // 10) for less, more in zip(few, many)]
    print(f"a pair of {size} bytes: {instructions:.1f} instructions, {locks:.2f} locks")
    failed |= not 20 < instructions <= most_instructions or not most_locks / 2 <= locks <= most_locks
if failed:
    sys.exit(f"FAILED: more than {LIMITS}, or nothing was counted")
