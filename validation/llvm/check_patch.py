#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Asserts that the patch of libomp only inserts lines, and only lines of ours.

    check_patch.py --libomp openmp-ext/libomp --builder "COMMAND..." --llvm 19

COMMAND is build-runtime with its arguments; it says where that LLVM's original is. The places in every
other LLVM are held against the patch's hunks too. Checked without the code that applies the patch:
  - every line of the patch is a header or an inserted line; hunks have no context and no line of LLVM's
    after their header;
  - the system's own `patch` accepts it on the original, and the patched files without the inserted lines
    are the originals, byte by byte; no other file changes, none is added;
  - no inserted line longer than 20 characters stands in the original file it goes into;
  - damaged patches (a line removed, context, a wrong number) are refused by our reader.
"""

import argparse
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

sys.dont_write_bytecode = True


def fail(text):
    print(f"check_patch: {text}", file=sys.stderr)
    sys.exit(1)


def check_form(text):
    body = text[text.index("--- a/"):].splitlines()
    allowed = re.compile(r"\+|--- a/\S+$|@@ -\d+,0 \+\d+(,\d+)? @@$")
    for number, line in enumerate(body):
        if not allowed.match(line):
            fail(f"neither an insertion nor a header: {line!r} (line {number + 1} after the heading)")
    return sum(line.startswith("+") and not line.startswith("+++ b/") for line in body)


def check_application(text, source, insertions):
    files = insertions.read(text)
    with tempfile.TemporaryDirectory() as name:
        tree = Path(name) / "tree"
        for folder in ("openmp/runtime/src", "openmp/module"):
            if (source / folder).is_dir():
                shutil.copytree(source / folder, tree / folder)
        before = {path: path.read_bytes() for path in tree.rglob("*") if path.is_file()}
        done = subprocess.run(["patch", "-p1", "-s", "-d", tree], input=text, text=True,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        if done.returncode != 0:
            fail(f"patch refuses it: {done.stdout}")
        after = {path: path.read_bytes() for path in tree.rglob("*") if path.is_file()}
        if after.keys() != before.keys():
            fail(f"files came or went: {sorted(map(str, after.keys() ^ before.keys()))}")
        for path, content in after.items():
            inserted = files.get(str(path.relative_to(tree)), [])
            kept, own = content.splitlines(keepends=True), []
            for following, new in inserted:  # taken out in order, so the original's numbers hold
                own += kept[following:following + len(new)]
                del kept[following:following + len(new)]
            if b"".join(kept) != before[path]:
                fail(f"{path.name}: without the inserted lines it is not the original")
            if bool(inserted) != (content != before[path]):
                fail(f"{path.name}: changed although the patch does not name it, or the reverse")
            theirs = set(before[path].splitlines())
            for line in own:
                if len(line.strip()) > 20 and line.rstrip(b"\n") in theirs:
                    fail(f"{path.name}: an inserted line stands in the original too: {line!r}")


def check_refusals(text, insertions):
    hunk = re.search(r"^@@ .*@@\n\+.*\n", text, re.M)[0]
    header, line = hunk.splitlines()
    damaged = {
        "a removed line": text.replace(hunk, f"{header}\n-{line[1:]}\n", 1),
        "a line of context": text.replace(hunk, f"{header}\n {line[1:]}\n", 1),
        "text after a hunk's header": text.replace(header, header + " int main()", 1),
        "a removing hunk": text.replace(header, header.replace(",0 ", ",1 "), 1),
        "hunks whose numbers disagree": text.replace(header, re.sub(r"\+\d+", "+9", header), 1),
        "a patch cut off": text[: text.rindex("\n+")],
    }
    check_refused_places(insertions)
    for what, bad in damaged.items():
        if bad == text:
            fail(f"could not make {what}")
        try:
            insertions.read(bad)
        except insertions.Mismatch:
            continue
        fail(f"{what} was accepted")


def check_refused_places(insertions):
    files = insertions.read(insertions.PATCH.read_text())
    for version in insertions.releases().values():
        if version == insertions.BASE:
            continue
        text = insertions.places_file(version).read_text()
        insertions.moved(files, text, version)
        line = text.splitlines()[-1]
        damaged = {"a place missing": line.rpartition(" ")[0], "a place too many": line + " 99999",
                   "places out of order": re.sub(r"(\d+) (\d+)$", r"\2 \1", line), "a file missing": "# none"}
        for what, bad in damaged.items():
            try:
                insertions.moved(files, text.replace(line, bad), version)
            except insertions.Mismatch:
                continue
            fail(f"{what} was accepted in the places of {version}")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--libomp", type=Path, required=True)
    parser.add_argument("--builder", required=True)
    parser.add_argument("--llvm", type=int, required=True)
    chosen = parser.parse_args()
    sys.path.insert(0, str(chosen.libomp))
    import insertions
    version = insertions.releases()[chosen.llvm]
    text = insertions.text_of(insertions.insertions_of(version))
    source = subprocess.run([*chosen.builder.split(), "--llvm", str(chosen.llvm), "source"], stdout=subprocess.PIPE,
                            text=True, check=True).stdout
    if version == insertions.BASE and not insertions.PATCH.read_text().endswith("\n" + text):
        fail("read and written again, the patch is another")
    inserted = check_form(text)
    check_application(text, Path(source.strip()), insertions)
    check_refusals(text, insertions)
    print(f"{inserted} lines inserted into {len(insertions.read(text))} files of LLVM {version}, none removed")


main()
