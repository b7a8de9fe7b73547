#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# A vector's old copy is told apart from what it holds, in report, advice and plan; what the OpenMP runtime and the
# libraries under it have for themselves is one row, and the program's omp_alloc is not in it; the report says of how
# many samples the loops were emulated.
#
# usage: record_growth.py --omptier O --program P --xml MACHINE [--runtime own] [--stock FOLDER]
import json
import re

from recording import Recorder, check, parser, site

MIB = 1 << 20
OWN = ("libomp", "libgomp", "libhwloc", "libnuma", "libmemkind")

arguments = parser("omptier", "program", "xml")
arguments.add_argument("--runtime", default="omptier")
arguments.add_argument("--stock", help="folder of the program's own OpenMP runtime")
options = arguments.parse_args()
bench = Recorder(options, **({"LD_LIBRARY_PATH": options.stock} if options.stock else {}))
bench.record(options.program, options=("--rate", "1000", "--runtime", options.runtime))
report = bench.report()

values = site(report, "values")
check((values["bytes_peak"], values["bytes_growing"]) == (48 * MIB, 16 * MIB),
      f"{values['bytes_peak']} bytes, {values['bytes_growing']} of them old copies")
check(0 < values["nanoseconds_growing"] < report["nanoseconds"] / 2, f"for {values['nanoseconds_growing']} ns")
text = bench.text(verbose=True)
check(re.search(r"^  \S*values.*: 16\.0 MiB of its most bytes were old copies while it grew", text, re.M), text)
check(site(report, "sums")["bytes_peak"] == MIB, "omp_alloc's block is not the program's")

for row in report["sites"]:
    alone = all(frame["module"].startswith(OWN) for frame in row["frames"])
    check(row["kind"] in ("stacks", "heap", "runtime") or not alone, f"a row of the runtime's: {row['label']}")
own = [row for row in report["sites"] if row["kind"] == "runtime"]
check(len(own) <= 1, f"{len(own)} rows of the runtime")
check(all(row["label"] == "OMPTier and the OpenMP runtime" for row in own), str(own))

loops = report["loops"]
taken = report["samples"] + report["samples_waiting"] + report["samples_lost"]
if report["runs"][0]["source"] in ("perf", "timer"):
    check(loops["emulated"] > 0 and sum(loops.values()) <= taken, f"{loops} of {taken} samples")
    check(f"the loops of {loops['emulated']:,} samples were emulated" in text, text)

advice = json.loads(bench.run(options.omptier, "advise", "--json", "--xml", options.xml, "--capacity", "hbm:40M",
                              "p.profile").stdout)
advised = site(advice, "values")
check((advised["bytes"], advised["bytes_growing"]) == (48 * MIB, 16 * MIB), str(advised))
check(advised["kind"] != "hbm", "32 MiB fit into 40, but not while it grows")
check(not any(row["kind"] for row in advice["sites"] if row["label"].startswith("OMPTier")), "a memory for the runtime")
print(f"{len(own)} row of the runtime, {loops}, {values['nanoseconds_growing'] / 1e6:.1f} ms of growth")
