#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# exact.py OMPTIER OMPTIER-CC PROGRAM…: records programs built by omptier-cc (exact_cases.c) and holds
# the reported bytes against those counted on paper; then the wrapper's own behaviour.
import json
import os
import pathlib
import subprocess
import sys
import tempfile

ARRAY = 8 << 16
ROUNDS = 20
# object: bytes loaded, bytes stored. bins and copy are read once more for the output.
EXPECTED = {
    "a": (ARRAY, ROUNDS * ARRAY),
    "b": (ROUNDS * ARRAY, 0),
    "c": (ROUNDS * ARRAY, 0),
    "bins": (ROUNDS * ARRAY + 8, ROUNDS * ARRAY),
    "index": (ROUNDS * ARRAY, 0),
    "ring": (ROUNDS * ARRAY // 8, ARRAY // 8),
    "copy": (8, ARRAY),
    "again": (8, ARRAY),
}
failures = 0


def check(condition, what):
    global failures
    if not condition:
        print(f"FAILED: {what}")
        failures += 1


def run(folder, *command, **environment):
    clean = {name: value for name, value in os.environ.items() if not name.startswith("OMPTIER_")}
    return subprocess.run(command, cwd=folder, text=True, capture_output=True, timeout=100,
                          env=dict(clean, OMP_NUM_THREADS="2", OMP_WAIT_POLICY="passive", **environment))


def record(folder, omptier, program):
    result = run(folder, omptier, "record", "-o", "p.profile", "--", program)
    check(result.returncode == 0, f"{program}: {result}")
    report = json.loads(run(folder, omptier, "report", "--json", "p.profile").stdout)
    check(report["runs"][0]["source"] == "exact" and report["measure"] == "accesses",
          f"source {report['runs'][0]}")
    check(report["samples_lost"] == 0, f"{report['samples_lost']} lost")
    total = 0
    for name, (loads, stores) in EXPECTED.items():
        sites = [site for site in report["sites"] if site["label"].split()[0] == name]
        check(len(sites) == 1, f"{len(sites)} sites {name}")
        if len(sites) != 1:
            continue
        accesses = sites[0]["accesses"]
        got = (accesses["scattered_load"] + accesses["streamed_load"],
               accesses["scattered_store"] + accesses["streamed_store"])
        # A compiler may keep the last value in a register: the single words may be missing.
        check(all(abs(g - e) <= 64 for g, e in zip(got, (loads, stores))),
              f"{program}: {name}: {got} instead of {(loads, stores)}")
        check(sites[0]["low"] == sites[0]["high"], f"{name} has a sampling interval")
        total += sum(got)
    others = report["other"]["share"] * total
    check(others < 0.01 * total, f"{others} bytes elsewhere")


def wrapper(folder, omptier, compiler, program):
    plain = run(folder, program)
    check(plain.returncode == 0 and not plain.stderr, f"without a profiler: {plain}")
    version = run(folder, compiler, "--version")
    check(version.returncode == 0 and "clang" in version.stdout, f"{version}")
    source = pathlib.Path(folder, "two words.c")
    source.write_text("int main(void) { return 5; }\n")
    made = run(folder, compiler, "-O1", str(source), "-o", "five five")
    check(made.returncode == 0, f"{made}")
    check(run(folder, str(pathlib.Path(folder, "five five"))).returncode == 5, "a name with a blank")
    check(run(folder, compiler, "-c", "missing.c").returncode != 0, "a missing source compiles")
    # Asked for by name where nothing is instrumented: one line, and the program runs.
    refused = run(folder, omptier, "record", "-o", "q.profile", "--events", "exact", "--",
                  program.replace("exact_cases-x86-64-v3", "record_cases"), "exit", "1000")
    check("not built by omptier-cc" in refused.stderr, f"{refused.stderr}")


def main():
    omptier, compiler, *programs = sys.argv[1:]
    with tempfile.TemporaryDirectory() as folder:
        for program in programs:
            record(folder, omptier, program)
        wrapper(folder, omptier, compiler, programs[0])
    return 1 if failures else 0


sys.exit(main())
