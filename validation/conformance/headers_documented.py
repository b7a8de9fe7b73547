#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""headers_documented.py INCLUDE: every public declaration of the headers has a comment right above it,
and every function, class and module procedure says whether it is thread-safe.
"""

import pathlib
import re
import sys


def comment_above(lines, at, mark):
    """The comment that ends right above line at; mark(line) says what belongs to a comment."""
    text = []
    while at > 0 and mark(lines[at - 1]):
        at -= 1
        text.insert(0, lines[at])
    return "\n".join(text)


def is_c_comment(line):
    return re.match(r"\s*(/\*|\*|//)", line) is not None or line.rstrip().endswith("*/")


def c_declarations(lines):
    """(line, name, must say thread-safe) of ompx_memory.h."""
    for at, line in enumerate(lines):
        function = re.match(r"[a-z][\w ]*[ *](ompx_\w+)\(", line)
        kind = re.match(r"typedef (?:enum|struct) (\w+)|#define (ompx_atk_\w+) OMPX|#define (OMPX_MAX\w+)",
                        line)
        if function:
            yield at, function[1], True
        elif kind and kind[1]:
            yield at, kind[1], False
        elif kind and kind[2]:
            yield at, kind[2], False


def cxx_declarations(lines):
    """What stands at the first column of ompx_memory.hpp, namespace detail aside."""
    hidden = False
    previous = ""
    for at, line in enumerate(lines):
        if line.startswith("namespace detail"):
            hidden = True
        elif line.startswith("} // namespace detail"):
            hidden = False
        found = re.match(r"(?:enum class|class|struct|template|inline|bool|ompx_result_t) ?(.*)", line)
        # A function below its template line belongs to it.
        if found and not hidden and not previous.startswith("template"):
            yield at, line.strip(), True
        previous = line


def fortran_declarations(lines):
    text = "\n".join(lines)
    public = {name.strip() for group in re.findall(r"^  public :: (.*)", text, re.M)
              for name in group.split(",")}
    public = {name for name in public if name.startswith("ompx_")}
    seen = set()
    for at, line in enumerate(lines):
        found = re.match(r"\s*(?:(?:\w+\([\w,= ]*\) )?function|subroutine|interface|type, bind\(C\) ::) "
                         r"?(\w+)", line)
        if found and found[1] in public and not re.match(r"\s*end ", line):
            seen.add(found[1])
            yield at, found[1], True
    if public - seen:
        sys.exit(f"ompx_memory.f90: public but not found: {sorted(public - seen)}")


def check(name, lines, declarations, mark):
    count = 0
    problems = []
    for at, what, thread_safety in declarations(lines):
        count += 1
        comment = comment_above(lines, at, mark)
        if not comment:
            problems.append(f"{name}:{at + 1}: {what}: no comment above it")
        elif thread_safety and not re.search("thread-safe", comment, re.I):
            problems.append(f"{name}:{at + 1}: {what}: does not say whether it is thread-safe")
    return count, problems


HEADERS = {
    "ompx_memory.h": (c_declarations, is_c_comment),
    "ompx_memory.hpp": (cxx_declarations, lambda line: line.startswith("//")),
    "ompx_memory.f90.in": (fortran_declarations, lambda line: re.match(r"\s*!", line) is not None),
}


def main():
    # The check itself notices what it is for.
    bad = ["/* Does. */", "int ompx_first(void);", "", "int ompx_second(void);",
           "/* Thread-safe. */", "int ompx_third(void);"]
    if len(check("self", bad, c_declarations, is_c_comment)[1]) != 2:
        sys.exit("the check finds no missing comment")
    found = []
    for name, (declarations, mark) in HEADERS.items():
        lines = (pathlib.Path(sys.argv[1]) / name).read_text().splitlines()
        count, problems = check(name, lines, declarations, mark)
        if count < 15:
            sys.exit(f"{name}: only {count} declarations recognised")
        print(f"{name}: {count} declarations")
        found += problems
    sys.exit("\n".join(found) or 0)


main()
