# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Reads and applies libomp-19.1.7.patch, which only ever inserts lines, to each LLVM of the file versions.

A hunk is "@@ -N,0 +M,K @@" and K lines that begin with "+": K lines of ours stand after line N of the
original. There is no context to find a place by, so each file must be the one the numbers were made for,
byte by byte. For 19.1.7 the numbers are the patch's own and the checksums stand in libomp-19.1.7.sha256;
for another LLVM libomp-VERSION.places has both: checksum, file, and per hunk the line it goes after.
The lines that are inserted are the same everywhere.

    insertions.py VERSION     prints the patch for that LLVM, as `patch -p1` takes it
"""

import hashlib
import re
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
BASE = "19.1.7"
PATCH = HERE / f"libomp-{BASE}.patch"


class Mismatch(Exception):
    """The patch is malformed, or a file is not the one it was made for."""


def releases():
    """{major number: release} of the LLVMs that our lines are made for."""
    lines = (HERE / "versions").read_text().splitlines()
    return {int(line.split()[0]): line.split()[1] for line in lines if line and not line.startswith("#")}


def places_file(version):
    """The file that holds the checksums of that LLVM's originals."""
    return HERE / (f"libomp-{version}.sha256" if version == BASE else f"libomp-{version}.places")


def read(text):
    """{file: [(line of the original after which, [lines])]}, and Mismatch at anything but insertions."""
    files, hunks, owed = {}, None, 0
    for number, line in enumerate(text.splitlines(), 1):
        where = f"{PATCH.name}:{number}"
        if owed:
            if not line.startswith("+"):
                raise Mismatch(f"{where}: a line that inserts nothing stands in a hunk; the patch may only insert")
            hunks[-1][1].append(line[1:])
            owed -= 1
        elif line.startswith("--- a/"):
            hunks = files.setdefault(line[len("--- a/"):], [])
        elif line.startswith("+++ b/") and hunks is not None:
            if files.get(line[len("+++ b/"):]) is not hunks:
                raise Mismatch(f"{where}: the two names of a file differ")
        elif hunks is not None:
            header = re.fullmatch(r"@@ -(\d+),0 \+(\d+)(?:,(\d+))? @@", line)
            if header is None:
                raise Mismatch(f"{where}: not a hunk that only inserts: {line!r}")
            after, owed = int(header[1]), int(header[3] or 1)
            if int(header[2]) != after + 1 + sum(len(lines) for _, lines in hunks):
                raise Mismatch(f"{where}: the hunk's two line numbers do not agree")
            hunks.append((after, []))
    if owed or not files:
        raise Mismatch(f"{PATCH.name}: ends inside a hunk, or holds none")
    return files


def moved(files, text, name):
    """The insertions at the places that text, a .places file, names. Files are known by their last name,
    which no two of them share: LLVM moves them between folders."""
    result, by_name = {}, {Path(path).name: hunks for path, hunks in files.items()}
    for line in text.splitlines():
        if line.startswith("#"):
            continue
        _, path, *places = line.split()
        hunks, places = by_name.pop(Path(path).name, None), [int(place) for place in places]
        if hunks is None or len(places) != len(hunks) or places != sorted(places):
            raise Mismatch(f"{name}: {path} has not one place for each of the patch's hunks, in their order")
        result[path] = [(place, lines) for place, (_, lines) in zip(places, hunks)]
    if by_name:
        raise Mismatch(f"{name}: no places in {', '.join(by_name)}")
    return result


def insertions_of(version):
    """As read, for the sources of that LLVM."""
    files, where = read(PATCH.read_text()), places_file(version)
    return files if version == BASE else moved(files, where.read_text(), where.name)


def checksums(version):
    lines = places_file(version).read_text().splitlines()
    return {line.split()[1]: line.split()[0] for line in lines if not line.startswith("#")}


def text_of(files):
    """The patch of these insertions."""
    result = []
    for path, hunks in files.items():
        result += [f"--- a/{path}", f"+++ b/{path}"]
        done = 0
        for after, lines in hunks:
            count = "" if len(lines) == 1 else f",{len(lines)}"
            result += [f"@@ -{after},0 +{after + 1 + done}{count} @@", *("+" + line for line in lines)]
            done += len(lines)
    return "\n".join(result) + "\n"


def apply(tree, version):
    """Inserts our lines into the files below tree, after checking that each is the expected one."""
    expected = checksums(version)
    for name, hunks in insertions_of(version).items():
        path = tree / name
        original = path.read_bytes() if path.is_file() else b""
        if hashlib.sha256(original).hexdigest() != expected.get(name):
            raise Mismatch(f"{name} is not that of LLVM {version}, so our lines have no place in it; "
                           f"use the {version} source, or let it be fetched")
        lines, result, done = original.splitlines(keepends=True), [], 0
        for after, inserted in hunks:
            result += lines[done:after] + [(line + "\n").encode() for line in inserted]
            done = after
        path.write_bytes(b"".join(result + lines[done:]))


if __name__ == "__main__":
    if len(sys.argv) != 2 or sys.argv[1] not in releases().values():
        sys.exit(f"usage: insertions.py VERSION, one of {' '.join(releases().values())}")
    print(text_of(insertions_of(sys.argv[1])), end="")
