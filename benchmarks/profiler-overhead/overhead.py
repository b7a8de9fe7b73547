#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# The cost of recording: the same work bare and under `omptier record` at the default rate, in turns, with
# pinned threads; the ratio's median and its 95 % interval (bootstrap over the rounds). Instructions by
# callgrind, independent of other load. Exits with 1 if an expectation is not met.
#
# usage: overhead.py --omptier O --workloads W [--short] [--measure wall|cpu] [--rounds N] [--seconds S]
#                    [--only TABLE…]     TABLE: time, start, heaptrack, instructions
import argparse
import os
import random
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

# Limits of the ratio of run times, for its upper 95 % bound.
LIMITS = {"memory": 1.02, "compute": 1.02, "allocate": 1.05, "steps": 1.03}
HELPER_SECONDS, HELPER_SHARE = 0.01, 0.005  # CPU time of the helper thread: once, and by run time
MALLOCS = 1e6  # a second, by all threads of "allocate"
REGIONS = 1e3  # a second, of "steps"
# Limits of additional instructions: of a malloc-free pair of a small block, of a barrier and of a region.
PAIR_LIMIT, BARRIER_LIMIT, REGION_LIMIT = 60, 800, 4000

parser = argparse.ArgumentParser()
parser.add_argument("--omptier", required=True)
parser.add_argument("--workloads", required=True)
parser.add_argument("--short", action="store_true", help="instructions, and times without judging them")
parser.add_argument("--measure", choices=["wall", "cpu"], default="wall",
                    help="what is judged: run time, or (on a machine that others use) CPU time of all threads")
parser.add_argument("--rounds", type=int, default=20)
parser.add_argument("--seconds", type=float, default=2.5, help="of a bare run")
TABLES = ["time", "start", "heaptrack", "instructions"]
parser.add_argument("--only", nargs="*", choices=TABLES, default=TABLES)
options = parser.parse_args()
options.omptier, options.workloads = map(os.path.abspath, (options.omptier, options.workloads))
if options.short:
    options.rounds, options.seconds = 2, 0.4
    options.only = [table for table in options.only if table != "heaptrack"]

folder = tempfile.TemporaryDirectory()
libraries = os.path.join(os.path.dirname(os.path.dirname(options.omptier)), "lib")
threads = min(2, len(os.sched_getaffinity(0)))
environment = {name: value for name, value in os.environ.items()
               if not name.startswith(("OMPTIER_", "OMP_", "KMP_", "LD_"))}
environment.update(OMP_NUM_THREADS=str(threads), OMP_PROC_BIND="true", OMP_PLACES="cores", LC_ALL="C.UTF-8")
failures = []


def run(command, **more):
    """Wall-clock and CPU seconds of a command that must succeed, and its output."""
    begin = time.perf_counter()
    process = subprocess.Popen(command, cwd=folder.name, env=dict(environment, **more), stdout=subprocess.PIPE,
                               stderr=subprocess.PIPE, text=True)
    printed, errors = process.stdout.read(), process.stderr.read()
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    wall = time.perf_counter() - begin
    if process.returncode != 0:
        sys.exit(f"FAILED: status {process.returncode}: {' '.join(command)}\n{printed}{errors}")
    return {"wall": wall, "cpu": usage.ru_utime + usage.ru_stime, "printed": printed, "errors": errors}


def recorded(*command, events=None):
    return [options.omptier, "record", "-o", "overhead.profile", *(["--events", events] if events else []), "--", *command]


def interval(ratios):
    """Median and its 95 % interval."""
    numbers = random.Random(1)
    medians = sorted(statistics.median(numbers.choices(ratios, k=len(ratios))) for _ in range(4000))
    return statistics.median(ratios), medians[100], medians[3899]


def expect(fine, what, timed=True):
    if timed and options.short:
        return "not judged"
    if not fine:
        failures.append(what)
    return "yes" if fine else "NO"


def in_turns(commands, rounds):
    """Each command once a round, in changing order, after one round of warm-up."""
    runs = {name: [] for name in commands}
    names = list(commands)
    for i in range(rounds + 1):
        for name in names[i % len(names):] + names[:i % len(names)]:
            one = run(commands[name])
            if i > 0:
                runs[name].append(one)
    return runs


def amount_for(what):
    """The amount of work for a bare run of the given seconds."""
    tried = 2_000_000
    while True:
        seconds = float(run([options.workloads, what, str(tried)])["printed"].split()[0])
        if seconds > 0.2:
            return str(int(tried * options.seconds / seconds))
        tried *= 4


def work_for(wanted, rate, few, many):
    """The work between two events with which as many as wanted come in a second: time is a + b * work."""
    first, second = 1 / statistics.median(rate(few) for _ in range(3)), 1 / statistics.median(rate(many) for _ in range(3))
    return max(0, round(few + (1 / wanted - first) * (many - few) / (second - first)))


def allocation_arguments(run_seconds):
    """PAIRS and WORK with which a bare run makes a million blocks a second."""
    def rate(work, pairs=200_000):
        seconds = float(run([options.workloads, "allocate", str(pairs), str(work)])["printed"].split()[0])
        return threads * pairs / seconds

    work = work_for(MALLOCS, rate, 100, 400)
    return ["allocate", str(int(MALLOCS * run_seconds / threads)), str(work)], rate(work)


def step_arguments(run_seconds):
    """COUNT and WORK with which a bare run makes a thousand regions a second."""
    def rate(work):
        return float(re.search(r"(\d+) regions a second", run([options.workloads, "steps", "500", str(work)])["errors"]).group(1))

    return ["steps", str(int(REGIONS * run_seconds)), str(work_for(REGIONS, rate, 5, 20))]


def share_of_helper(runs):
    return 100 * statistics.median(float(one["printed"].split()[1]) / float(one["printed"].split()[0]) for one in runs)


def table_of_times():
    print(f"\n{threads} threads pinned, {options.rounds} rounds, bare runs of about {options.seconds} s, default rate; "
          f"time of recording by bare time, start and end included; judged: {options.measure}\n")
    print("| work | measure | median | 95 % interval | limit | kept | helper thread |\n|---|---|---|---|---|---|---|")
    arguments, rate = allocation_arguments(options.seconds)
    works = {"memory": ["memory", amount_for("memory")], "compute": ["compute", amount_for("compute")], "allocate": arguments,
             "steps": step_arguments(options.seconds)}
    for name, work in works.items():
        runs = in_turns({"bare": [options.workloads, *work], "recorded": recorded(options.workloads, *work)}, options.rounds)
        share, most = share_of_helper(runs["recorded"]), 100 * (HELPER_SECONDS / options.seconds + HELPER_SHARE)
        expect(share <= most, f"{name}: the helper thread takes {share:.2f} % of a CPU > {most:.2f}")
        for measure in "wall", "cpu":
            middle, low, high = interval([b[measure] / a[measure] for a, b in zip(runs["bare"], runs["recorded"])])
            judged = measure == options.measure
            kept = expect(high <= LIMITS[name], f"{name}: {measure} bound {high:.4f} > {LIMITS[name]}") if judged else ""
            print(f"| {name} | {measure} | {middle:.4f} | {low:.4f} to {high:.4f} | {LIMITS[name] if judged else ''} | {kept} | "
                  f"{share:.2f} % of a CPU |", flush=True)
    print(f"\nallocate: {rate / 1e6:.2f} million mallocs a second bare")


def table_of_peer():
    if not shutil.which("heaptrack"):
        sys.exit("FAILED: heaptrack is not here: apt-get install heaptrack")
    arguments, rate = allocation_arguments(options.seconds / 4)  # heaptrack takes ten times as long
    bare = [options.workloads, *arguments]
    runs = in_turns({"bare": bare, "omptier": recorded(*bare), "heaptrack": ["heaptrack", "-o", "heaptrack", *bare]},
                    max(3, options.rounds // 4))
    print(f"\nbeside heaptrack, {rate / 1e6:.2f} million mallocs a second; seconds of the work alone\n")
    print("| recorded by | ratio to bare | 95 % interval |\n|---|---|---|")
    seconds = {name: [float(re.search(r"^([\d.]+) [\d.]+ \d+$", one["printed"], re.M).group(1)) for one in ones]
               for name, ones in runs.items()}
    for name, of in (("omptier", "bare"), ("heaptrack", "bare"), ("heaptrack by omptier", None)):
        one, other = (seconds["heaptrack"], seconds["omptier"]) if of is None else (seconds[name], seconds[of])
        middle, low, high = interval([a / b for a, b in zip(one, other)])
        print(f"| {name} | {middle:.3f} | {low:.3f} to {high:.3f} |")
    expect(statistics.median(seconds["omptier"]) < statistics.median(seconds["heaptrack"]), "heaptrack is cheaper")


def table_of_starts():
    print("\nstart and end of a program that does nothing, milliseconds more than bare\n")
    print("| source | wall | CPU |\n|---|---|---|")
    nothing = [options.workloads, "nothing"]
    commands = {"bare": nothing, **{source: recorded(*nothing, events=source) for source in ("none", "perf", "timer")}}
    runs = in_turns(commands, 3 if options.short else 20)
    for source in "none", "perf", "timer":
        more = {measure: statistics.median(1000 * (b[measure] - a[measure]) for a, b in zip(runs["bare"], runs[source]))
                for measure in ("wall", "cpu")}
        print(f"| {source} | {more['wall']:.1f} | {more['cpu']:.1f} |")


def instructions(*work, **variables):
    output = run(["valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null", options.workloads, *work],
                 OMP_NUM_THREADS="1", LD_LIBRARY_PATH=libraries, **variables)["errors"]
    return int(re.search(r"Collected : (\d+)", output).group(1))


def table_of_instructions():
    tool = {"OMP_TOOL_LIBRARIES": os.path.join(libraries, "libomptier_ompt.so"), "OMPTIER_EVENTS": "none",
            "OMPTIER_PROFILE": os.path.join(folder.name, "counted.profile")}
    whole = {**tool, "LD_PRELOAD": os.path.join(libraries, "libomptier_preload.so"),
             "OMPTIER_RECORD": os.path.realpath(options.workloads)}
    print("\ninstructions by callgrind, one thread (others would be counted while they wait), sampling off: the idle tool\n")
    print("| of | bare | recorded | more | limit | kept |\n|---|---|---|---|---|---|")
    few, many = 2000, 12000
    for name, limit, variables, work in (("a barrier", BARRIER_LIMIT, tool, ["barriers"]), ("a region", REGION_LIMIT, tool, ["regions"]),
                                         ("malloc and free", PAIR_LIMIT, whole, ["allocate"])):
        def each(variables):
            rest = ["0"] if name == "malloc and free" else []
            counts = [instructions(*work, str(count), *rest, **variables) for count in (few, many)]
            return (counts[1] - counts[0]) / (many - few)

        bare, counted = each({}), each(variables)
        kept = expect(counted - bare <= limit, f"{name}: {counted - bare:.0f} instructions more > {limit}", timed=False)
        print(f"| {name} | {bare:.0f} | {counted:.0f} | {counted - bare:.0f} | {limit} | {kept} |", flush=True)
    # Time, for comparison: of barriers and regions, with and without the tool.
    print("\n| of | bare, ns | idle tool, ns |\n|---|---|---|")
    count = 20_000 if options.short else 300_000
    for name, work in ("a barrier", "barriers"), ("a region", "regions"):
        def nanoseconds(variables):
            return [1e9 * float(run([options.workloads, work, str(count)], LD_LIBRARY_PATH=libraries, **variables)["printed"].split()[0]) / count
                    for _ in range(2 if options.short else 7)]

        print(f"| {name} | {statistics.median(nanoseconds({})):.0f} | {statistics.median(nanoseconds(tool)):.0f} |", flush=True)


tables = {"time": table_of_times, "start": table_of_starts, "heaptrack": table_of_peer, "instructions": table_of_instructions}
for table in options.only:
    tables[table]()
folder.cleanup()
for failure in failures:
    print(f"NOT KEPT: {failure}")
sys.exit(1 if failures else 0)
