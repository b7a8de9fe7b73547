# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Reads and applies libomp-19.1.7.patch, which only ever inserts lines.

A hunk is "@@ -N,0 +M,K @@" and K lines that begin with "+": K lines of ours stand after line N of the
original. There is no context to find a place by, so each file must be the one the patch was made for,
byte by byte; the checksums stand in libomp-19.1.7.sha256.
"""

import hashlib
import re
from pathlib import Path

HERE = Path(__file__).resolve().parent
PATCH = HERE / "libomp-19.1.7.patch"
CHECKSUMS = HERE / "libomp-19.1.7.sha256"


class Mismatch(Exception):
    """The patch is malformed, or a file is not the one it was made for."""


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


def checksums():
    return {name: digest for digest, name in (line.split() for line in CHECKSUMS.read_text().splitlines())}


def apply(tree):
    """Inserts our lines into the files below tree, after checking that each is the expected one."""
    expected = checksums()
    for name, hunks in read(PATCH.read_text()).items():
        path = tree / name
        original = path.read_bytes() if path.is_file() else b""
        if hashlib.sha256(original).hexdigest() != expected.get(name):
            raise Mismatch(f"{name} is not that of LLVM 19.1.7, so our lines have no place in it; "
                           "use the 19.1.7 source, or let it be fetched")
        lines, result, done = original.splitlines(keepends=True), [], 0
        for after, inserted in hunks:
            result += lines[done:after] + [(line + "\n").encode() for line in inserted]
            done = after
        path.write_bytes(b"".join(result + lines[done:]))
