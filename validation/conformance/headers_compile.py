#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""headers_compile.py INCLUDE OMP_INCLUDE: the public headers compile cleanly with every compiler and
language standard they promise, alone and twice, over OMPTier's omp.h and the compiler's own; and each
case of headers_wrong.cpp but the first is refused.
"""

import concurrent.futures
import pathlib
import re
import subprocess
import sys

WRONG = pathlib.Path(__file__).resolve().parent / "headers_wrong.cpp"
include, omp_include = sys.argv[1:3]
WARNINGS = ["-Wall", "-Wextra", "-Wshadow", "-Wconversion", "-pedantic", "-Werror"]


def compiles(compiler, arguments, text=None):
    command = [*compiler, "-fopenmp", "-fsyntax-only", *WARNINGS, "-I", include, *arguments]
    return subprocess.run(command, input=text, capture_output=True, text=True, timeout=60)


def header_is_clean(compiler, more, language, standard, header):
    text = f"#include <{header}>\n#include <{header}>\nint main(void) {{ return 0; }}\n"
    if language == "c++": # constants, in which the compiler bears nothing undefined
        text += 'static_assert(static_cast<unsigned>(ompx_atk_importance) == 5005u, "");\n'
    result = compiles([compiler], [*more, f"-std={standard}", "-x", language, "-"], text)
    if result.returncode != 0:
        return f"{compiler} -std={standard} {header}:\n{result.stderr}"
    return None


def case_is_refused(compiler, more, case):
    result = compiles([compiler], [*more, "-std=c++17", "-Wno-unused-variable", f"-DCASE={case}",
                                   str(WRONG)])
    if "fatal error" in result.stderr or (result.returncode == 0) != (case == 0):
        verdict = "is refused" if case == 0 else "compiles, or fails for another reason"
        return f"{compiler}: case {case} {verdict}\n{result.stderr}"
    return None


def main():
    own, its = ["-isystem", omp_include], []
    cases = [int(n) for n in re.findall(r"CASE == (\d+)", WRONG.read_text())]
    if cases != list(range(len(cases))) or len(cases) < 2:
        sys.exit(f"cases of {WRONG.name}: {cases}")
    jobs = []
    for c, cxx, more in (("clang-19", "clang++-19", own), ("clang-19", "clang++-19", its),
                         ("gcc-12", "g++-12", its)):
        jobs.append((header_is_clean, c, more, "c", "c11", "ompx_memory.h"))
        for standard, header in (("c++11", "ompx_memory.h"), ("c++20", "ompx_memory.h"),
                                 ("c++17", "ompx_memory.hpp"), ("c++2b", "ompx_memory.hpp")):
            jobs.append((header_is_clean, cxx, more, "c++", standard, header))
    for cxx, more in (("clang++-19", own), ("g++-12", its)):
        jobs += [(case_is_refused, cxx, more, case) for case in cases]
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        problems = [text for text in pool.map(lambda job: job[0](*job[1:]), jobs) if text]
    if problems:
        sys.exit("\n".join(problems))
    print(f"{len(jobs)} compilations as expected, {len(cases) - 1} wrong uses refused")


main()
