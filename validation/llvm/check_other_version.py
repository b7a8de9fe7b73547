#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runs the build's tests of the runtime on the libomp of another LLVM than the build's own.

    check_other_version.py --build FOLDER --builder "COMMAND..." --llvm 21 --tests REGEX [--own-only REGEX]

COMMAND is build-runtime with its arguments; the runtime goes to FOLDER/llvm-21, laid out as the build's own,
with links to the build's other libraries beside it. Each test of the build whose name matches is then run
twice: as it is, with the other runtime in front of the program's own (a program compiled with the build's
omp.h), and with every path of the build's runtime exchanged for the other's in its command, its program
compiled anew (with the other omp.h). --own-only: tests that are run the first way only. Scripts that name
the runtime in their arguments are run the second way only.

Exit status: 0 all passed; 1 one did not, or there is none: names and outputs on stderr.
"""

import argparse
import json
import os
import re
import shlex
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path


def tests_of(build, pattern):
    text = subprocess.run(["ctest", "--test-dir", build, "--show-only=json-v1", "-R", pattern],
                          stdout=subprocess.PIPE, text=True, check=True).stdout
    for test in json.loads(text)["tests"]:
        yield test["name"], test["command"], {entry["name"]: entry["value"] for entry in test["properties"]}


class Other:
    """The folder with the other runtime."""

    def __init__(self, build, llvm, builder):
        self.build, self.folder = build, build / f"llvm-{llvm}"
        subprocess.run([*builder, "--llvm", str(llvm), "patched", "--into", self.folder], check=True,
                       stdout=subprocess.DEVNULL)
        (self.folder / "tests").mkdir(exist_ok=True)
        for library in [*(build / "lib").glob("libomptier*.so"), *(build / "tests").glob("*.so")]:
            link = self.folder / library.relative_to(build)
            if not link.is_symlink():
                link.symlink_to(library)

    def exchange(self, text):
        """text with the other runtime's paths in the place of the build's."""
        return re.sub(re.escape(str(self.build)) + r"/(lib|include-omp|tests)\b", rf"{self.folder}/\1", text)

    def compiled(self, program):
        """The program, compiled as in the build but with the other runtime's header and library."""
        command = subprocess.run(["ninja", "-C", self.build, "-t", "commands", "-s", program.relative_to(self.build)],
                                 stdout=subprocess.PIPE, text=True, check=True).stdout
        # libomptier.so is linked by its name in the folder, which is a link to the build's.
        done = subprocess.run(self.exchange(command), shell=True, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, text=True)
        return done.stdout if done.returncode != 0 else None


def run(command, properties, environment):
    variables = dict(os.environ, **environment)
    variables.update(pair.split("=", 1) for pair in properties.get("ENVIRONMENT", []))
    try:
        done = subprocess.run(command, env=variables, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                              text=True, errors="replace", timeout=4 * properties.get("TIMEOUT", 120))
    except subprocess.TimeoutExpired:
        return "does not end"
    return None if done.returncode == 0 else f"status {done.returncode}\n{done.stdout[-3000:]}"


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--build", type=Path, required=True)
    parser.add_argument("--builder", required=True)
    parser.add_argument("--llvm", type=int, required=True)
    parser.add_argument("--tests", required=True)
    parser.add_argument("--own-only", default="^$")
    chosen = parser.parse_args()
    build = chosen.build.resolve()
    other = Other(build, chosen.llvm, shlex.split(chosen.builder))
    tests = list(tests_of(build, chosen.tests))
    wrong, count = [], 0

    programs = {command[0] for name, command, _ in tests if command[0].startswith(f"{build}/tests/")
                and not re.search(chosen.own_only, name)}
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        for program, problem in zip(programs, pool.map(lambda name: other.compiled(Path(name)), programs)):
            if problem is not None:
                wrong.append(f"{program} cannot be compiled:\n{problem}")

    for name, command, properties in tests:
        ways = {}
        if command[0].startswith(f"{build}/tests/"):
            ways["with the build's omp.h"] = command
        if not re.search(chosen.own_only, name):
            ways["with the other omp.h"] = [other.exchange(word) for word in command]
        for way, words in ways.items():
            problem = run(words, properties, {"LD_LIBRARY_PATH": str(other.folder / "lib")})
            count += 1
            if problem is not None:
                wrong.append(f"{name} {way}: {problem}")
    for line in wrong:
        print(f"check_other_version: {line}", file=sys.stderr)
    print(f"LLVM {chosen.llvm}: {count} runs of {len(tests)} tests, {len(wrong)} failed")
    return 1 if wrong or not tests else 0


sys.exit(main())
