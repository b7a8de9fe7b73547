#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# names.py --omptier build/release/bin/omptier PROGRAM…: lists the sites of each program and holds their names against
# those that the program prints of itself: "NAME BYTES". Arrays of equal bytes are named together, "b+copy". What
# compilers' debug information may leave open is "NAME or LESS": LESS is what else may be said, as "a|b" or the function.
import argparse
import collections
import json
import pathlib
import re
import subprocess
import sys
import tempfile

VERDICTS = ("right", "unsaid", "wrong")


def list_sites(omptier, program, folder):
    """Bytes -> label, and the names that the program prints."""
    plan = pathlib.Path(folder) / "sites.json"
    done = subprocess.run([omptier, "sites", "-o", plan, "--", program], capture_output=True, text=True, timeout=60)
    if done.returncode != 0:
        sys.exit(f"names.py: status {done.returncode} of {program}\n{done.stdout}{done.stderr}")
    entries = json.loads(plan.read_text())["entries"]
    wanted = [line.rsplit(" ", 1) for line in done.stdout.splitlines()]
    return [(entry["label"], entry["bytes"]) for entry in entries if "static" not in entry["label"]], wanted


def name_in(label):
    return re.sub(r"( #\d+)?( \([^()]*\))?( #\d+)?$", "", label)


def judge(sites, wanted):
    """(verdict, name, label) of each array."""
    for name, size in wanted:
        labels = [label for label, size_there in sites if size_there == int(size)]
        printed = sorted(name_in(label) for label in labels)
        whole, *less = name.split(" or ")
        verdict = "right" if printed == sorted(whole.split("+")) else "unsaid" if set(printed) <= set(less) else "wrong"
        yield ("wrong" if not labels else verdict), name, labels


def main():
    made = argparse.ArgumentParser()
    made.add_argument("--omptier", required=True)
    made.add_argument("programs", nargs="+")
    options = made.parse_args()
    faults = []
    with tempfile.TemporaryDirectory() as folder:
        for program in options.programs:
            counts = collections.Counter()
            for verdict, name, labels in judge(*list_sites(options.omptier, program, folder)):
                counts[verdict] += 1
                if verdict == "wrong":
                    faults.append(f"{program}: {name} is {labels}")
            print(f"{pathlib.Path(program).name:24}" + "".join(f"{counts[v]:5} {v}" for v in VERDICTS))
    sys.exit("\n".join(faults) or 0)


if __name__ == "__main__":
    main()
