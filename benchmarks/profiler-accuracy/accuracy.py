#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Compares sampled shares, write ratios and patterns of kernels.c with the truth.
#
# accuracy.py BUILD-FOLDER [--time | --misses | --guest] [--kernels a,b] [--compilers clang,gcc]
#             [--threads 2,4] [--march native] [--seconds 2] [--rate 1000] [--repeats 1] [--all]
#             [--scale 2] [--table FILE] [--picture FILE.svg]
#
# By default it measures accesses: for every kernel, compiler and number of threads, the share of bytes
# that each array accesses, as `omptier report` gives it for a sampled run, against the share by exact
# counts of the same source built by omptier-cc with the same flags. (gcc cannot count every store, so gcc
# builds are compared with clang's bytes, which do not depend on how a loop was vectorised.) --guest
# samples in the virtual machine instead, and builds for x86-64-v3. --time and --misses: truths.py. The
# short form runs three kernels. Status 1 if a kernel is worse than expected.
import argparse
import math
import pathlib
import sys
import tempfile

import truths
from bench import KERNELS, MINOR, SHORT, Bench

ENOUGH = 0.7  # samples, of those that one thread gives by CPU time; else intervals are wider than is expected


def profile(bench, compiler, kernel, amount, threads, *options, within=()):
    report, objects, _ = bench.record([bench.compile(compiler), kernel, amount], threads, *options,
                                      within=within)
    return report, objects


def write_error(site, truth):
    """Of the report's figure; None where it gives only an interval, which holds the truth."""
    if "write_share" in site:
        return abs(site["write_share"] - truth)
    interval = site["write_interval"]
    return None if interval["low"] - 0.05 <= truth <= interval["high"] + 0.05 else math.inf


def judge(bench, kernel, compiler, threads, seconds, exact):
    within = bench.sandbox(threads) if bench.guest else ()
    for longer in (1, 2, 4):
        report, objects = profile(bench, compiler, kernel, f"{longer * seconds}s", threads,
                                  "--rate", str(bench.rate), within=within)
        if report["samples"] >= ENOUGH * seconds * bench.rate:
            break
    if "access_share" not in next(iter(objects.values())):
        sys.exit(f"accuracy.py: {kernel}: no accesses: {report['runs'][0]['source_description']}")
    # Of the samples on or behind a memory operand, those that got an object.
    operands = report["samples"] - report["samples_without_operand"]
    lost = (report["samples_without_address"] - report["samples_without_operand"] +
            report["samples_outside_objects"])
    row = {"kernel": kernel, "compiler": compiler, "threads": threads, "objects": {},
           "attributed": 1 - lost / max(1, operands), "samples": report["samples"]}
    # Relative to the arrays' own bytes: clang's counts omit spilled registers, and the runtime's accesses
    # are not counted. The column "other" shows how much that is.
    own = sum(exact[name]["access_share"]["share"] for name in KERNELS[kernel])
    sampled_own = sum(objects[name]["access_share"]["share"] for name in KERNELS[kernel]) or 1
    row["other"] = (1 - own, 1 - sampled_own)
    for name, site in objects.items():
        truth, share = exact[name]["access_share"]["share"], site["access_share"]
        truth /= own
        low, value, high = (share[end] / sampled_own for end in ("low", "share", "high"))
        row["objects"][name] = {"true": truth, "sampled": value,
                                "covered": low - 0.005 <= truth <= high + 0.005}
        row["objects"][name].update(
            write_error=write_error(site, exact[name]["write_share"]),
            pattern=site["pattern"], expected=KERNELS[kernel][name],
            exact_pattern=exact[name]["pattern"])
    row["worst"] = max(abs(o["true"] - o["sampled"]) for o in row["objects"].values())
    major = [o for o in row["objects"].values() if o["true"] >= MINOR and "pattern" in o]
    row["exact_patterns"] = all(o["exact_pattern"] == o["expected"] for o in major)
    row["patterns"] = all(o["pattern"] == o["expected"] for o in major)
    row["write"] = max((o["write_error"] for o in major if o["write_error"] is not None), default=None)
    row["good"] = (row["worst"] <= 0.10 and row["patterns"] and (row["write"] or 0) <= 0.05 and
                   row["attributed"] >= 0.97)
    return row


def line_of(row):
    cells = []
    for name, o in row["objects"].items():
        pattern = "" if o.get("pattern") == o.get("expected") else f" ({o['pattern']}!)"
        if o.get("exact_pattern") != o.get("expected"):
            pattern += f" (exact: {o['exact_pattern']}!)"
        cells.append(f"{name} {100 * o['true']:.0f} → {100 * o['sampled']:.0f}{pattern}")
    return (f"| {row['kernel']} | {row['compiler']} | {row['threads']} | {', '.join(cells)} | "
            f"{100 * row['other'][0]:.0f} → {100 * row['other'][1]:.0f} | {100 * row['worst']:.1f} | "
            f"{'-' if row['write'] is None else format(row['write'], '.2f')} | {100 * row['attributed']:.1f} | "
            f"{'yes' if row['patterns'] else 'NO'} |")


def picture(rows):
    """True share across, sampled share up; the band is ten points wide on each side."""
    side, at = 400, lambda share: 40 + 400 * share
    text = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {side + 60} {side + 70}" '
            'font-family="sans-serif" font-size="11">',
            f'<rect width="{side + 60}" height="{side + 70}" fill="white"/>',
            f'<polygon fill="#e8eef4" points="40,{at(.9)} 40,{at(1)} {at(.1)},{at(1)} {at(1)},{at(.1)} '
            f'{at(1)},{at(0)} {at(.9)},{at(0)}"/>',
            f'<line x1="40" y1="{at(1)}" x2="{at(1)}" y2="40" stroke="#888"/>']
    for mark in (0, .25, .5, .75, 1):
        text.append(f'<text x="{at(mark)}" y="{at(1) + 14}" text-anchor="middle">{100 * mark:.0f}</text>'
                    f'<text x="34" y="{at(1 - mark) + 4}" text-anchor="end">{100 * mark:.0f}</text>')
    text.append(f'<text x="{at(.5)}" y="{at(1) + 28}" text-anchor="middle">true share of accesses, %'
                '</text>'
                f'<text x="12" y="{at(.5)}" text-anchor="middle" transform="rotate(-90 12 {at(.5)})">'
                'sampled share, %</text>')
    for row in rows:
        for name, o in row["objects"].items():
            colour = "#1b6ca8" if row["compiler"] == "clang" else "#c05a1c"
            text.append(f'<circle cx="{at(o["true"]):.1f}" cy="{at(1 - o["sampled"]):.1f}" r="4" '
                        f'fill="{colour}" fill-opacity=".6"><title>{row["kernel"]} {name}, '
                        f'{row["compiler"]}, {row["threads"]} threads</title></circle>')
    return "\n".join(text + ["</svg>"]) + "\n"


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("build")
    parser.add_argument("--all", action="store_true")
    kind = parser.add_mutually_exclusive_group()
    for name in ("time", "misses", "guest"):
        kind.add_argument(f"--{name}", action="store_true")
    parser.add_argument("--kernels", default="")
    parser.add_argument("--compilers", default="")
    parser.add_argument("--threads", default="")
    parser.add_argument("--march", default="native")
    parser.add_argument("--seconds", type=float, default=2)
    parser.add_argument("--rate", type=int, default=1000)
    parser.add_argument("--repeats", type=int, default=1)
    parser.add_argument("--scale", type=int, default=2)  # of --time: arrays 2^scale times as large
    parser.add_argument("--table")
    parser.add_argument("--picture")
    options = parser.parse_args()
    options.build = str(pathlib.Path(options.build).resolve())
    kernels = options.kernels.split(",") if options.kernels else KERNELS if options.all else SHORT
    compilers = (options.compilers or ("clang,gcc" if options.all else "clang")).split(",")
    threads = [int(n) for n in (options.threads or ("2,4" if options.all else "2")).split(",")]
    if options.misses or options.guest:
        options.march = "x86-64-v3"
    if options.time or options.misses:
        with tempfile.TemporaryDirectory(dir=options.build) as folder:
            judge_one = truths.time if options.time else truths.misses
            return truths.table(judge_one, Bench(options, folder), kernels, compilers, threads)
    if options.guest and options.seconds == 2:
        options.seconds = 6  # filling the arrays takes long there
    rows = []
    head = ("| kernel | built by | threads | object: true → sampled, % of bytes | other | worst, points | "
            "write ratio off by | attributed, % | patterns right |\n|---|---|---|---|---|---|---|---|---|")
    print(head)
    with tempfile.TemporaryDirectory(dir=options.build) as folder:  # the guest has its own /tmp
        bench = Bench(options, folder)
        for kernel in kernels:
            _, exact = profile(bench, "exact", kernel, "3", 2)
            for compiler in compilers:
                for count in threads * options.repeats:
                    rows.append(judge(bench, kernel, compiler, count, options.seconds, exact))
                    print(line_of(rows[-1]), flush=True)
    objects = [o for row in rows for o in row["objects"].values()]
    covered = sum(o["covered"] for o in objects) / len(objects)
    mean = sum(row["worst"] for row in rows) / len(rows)
    unsaid = sum(o["write_error"] is None for o in objects) / len(objects)
    summary = (f"{len(rows)} runs: worst object off by {100 * mean:.1f} points on average (expected: "
               f"at most 5), intervals hold the truth for {100 * covered:.0f} % of "
               f"{len(objects)} objects (expected: 90), write ratio left open for {100 * unsaid:.0f} % "
               "(expected: at most 25)")
    print(summary)
    if options.table:
        pathlib.Path(options.table).write_text(
            "\n".join([head, *map(line_of, rows)]) + f"\n\n{summary}\n")
    if options.picture:
        pathlib.Path(options.picture).write_text(picture(rows))
    bad = [f"{row['kernel']} ({row['compiler']}, {row['threads']})" for row in rows
           if not row["good"]]
    if bad:
        print("not good enough: " + ", ".join(bad))
    return 1 if bad or mean > 0.05 or unsaid > 0.25 else 0


sys.exit(main())
