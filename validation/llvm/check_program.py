#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runs one program, compiled as anyone would compile it, on its compiler's own runtime and on ours.

    check_program.py --source FILE --compiler clang-19 --runtime FOLDER --counting LIBRARY [--flag F]...
                     [--codeptr] [--environment A=B]... [--takes]

The program is compiled once, against the compiler's own omp.h and library. It must print the same

  - on the runtime it was compiled for,
  - on the patched runtime alone (FOLDER holds it under its names),
  - on the patched runtime with the counting library beside it.

In the last run the library's calls must be those of the HOOK lines in the source, in their order, each
once (HOOK-CLANG, HOOK-GCC: under that compiler). --codeptr compares instead the code addresses the
program's OMPT tool and the library noted. --takes lets the library take the ompx_ allocators and, since
no other runtime knows them, leaves out the first two runs and compiles against FOLDER/../include-omp.
"""

import argparse
import difflib
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path


def fail(text):
    print(f"check_program: {text}", file=sys.stderr)
    sys.exit(1)


def run(program, folder, environment, log=None):
    variables = dict(os.environ, OMP_NUM_THREADS="2", OMP_DYNAMIC="false")
    for name in ("OMPTIER_PLAN", "OMPTIER_STRATEGY", "OMP_TOOL_LIBRARIES", "OMPTIER_VERBOSE"):
        variables.pop(name, None)
    variables.update(environment)
    if folder is not None:
        variables["LD_LIBRARY_PATH"] = str(folder)
    if log is not None:
        variables["COUNTING_LOG"] = str(log)
    done = subprocess.run([program], env=variables, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                          timeout=60)
    if done.returncode != 0:
        fail(f"{program.name} on {folder or 'its own runtime'} ended with status {done.returncode}:\n"
             + done.stdout + done.stderr)
    return done.stdout


def same(what, expected, found):
    if expected != found:
        lines = difflib.unified_diff(expected.splitlines(), found.splitlines(), "expected", what, lineterm="")
        fail(f"{what} differs:\n" + "\n".join(lines))


def expected_hooks(source, is_clang):
    wanted = "CLANG" if is_clang else "GCC"
    lines = []
    for line in source.read_text().splitlines():
        match = re.search(r"HOOK(?:-(CLANG|GCC))? (.*?)(?: \*/)?$", line)
        if match and match[1] in (None, wanted):
            lines.append(match[2])
    return "".join(line + "\n" for line in lines)


def check_codeptrs(log):
    pairs = re.findall(r"^codeptr (\w+) (\S+)$", log, re.M)
    of_tool = [address for who, address in pairs if who == "ompt"]
    of_hook = [address for who, address in pairs if who == "region"]
    if of_tool != of_hook or len(of_hook) != 6 or of_hook[:3] != of_hook[3:] or len(set(of_hook)) != 3:
        fail(f"code addresses differ: OMPT {of_tool}, hooks {of_hook}")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--source", type=Path, required=True)
    parser.add_argument("--compiler", required=True)
    parser.add_argument("--runtime", type=Path, required=True)
    parser.add_argument("--counting", type=Path, required=True)
    parser.add_argument("--flag", action="append", default=[])
    parser.add_argument("--environment", action="append", default=[])
    parser.add_argument("--codeptr", action="store_true")
    parser.add_argument("--takes", action="store_true")
    chosen = parser.parse_args()
    environment = dict(pair.split("=", 1) for pair in chosen.environment)
    is_clang = "clang" in chosen.compiler

    with tempfile.TemporaryDirectory() as name:
        work = Path(name)
        program = work / chosen.source.stem
        command = [chosen.compiler, "-O1", "-g", "-fopenmp", *chosen.flag, chosen.source, "-o", program]
        if chosen.takes:
            command[1:1] = ["-I", chosen.runtime.parent / "include-omp"]
        built = subprocess.run(command, cwd=work, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        if built.returncode != 0:
            fail(f"compiling {chosen.source} failed:\n{built.stdout}")

        alone, beside = work / "alone", work / "beside"
        for folder in (alone, beside):
            folder.mkdir()
            shutil.copy(chosen.runtime / "libomp.so", folder)
            for link in ("libomp.so.5", "libiomp5.so", "libgomp.so.1"):
                (folder / link).symlink_to("libomp.so")
        shutil.copy(chosen.counting, beside / "libomptier.so")
        linked = subprocess.run(["ldd", program], env=dict(os.environ, LD_LIBRARY_PATH=str(beside)),
                                stdout=subprocess.PIPE, text=True).stdout
        if str(beside) not in linked:
            fail(f"{program.name} would not run on our runtime:\n{linked}")

        log = work / "log"
        if chosen.takes:
            environment["COUNTING_TAKES"] = "1"
            print(run(program, beside, environment, log), end="")
        elif chosen.codeptr:
            environment["COUNTING_CODEPTR"] = "1"
            run(program, beside, environment, log)
            check_codeptrs(log.read_text())
            return
        else:
            expected = run(program, None, environment)
            same("output on the patched runtime", expected, run(program, alone, environment))
            same("output with the library", expected, run(program, beside, environment, log))
        same("calls of the library", expected_hooks(chosen.source, is_clang), log.read_text())


main()
