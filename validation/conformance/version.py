#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""version.py --build BUILD: one version number, wherever it is written.

Header, Fortran module, command, CMake package and pkg-config say the same; the version nodes of
libomptier.so are those of the releases up to it (OMPTIER_1 is 1.0's); and what the header calls younger
than 1.0 ("since 1.1") is what lies in that release's node.
"""

import argparse
import pathlib
import re
import subprocess
import sys

SOURCE = pathlib.Path(__file__).resolve().parents[2]
INCLUDE = SOURCE / "include"


def found(what, pattern, text):
    match = re.search(pattern, text, re.M)
    if not match:
        sys.exit(f"{what}: no version found")
    return ".".join(match.groups())


def since(header):
    """First release of each function: its comment says so, else the heading of its section."""
    releases = {}
    section = comment = "1.0"
    for piece in re.finditer(r"/\*(.*?)\*/|^[a-z][\w ]*[ *](ompx_\w+)\(", header, re.S | re.M):
        if piece[2]:
            releases[piece[2]] = comment
            comment = section
            continue
        remark = re.search(r"\bsince (\d+\.\d+)", piece[1], re.I)
        if piece[1].startswith(" ----"):
            section = remark[1] if remark else "1.0"
        comment = remark[1] if remark else section
    return releases


def nodes(script):
    """Node of each function."""
    return {name: node for node, body in re.findall(r"^(OMPTIER_[\d.]+) \{(.*?)^\}", script, re.S | re.M)
            for name in re.findall(r"\b(ompx_\w+);", body)}


def release_of(node):
    number = node.removeprefix("OMPTIER_")
    return number if "." in number else number + ".0"


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--build", type=pathlib.Path, required=True)
    build = parser.parse_args().build
    header = (INCLUDE / "ompx_memory.h").read_text()
    number = found("ompx_memory.h", r"define OMPX_VERSION_MAJOR (\d+)\n#define OMPX_VERSION_MINOR (\d+)\n"
                                    r"#define OMPX_VERSION_PATCH (\d+)$", header)
    others = {
        "ompx_memory.f90": found("f90", r"ompx_version_major = (\d+), ompx_version_minor = (\d+), "
                                        r"ompx_version_patch = (\d+)", (INCLUDE / "ompx_memory.f90.in").read_text()),
        "omptier --version": found("omptier", r"^omptier (\S+)$", subprocess.run(
            [build / "bin" / "omptier", "--version"], capture_output=True, text=True, check=True).stdout),
        "omptier.pc": found("omptier.pc", r"^Version: (\S+)$", (build / "include" / "omptier.pc").read_text()),
        "CMake's package": found("CMake", r'^set\(PACKAGE_VERSION "(\S+)"\)$',
                                 (build / "include" / "OMPTierConfigVersion.cmake").read_text()),
    }
    for what, other in others.items():
        if other != number:
            sys.exit(f"{what} says {other}, ompx_memory.h {number}")

    def order(release):
        return [int(part) for part in release.split(".")]
    here, there = since(header), nodes((SOURCE / "openmp-ext/allocators/libomptier.map").read_text())
    for function in sorted(here.keys() | there.keys()):
        release = release_of(there[function]) if function in there else "none"
        if here.get(function) != release:
            sys.exit(f"{function}: the header has it since {here.get(function)}, its version node is {release}'s")
        if order(release) > order(number)[:2]:
            sys.exit(f"{function} is {release}'s, this is {number}")
    for page in (INCLUDE / "ompx_memory.hpp", INCLUDE / "ompx_memory.f90.in", SOURCE / "README.md",
                 *(SOURCE / "docs").glob("*.md")):
        for remark in re.findall(r"\bsince (\d+\.\d+)\b(?!\.\d)", page.read_text(), re.I):
            if order(remark) > order(number)[:2] or remark == "1.0":
                sys.exit(f"{page.name}: since {remark}? This is {number}")
    print(f"{number} in {len(others) + 1} places, {len(here)} functions in their nodes")


main()
