#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The ompx_ names have one number each, in omp.h, ompx_memory.h, omp_lib.F90 and omp_lib.h alike.

    check_names.py --include FOLDER-WITH-OMP.H --memory FOLDER-WITH-OMPX_MEMORY.H

The numbers are derived here from the rule of docs/design.md: spaces and allocators from 500, trait keys
from 5000, values of the k-th key from 5100 + 20 k. Compiled with clang++ and g++ as constants of C++ over
our omp.h, with cc over our omp.h and over each compiler's own, with gfortran as a module.
"""

import argparse
import re
import subprocess
import sys
import tempfile
from pathlib import Path

KEYS = {
    "access_pattern": "sequential strided tiled random pointer_chase", "access_stride": "",
    "access_mode": "read_only read_mostly read_write write_mostly write_only", "access_frequency": "",
    "access_origin": "single_thread multiple_threads", "importance": "",
    "sensitivity": "latency bandwidth both none", "placement": "required preferred",
    "lifetime": "program phase temporary", "group": "", "label": "", "migratable": "",
}
KINDS = ["auto", "dram", "hbm", "nvm", "cxl"]

keys = {f"ompx_atk_{key}": 5000 + k for k, key in enumerate(KEYS)}
values = {f"ompx_atv_{key}_{value}": 5100 + 20 * k + v
          for k, (key, text) in enumerate(KEYS.items()) for v, value in enumerate(text.split())}
spaces = {f"ompx_{kind}_mem_space": 500 + k for k, kind in enumerate(KINDS)}
allocators = {f"ompx_{kind}_mem_alloc": 500 + k for k, kind in enumerate(KINDS)}
every = {**keys, **values, **spaces, **allocators}


def compile_or_fail(what, command, text, suffix):
    with tempfile.TemporaryDirectory() as name:
        source = Path(name) / ("names" + suffix)
        source.write_text(text)
        done = subprocess.run([*command, source, "-o", Path(name) / "names"], cwd=name, text=True,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        ran = done.returncode == 0 and subprocess.run([Path(name) / "names"]).returncode == 0
    if not ran:
        print(f"check_names: {what}:\n{done.stdout[:2000]}", file=sys.stderr)
        sys.exit(1)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--include", type=Path, required=True)
    parser.add_argument("--memory", type=Path, required=True)
    chosen = parser.parse_args()
    constants = "".join(f'static_assert({name} == {number}, "{name}");\n' for name, number in every.items())
    constants += "constexpr omp_alloctrait_t all[] = {" + ", ".join(f"{{{key}, 0}}" for key in keys) + "};\n"
    tests = "".join(f"  if ((long){name} != {number}) return 1;\n" for name, number in every.items())
    body = "int main(void) {\n" + tests + "  return 0;\n}\n"
    ours, memory = f"-I{chosen.include}", f"-I{chosen.memory}"

    for compiler in ("clang++-19", "g++"):
        compile_or_fail(f"omp.h as constants with {compiler}", [compiler, ours],
                        "#include <omp.h>\n" + constants + "int main() {}\n", ".cpp")
    for compiler, flags in (("clang-19", [ours]), ("gcc", [ours]), ("clang-19", ["-fopenmp"]), ("gcc", ["-fopenmp"]),
                            ("clang++-19", [ours]), ("g++", ["-fopenmp"])):
        suffix = ".cpp" if "++" in compiler else ".c"
        compile_or_fail(f"ompx_memory.h with {compiler} {flags[0]}",
                        [compiler, "-Wall", "-Wextra", "-Werror", *flags, memory], "#include <ompx_memory.h>\n" + body, suffix)

    module = (chosen.include / "omp_lib.F90").read_text()
    fortran = module + "program names\n  use omp_lib\n" + "".join(
        f"  if ({name} /= {number}) stop 1\n" for name, number in every.items()) + "end program\n"
    compile_or_fail("omp_lib.F90 with gfortran", ["gfortran", "-cpp", "-fno-range-check"], fortran, ".F90")

    # omp_lib.h uses int_ptr_kind(), which gfortran does not have: read as text, in its column limits.
    lines = (chosen.include / "omp_lib.h").read_text().splitlines()
    for number, line in enumerate(lines, 1):
        if "ompx_" in line and (len(line) > 73 or (len(line) == 73 and line[72] != "&")):
            sys.exit(f"check_names: omp_lib.h:{number}: reaches beyond the columns of fixed form")
    found = {name: int(number) for name, number in re.findall(r"(ompx_\w+)=(\d+)", "\n".join(lines))}
    if found != every:
        sys.exit(f"check_names: omp_lib.h differs: {sorted(set(found.items()) ^ set(every.items()))}")


main()
