#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""layers.py SOURCE: files of openmp-ext include as the section "Layers" of docs/design.md says.

That section is read: its indented lines are the layers.
"""

import pathlib
import re
import sys

source = pathlib.Path(sys.argv[1])
section = (source / "docs/design.md").read_text().split("## Layers")[1].split("\n## ")[0]
layers = " ".join(re.findall(r"^    (\S.*)$", section, re.M)).split("|")
level = {folder: height for height, layer in enumerate(layers) for folder in layer.split()}


def allowed(folder, header):
    other = header.split("/")[0]
    return other == folder or level[other] < level[folder]


folders = {path.name for path in (source / "openmp-ext").iterdir() if path.is_dir()}
if folders != set(level):
    sys.exit(f"docs/design.md: the layers and the folders differ: {sorted(folders ^ set(level))}")
if len(layers) < 5 or allowed("base", "plan/plan.hpp") or allowed("traits", "platform/tiers.hpp"):
    sys.exit("the check itself allows everything")
seen, wrong = 0, []
for path in sorted((source / "openmp-ext").rglob("*")):
    if path.suffix in {".c", ".cpp", ".h", ".hpp", ".inc"}:
        name = path.relative_to(source / "openmp-ext")
        for header in re.findall(r'^\s*#\s*include "(\w+/\S+)"', path.read_text(), re.M):
            seen += 1
            if not allowed(name.parts[0], header):
                wrong.append(f"openmp-ext/{name}: includes {header}, which is no lower layer's")
if seen < 300:
    sys.exit(f"only {seen} includes recognised")
print(f"{seen} includes, {len(layers)} layers")
sys.exit("\n".join(wrong) or 0)
