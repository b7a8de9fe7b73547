#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# exact.py --omptier PATH --compiler OMPTIER-CC PROGRAM…: records programs built by omptier-cc (exact_cases.c) and holds
# the reported bytes against those counted on paper; then the wrapper's own behaviour.
from recording import Recorder, check, parser, site

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


def record(bench, program):
    bench.record(program)
    report = bench.report()
    check(report["runs"][0]["source"] == "exact" and report["measure"] == "accesses",
          f"source {report['runs'][0]}")
    check(report["samples_lost"] == 0, f"{report['samples_lost']} lost")
    for name, expected in EXPECTED.items():
        found = site(report, name)
        accesses = found["accesses"]
        got = (accesses["scattered_load"] + accesses["streamed_load"],
               accesses["scattered_store"] + accesses["streamed_store"])
        # A compiler may keep the last value in a register: the single words may be missing.
        check(all(abs(g - e) <= 64 for g, e in zip(got, expected)), f"{program}: {name}: {got} instead of {expected}")
        check(found["low"] == found["high"], f"{name} has a sampling interval")
    check(report["other"]["share"] < 0.01, f"{report['other']} elsewhere")


def wrapper(bench, compiler, program):
    plain = bench.run(program)
    check(not plain.stderr, f"without a profiler: {plain}")
    check("clang" in bench.run(compiler, "--version").stdout, "its version")
    (bench.folder / "two words.c").write_text("int main(void) { return 5; }\n")
    bench.run(compiler, "-O1", "two words.c", "-o", "five five")
    bench.run(str(bench.folder / "five five"), status=5)
    check(bench.run(compiler, "-c", "missing.c", status=None).returncode != 0, "a missing source compiles")
    # Asked for by name where nothing is instrumented: one line, and the program runs.
    refused = bench.record(program.replace("exact_cases-x86-64-v3", "record_cases"), "exit", "1000",
                           options=("--events", "exact"))
    check("not built by omptier-cc" in refused.stderr, f"{refused.stderr}")


arguments = parser("omptier", "compiler")
arguments.add_argument("programs", nargs="+")
options = arguments.parse_args()
bench = Recorder(options)
for program in options.programs:
    record(bench, program)
wrapper(bench, options.compiler, options.programs[0])
