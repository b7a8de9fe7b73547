# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Shares of time and of misses, each with its own truth.
#
# Time (on the host, one thread, arrays 2^--scale times as large): an array costs the time saved by making
# it resident in the cache, averaged over the orders in which arrays can be made resident (Shapley value).
# For this the kernels map the same few pages over the whole array, so that code and addresses are
# unchanged. Indices come last, because a few repeated ones would keep in the cache what they point to.
# Offsets of rows cannot be repeated and are left out. Times are CPU time, medians of interleaved repeats;
# bootstrapping over the repeats gives the truth's 95 % interval. A kernel that does not wait for its
# arrays, or whose truth is less certain than the error expected of the profiler, is shown but not judged.
#
# Misses (in the timed virtual machine): the machine counts every modelled miss of every page; its
# memory-event unit records every hundredth, as hardware would.
import itertools
import pathlib
import random
import statistics

from bench import KERNELS

EXPECTED = 0.10  # worst object of a kernel
NOT_REPEATED = ("rows", "offsets")
INDICES = ("index", "columns", "edges", "keys")
SLACK = 0.005
ROUNDS = "1"  # of a kernel in the virtual machine
REPEATS = 7
DRAWN_ANEW = 400
WAITS = 0.15  # of its time, at least, to be judged


def marginal(times, arrays):
    """times: by the set of arrays that are resident."""
    saved, orders = dict.fromkeys(arrays, 0), 0
    for order in itertools.permutations(arrays):
        if [name in INDICES for name in order] != sorted(name in INDICES for name in order):
            continue
        orders += 1
        for place, array in enumerate(order):
            before = frozenset(order[:place])
            saved[array] += times[before] - times[before | {array}]
    return {array: max(0, value / orders) for array, value in saved.items()}


def shares_of(times, arrays):
    """times: lists by the set of arrays that are resident."""
    saved = marginal({subset: statistics.median(all_of) for subset, all_of in times.items()}, arrays)
    together = sum(saved.values()) or 1
    return {array: value / together for array, value in saved.items()}


def unsure(times, arrays):
    """By array: half the width of the 95 % interval of its share."""
    draw = random.Random(1)
    drawn = []
    for _ in range(DRAWN_ANEW):
        rounds = draw.choices(range(REPEATS), k=REPEATS)
        drawn.append(shares_of({subset: [all_of[i] for i in rounds]
                                for subset, all_of in times.items()}, arrays))
    half = {}
    for array in arrays:
        ordered = sorted(shares[array] for shares in drawn)
        half[array] = (ordered[DRAWN_ANEW * 39 // 40] - ordered[DRAWN_ANEW // 40]) / 2
    return half


def row_of(kernel, true, objects, key=None):
    """Share of the sum over the kernel's arrays."""
    shares = {name: objects[name] if key is None else objects[name][key] for name in true}
    sampled_all = sum(share["share"] for share in shares.values()) or 1
    true_all = sum(true.values()) or 1
    row = {"kernel": kernel, "objects": {}}
    for name, value in true.items():
        low, share, high = (shares[name][end] / sampled_all for end in ("low", "share", "high"))
        value /= true_all
        row["objects"][name] = {"true": value, "sampled": share,
                                "covered": low - SLACK <= value <= high + SLACK}
    row["worst"] = max(abs(o["true"] - o["sampled"]) for o in row["objects"].values())
    return row


def time(bench, kernel, compiler, _):
    if kernel == "buckets":
        return "lists cannot be repeated"
    program = bench.compile(compiler, scale_bits=bench.scale)
    arrays = [name for name in KERNELS[kernel] if name not in NOT_REPEATED]
    places = {name: place for place, name in enumerate(KERNELS[kernel])}
    subsets = [frozenset(s) for size in range(len(arrays) + 1)
               for s in itertools.combinations(arrays, size)]
    times = {subset: [] for subset in subsets}
    for _ in range(REPEATS):
        for subset in subsets:
            mask = sum(1 << places[name] for name in subset)
            printed = bench.run([program, kernel, "0.05s", str(mask)])
            times[subset].append(float(printed.split()[1]))
    resident, whole = (statistics.median(times[frozenset(s)]) for s in (arrays, ()))
    report, objects, _ = bench.record([program, kernel, f"{bench.seconds}s", "0"], 1,
                                      "--rate", str(bench.rate))
    if report["measure"] != "time":
        return f"no samples of time: {report['runs'][0]['source_description']}"
    row = row_of(kernel, shares_of(times, arrays), objects)
    for array, half in unsure(times, arrays).items():
        row["objects"][array]["unsure"] = half
    row["waits"] = 1 - resident / whole
    row["judges"] = (row["waits"] >= WAITS and
                     all(o["unsure"] <= EXPECTED for o in row["objects"].values()))
    return row


def without_first_touch(site):
    """Its share without the kernel's clears, which the true counts leave out."""
    all_kinds = site["accesses"]
    first = all_kinds["first_touch"]
    weight = sum(value for kind, value in all_kinds.items() if kind != "first_touch")
    own = 1 - first / weight if weight else 1
    return {end: site[end] * own for end in ("low", "share", "high")}


def misses(bench, kernel, compiler, threads):
    program = bench.compile(compiler)
    counted = str(pathlib.Path(bench.folder, "misses"))
    within = bench.sandbox(threads, "--timed", "--memory-events", "--misses", counted)
    report, objects, printed = bench.record([program, kernel, ROUNDS], threads, within=within)
    if report["measure"] != "misses":
        return f"no samples of misses: {report['runs'][0]['source_description']}"
    ranges = [line.split()[1] for line in printed.splitlines() if line.startswith("range")]
    found = [line.split() for line in bench.run(
        [str(bench.build / "bin" / "miss_share"), counted, *ranges]).splitlines()]
    true = {name: float(words[3]) for name, words in
            zip(KERNELS[kernel], (words for words in found if words[0] == "range"))}
    return row_of(kernel, true, {name: without_first_touch(objects[name]) for name in true})


def line_of(row, compiler, count):
    sure = lambda o: f" ± {100 * o['unsure']:.0f}" if "unsure" in o else ""
    cells = ", ".join(f"{name} {100 * o['true']:.0f}{sure(o)} → {100 * o['sampled']:.0f}"
                      for name, o in row["objects"].items())
    held = [o["covered"] for o in row["objects"].values()]
    worst = f"{100 * row['worst']:.1f}"
    if not row.get("judges", True):
        worst = f"not judged: waits {100 * row['waits']:.0f} % of its time"
    return (f"| {row['kernel']} | {compiler} | {count} | {cells} | {worst} | {sum(held)} of {len(held)} |")


def table(judge, bench, kernels, compilers, threads):
    print(f"| kernel | built by | threads | object: true → sampled, % of {judge.__name__} | worst, points | "
          "intervals that hold |\n|---|---|---|---|---|---|")
    rows = []
    for kernel, compiler, count in itertools.product(kernels, compilers,
                                                     [1] if judge is time else threads):
        row = judge(bench, kernel, compiler, count)
        if isinstance(row, str):
            print(f"| {kernel} | {compiler} | {count} | {row} | | |", flush=True)
            continue
        print(line_of(row, compiler, count), flush=True)
        if row.get("judges", True):
            rows.append(row)
    if not rows:
        return 1
    objects = [o for row in rows for o in row["objects"].values()]
    mean = sum(row["worst"] for row in rows) / len(rows)
    covered = sum(o["covered"] for o in objects) / len(objects)
    print(f"{len(rows)} runs: worst object off by {100 * mean:.1f} points on average (expected: at "
          f"most 5), intervals hold the truth for {100 * covered:.0f} % of {len(objects)} objects "
          "(expected: 90)")
    bad = [row["kernel"] for row in rows if row["worst"] > EXPECTED]
    if bad:
        print("not good enough: " + ", ".join(bad))
    return 1 if bad or mean > EXPECTED / 2 or covered < 0.9 else 0
