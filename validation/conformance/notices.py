#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""notices.py SOURCE: every notice of base/notices.def is said, in one place, as what it is.

A number with two texts hides the second behind the first. What is written past the table (by the
patched libomp and the preload library, which have no part of it) has numbers of the table too, and the
documentation names no others.
"""

import pathlib
import re
import sys

source = pathlib.Path(sys.argv[1])
TABLE = source / "openmp-ext" / "base" / "notices.def"
# One text read from the source and one read from OMP_ALLOCATOR.
TWICE = {"unknown_trait_key", "bad_trait_value", "unknown_memory_space"}
WITHOUT_TABLE = {"library_unusable": "libomp/kmp_omptier.inc", "library_unloadable": "preload/library.cpp"}

notices = {name: (int(number), severity) for name, number, severity in
           re.findall(r"^OMPTIER_NOTICE\((\w+), (\d+), (warning|info), ", TABLE.read_text(), re.M)}
numbers = {number: name for name, (number, _) in notices.items()}
problems = []
if len(numbers) != len(notices):
    problems.append("two notices have one number")

said = {}
literal = {}
for path in sorted((source / "openmp-ext").rglob("*")):
    if path.suffix not in {".cpp", ".hpp", ".h", ".inc"}:
        continue
    text = path.read_text()
    where = str(path.relative_to(source / "openmp-ext"))
    for how, name in re.findall(r"\b(warn_once|warn_once_of|inform|set|refuse)\(\s*(?:problem, )?Notice::(\w+)", text):
        said.setdefault(name, []).append((how, where))
    for name in re.findall(r"k_notice = Notice::(\w+)", text):
        said.setdefault(name, []).append(("set", where))
    for number in re.findall(r"#(5[01]\d\d)\b", text):
        literal.setdefault(int(number), set()).add(where)

for name, (number, severity) in notices.items():
    places = said.get(name, [])
    if name in WITHOUT_TABLE:
        if literal.get(number) != {WITHOUT_TABLE[name]}:
            problems.append(f"{number} is to be said by {WITHOUT_TABLE[name]}, not {literal.get(number)}")
        continue
    if not places:
        problems.append(f"{number} {name} is said nowhere")
    for how, where in places:
        if (how == "inform") != (severity == "info"):
            problems.append(f"{number} {name} is a {severity}, {where} says it by {how}")
    kept_apart = len({where for _, where in places}) if name in TWICE else len(places)
    if kept_apart > (2 if name in TWICE else 1):
        problems.append(f"{number} {name} is said {len(places)} times: {places}")
for name in said:
    if name not in notices:
        problems.append(f"{name} is not in the table")
for number, places in literal.items():
    if numbers.get(number) not in WITHOUT_TABLE and places - {"base/notices.hpp"}:
        problems.append(f"#{number} is written past the table: {places}")
for page in [source / "README.md", *(source / "docs").glob("*.md")]:
    for number in re.findall(r"(?:warning |notice |\()(5[01]\d\d)\b", page.read_text()):
        if int(number) not in numbers:
            problems.append(f"{page.name} names {number}, which is no notice")

if problems or not notices:
    sys.exit("\n".join(problems) or "no notices found")
print(f"{len(notices)} notices, each said in its place")
