#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""abi.py --build BUILD [--update]: what programs rely on, as validation/abi/README.md says.

Symbols and numbers are those of validation/abi/current, none of validation/abi/1.0 is gone or changed,
and the program of the first release runs on today's libraries.
"""

import argparse
import os
import pathlib
import re
import sys
import tempfile

import trial

SOURCE = pathlib.Path(__file__).resolve().parents[2]
ABI = SOURCE / "validation" / "abi"
LIBRARIES = ["libomptier", "libomptier_ompt", "libomptier_preload"]
# Version nodes that our patch adds to libomp for programs compiled by gcc.
ADDED_NODES = {"OMP_5.0.1", "OMP_5.0.2", "OMP_5.1", "GOMP_5.1"}
COMPILER = "clang-19"


def run(command, **more):
    return trial.run(*command, **more).stdout


def symbols(library):
    """Exported names with their version, one a line."""
    found = []
    for line in run(["nm", "-D", "--defined-only", library]).splitlines():
        kind, name = line.split()[-2:]
        if kind != "A": # version nodes themselves
            found.append(name.replace("@@", "@"))
    return sorted(found)


def added_to_libomp(library):
    return [name for name in symbols(library)
            if name.partition("@")[2] in ADDED_NODES or "omptier" in name or name.startswith("ompx_")]


def numbers(header_folder, names_from):
    """name number for every constant that a header has, and its structures' layout."""
    text = (names_from / "ompx_memory.h").read_text()
    names = sorted(set(re.findall(r"\b(ompx_(?:\w+_mem_(?:space|alloc)|at[kv]_\w+|kind_\w+|order_\w+|"
                                  r"error_\w+|success|incomplete))\b(?! *\*)", text)))
    names = [name for name in names if not name.endswith(("_", "_t"))]
    structures = []
    for body, name in re.findall(r"typedef struct \w+ \{(.*?)\} (\w+);", text, re.S):
        body = re.sub(r"/\*.*?\*/", "", body, flags=re.S)
        members = re.findall(r"(\w+)(?:\[\w+\])?;", body)
        structures += [(f"sizeof {name}", f"sizeof({name})")]
        structures += [(f"{name}.{member}", f"offsetof({name}, {member})") for member in members]
    lines = [f'  printf("%s %lld\\n", "{name}", (long long){name});' for name in names]
    lines += [f'  printf("%s %lld\\n", "{what}", (long long){value});' for what, value in structures]
    with tempfile.TemporaryDirectory() as folder:
        program = pathlib.Path(folder) / "numbers"
        source = program.with_suffix(".c")
        source.write_text("#include <ompx_memory.h>\n#include <stdio.h>\nint main(void) {\n"
                          + "\n".join(lines) + "\n}\n")
        run([COMPILER, "-std=c11", "-Werror", "-I", header_folder, source, "-o", program])
        return run([program]).splitlines()


def compare(what, now, kept):
    if now != kept:
        gone, new = sorted(set(kept) - set(now)), sorted(set(now) - set(kept))
        sys.exit(f"{what} is not what validation/abi says: gone or changed {gone}, new {new}")


def lacks(what, now, released):
    gone = sorted(set(released) - set(now))
    if gone:
        sys.exit(f"{what}: what the first release had is gone or changed: {gone}")


def old_program_runs(build):
    """The old program, linked against a library that has nothing but the old symbols."""
    old = ABI / "1.0"
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        by_node = {}
        for symbol in (old / "libomptier.symbols").read_text().split():
            function, _, node = symbol.partition("@")
            by_node.setdefault(node, []).append(function)
        (folder / "stub.c").write_text("".join(f"void {f}(void) {{}}\n"
                                               for functions in by_node.values() for f in functions))
        (folder / "stub.map").write_text("".join(
            f"{node} {{ global: {'; '.join(functions)}; local: *; }};\n"
            for node, functions in by_node.items()))
        run([COMPILER, "-shared", "-fPIC", folder / "stub.c", "-Wl,-soname,libomptier.so",
             f"-Wl,--version-script={folder / 'stub.map'}", "-o", folder / "libomptier.so"])
        run([COMPILER, "-std=c11", "-O1", "-fopenmp", "-I", old, old / "program.c", "-L", folder,
             "-lomptier", "-o", folder / "program"])
        environment = {**os.environ, "LD_LIBRARY_PATH": str(build / "lib"), "LD_BIND_NOW": "1"}
        print(run([folder / "program"], env=environment).strip())


def later_program_runs(build):
    """A program of a release to come, with longer structures, and one that asks by errno."""
    with tempfile.TemporaryDirectory() as name:
        program = pathlib.Path(name) / "later"
        run([COMPILER, "-std=c11", "-O1", "-Wall", "-Wextra", "-Werror", "-fopenmp", "-I", SOURCE / "include",
             ABI / "later.c", "-L", build / "lib", "-lomptier", "-o", program])
        environment = {**os.environ, "LD_LIBRARY_PATH": str(build / "lib"), "LD_BIND_NOW": "1"}
        print(run([program], env=environment).strip())


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--build", type=pathlib.Path, required=True)
    parser.add_argument("--update", action="store_true", help="write validation/abi/current")
    chosen = parser.parse_args()
    lib = chosen.build / "lib"

    now = {f"{name}.symbols": symbols(lib / f"{name}.so") for name in LIBRARIES}
    now["libomp.symbols"] = added_to_libomp(lib / "libomp.so")
    now["numbers"] = numbers(SOURCE / "include", SOURCE / "include")
    for what, lines in now.items():
        if not lines:
            sys.exit(f"{what}: nothing found")
        kept = ABI / "current" / what
        if chosen.update:
            kept.write_text("\n".join(lines) + "\n")
        compare(what, lines, kept.read_text().splitlines())
        released = ABI / "1.0" / what
        if released.exists():
            lacks(what, lines, released.read_text().splitlines())
    # What the old header said, today's says of the same names.
    compare("numbers of 1.0", numbers(ABI / "1.0", ABI / "1.0"),
            (ABI / "1.0" / "numbers").read_text().splitlines())
    # Every function of the header is exported, and nothing of that name that the header lacks.
    declared = set(re.findall(r"^[a-z][\w ]*[ *](ompx_\w+)\(", (SOURCE / "include" / "ompx_memory.h")
                              .read_text(), re.M))
    exported = {name.partition("@")[0] for name in now["libomptier.symbols"] if name.startswith("ompx_")}
    if declared != exported:
        sys.exit(f"header and libomptier.so differ: {sorted(declared ^ exported)}")
    old_program_runs(chosen.build)
    later_program_runs(chosen.build)
    print(f"{sum(map(len, now.values()))} symbols and numbers as kept")


main()
