#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# omptier record of programs of small blocks: the sites that allocate most have rows of their own, with all their
# blocks, bytes, accesses and pattern; the program does what it does without us, whatever it does with its blocks.
#
# usage: record_small.py rows|memory|temporaries|threads|resized|forked|ending --omptier O --program P
import os
import re

from recording import check, run_case

ROWS, BYTES = 200_000, 216
PLACE = "(record_small.cpp:34)"  # of make_row's new double[27]; its name is what its caller gives the row to


def record(bench, case, **more):
    plain = bench.run(bench.options.program, case).stdout
    recorded = bench.record(bench.options.program, case, options=("--rate", "1000", "--runtime", "own"), **more)
    check(recorded.stdout == plain, f"prints {recorded.stdout} instead of {plain}")
    return recorded


def rows_in(report):
    """Of all call stacks."""
    return sum(one["objects"] for one in report["sites"] if PLACE in one["label"])


def only_row(report):
    """All rows' one site."""
    found = [one for one in report["sites"] if PLACE in one["label"]]
    check(len(found) == 1, f"{len(found)} sites at {PLACE} of {[one['label'] for one in report['sites']]}")
    return found[0]


def case_rows(bench):
    record(bench, "rows")
    report = bench.report()
    row = only_row(report)
    check(row["label"].startswith("matrix "), row["label"])
    check(0.98 * ROWS <= row["objects"] <= ROWS, f"{row['objects']} of {ROWS} rows")
    for key, wanted in (("bytes_total", ROWS * BYTES), ("bytes_peak", ROWS * BYTES), ("bytes_largest", BYTES)):
        check(0.98 * wanted <= row[key] <= wanted, f"{key} {row[key]} instead of {wanted}")
    check(row["share"] >= 0.9, f"rows have {row['share']:.2f} of the time\n{bench.text()}")  # in truth: all of the loop
    check(row["pattern"] == "sequential", f"pattern {row['pattern']}")
    small = report["small_objects"]
    check(small["share"] < 0.02, f"{small['share']:.2f} are small objects still")
    text = bench.run(bench.omptier, "advise", "--machine", "dram-hbm-nvm", "-o", "plan.json", "p.profile").stdout
    check("matrix " + PLACE in text, f"the advice does not name the rows\n{text}")
    print(bench.text())


def peak_kib(bench, *command):
    """Most memory that the program and its children took."""
    result = bench.run("/usr/bin/env", "python3", "-c",
                       "import resource, subprocess, sys; subprocess.run(sys.argv[1:], check=True, "
                       "stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL); "
                       "print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)", *command)
    return int(result.stdout)


def case_memory(bench):
    program = [bench.options.program, "rows"]
    plain = peak_kib(bench, *program)
    recorded = peak_kib(bench, bench.omptier, "record", "-o", "p.profile", "--runtime", "own", "--", *program)
    bound = 1.1 * plain + 8 * 1024  # the recorder's own tables
    check(recorded <= bound, f"{recorded} KiB recorded, {plain} KiB not")
    print(f"{recorded} KiB recorded, {plain} KiB not")


def case_temporaries(bench):
    """Blocks from 4 KiB of a site that allocates very many come from spans too: counted as exactly, at less cost."""
    recorded = record(bench, "temporaries").stderr
    print(recorded)
    medium, large = (float(re.search(rf"{size}\D+(\d+) ns", recorded)[1]) for size in ("6000 bytes:", "20000:"))
    check(medium < 0.6 * large, f"{medium} ns a block, {large} ns where each is looked up")
    sites = bench.report()["sites"]
    # The two blocks of a size that come and go are two sites.
    for size, objects, peak in ((6000, 400_000, 2), (20_000, 400_000, 2), (8192, 8000, 8000)):
        found = [one for one in sites if one["bytes_largest"] == size]
        check(found, f"no site of {size} bytes in {[(one['label'], one['bytes_largest']) for one in sites]}")
        check(sum(one["objects"] for one in found) == objects, f"{[one['objects'] for one in found]} of {objects}")
        check(sum(one["bytes_total"] for one in found) == objects * size, f"{[one['bytes_total'] for one in found]}")
        check(sum(one["bytes_peak"] for one in found) == peak * size, f"{[one['bytes_peak'] for one in found]}")


def case_threads(bench):
    record(bench, "threads")
    row = only_row(bench.report())
    made = 8 * 12 * 4000
    check(0.97 * made <= row["objects"] <= made, f"{row['objects']} of {made} rows")
    check(row["bytes_peak"] <= 8 * 2 * 4000 * BYTES + 8 * 64 * BYTES, f"{row['bytes_peak']} bytes at the peak")


def case_resized(bench):
    record(bench, "resized")
    report = bench.report()
    small = [one for one in report["sites"] if one["bytes_largest"] < 4096 and one["objects"] > 15_000]
    check(len(small) >= 5, f"only {[one['label'] for one in small]} have rows")


def case_forked(bench):
    record(bench, "forked")
    logs = sorted(name for name in os.listdir(bench.folder) if name.startswith("p.profile"))
    check(len(logs) == 11, f"{logs} instead of logs of 10 children that allocate")
    made = [rows_in(bench.report(log)) for log in logs]
    check(made[0] >= 19_000, f"{made[0]} rows in the parent")
    check(all(5_000 <= rows <= 6_667 for rows in made[1:]), f"{made[1:]} rows in the children")


def case_ending(bench):
    for _ in range(5):
        record(bench, "ending")
        check(rows_in(bench.report()) > 50_000, "rows are missing")


run_case(globals(), "program")
