#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# cli.py <case> --omptier PATH --clang CC --gcc CC: what does nothing says so, in one line, before or after the program
# runs; wrong values are refused; what is printed for other programs to read can be read.
import json
import os
import pathlib
import re
import subprocess
import time

from recording import Recorder, check, run_case, site

PROGRAM = """
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
static char *volatile first, *volatile second;
int main(int count, char** words) {
  unsigned rounds = count > 1 ? (unsigned)atoi(words[1]) : 1, sum = 0;
  first = malloc(SIZE), second = malloc(SIZE);
  memset(first, 1, SIZE), memset(second, 2, SIZE);
  for (unsigned round = 0; round < rounds; ++round)
    for (int i = 0; i < SIZE; i += 64)
      sum += (unsigned)first[i] + (unsigned)second[(i * 7919u) % SIZE];
  free(first), free(second);
  if (count > 2) usleep((unsigned)atoi(words[2]) * 1000);
  printf("%u\\n", sum);
  return 5;
}
"""
MIB = 1 << 20


class Bench(Recorder):
    def compile(self, name, *flags, source=PROGRAM, compiler=None, size=4 * MIB, ending=".c"):
        file = self.folder / (name + ending)
        file.write_text(source)
        self.run(compiler or self.options.gcc, "-O1", "-g", f"-DSIZE={size}", str(file), "-o", name, *flags)
        return f"./{name}"

    def one_line(self, *command, status=5, said=""):
        """The command's only line on stderr, which must hold these words."""
        done = self.run(self.omptier, *command, status=status)
        lines = [line for line in done.stderr.splitlines() if not line.startswith("omptier: recorded")]
        check(len(lines) == bool(said) and said in done.stderr, f"{command}: {done.stderr}, expected one line: {said}")
        return done.stderr


def case_plan(bench):
    """A plan of another program applies to nothing, which is said; --strict refuses it."""
    one, two = bench.compile("one"), bench.compile("two", size=3 * MIB)
    bench.run(bench.omptier, "sites", "-o", "one.plan", "--", one, status=5)
    for command in "run", "record":
        with_plan = [command, "--plan", "one.plan"]
        bench.one_line(*with_plan, "--", one)
        bench.one_line(*with_plan, "--", two, said="one.plan was made for one: none of its 2 entries applies to ./two")
        bench.one_line(*with_plan, "--strict", "--", two, status=2, said="was made for one")
        bench.one_line(*with_plan, "--strict", "--", "sh", "-c", one, said="no profile" if command == "record" else "")
    (bench.folder / "three").write_bytes((bench.folder / "one").read_bytes())
    (bench.folder / "three").chmod(0o755)
    bench.one_line("run", "--plan", "one.plan", "--strict", "--", "./three")  # the same build under another name


def case_strategy(bench):
    """A strategy and its capacity govern malloc's blocks; a capacity alone governs nothing, which is said."""
    one = bench.compile("one")
    first_come = ["--strategy", "first-come", "--capacity"]
    for command in "run", "record":
        bench.one_line(command, *first_come, "dram:1M", "--", one,
                       said="4194304 bytes fit into no memory that the strategy allows")
        bench.one_line(command, *first_come, "dram:64M", "--", one)
        bench.one_line(command, "--strategy", "fastest", "--", one, status=2, said='"fastest" is no strategy')
    bench.one_line("run", "--capacity", "dram:1M", "--", one, said="add --strategy first-come")
    bench.one_line("run", "--capacity", "dram:1M", "--", "sh", "-c", one)  # may start a program with traits
    static = bench.compile("static", "-static")
    bench.one_line("run", *first_come, "dram:1M", "--", static, said="nothing is placed")
    bench.one_line("run", "--strict", *first_come, "dram:1M", "--", static, status=2, said="nothing is placed")


def case_online(bench):
    """Where there is one kind of memory nothing is moved, which is said; the program runs as without. A plan that was
    learned is used, also if it is of another program, which is said; options that contradict are refused."""
    one = bench.compile("one")
    nothing = "only one kind of memory may be used here"
    bench.one_line("run", "--online", "--", one, said=nothing)
    bench.one_line("run", "--online", "--learn", "learned.plan", "--", one, said=nothing)
    check(not (bench.folder / "learned.plan").exists(), "a plan was written without a profile")
    bench.one_line("run", "--learn", "learned.plan", "--", one, status=2, said="add --online")
    bench.one_line("run", "--online", "--learn", "no/learned.plan", "--", one, status=2, said="there is no folder")
    for other in ("--plan", "x.plan"), ("--strategy", "first-come"), ("--where", "-"):
        bench.one_line("run", "--online", *other, "--", one, status=2, said="excludes")
    bench.run(bench.omptier, "sites", "-o", "one.plan", "--", one, status=5)
    done = bench.run(bench.omptier, "run", "--online", "--learn", "one.plan", "--", one, status=5)
    check("places by one.plan, learned before" in done.stderr, done.stderr)
    two = bench.compile("two", size=3 * MIB)
    done = bench.run(bench.omptier, "run", "--online", "--learn", "one.plan", "--", two, status=5)
    check("none of its 2 entries applies to ./two" in done.stderr, done.stderr)
    (bench.folder / "one.plan").write_text("nonsense")
    done = bench.run(bench.omptier, "run", "--online", "--learn", "one.plan", "--", one, status=5)
    check("one.plan:1" in done.stderr and "stays as it is" in done.stderr, done.stderr)
    check((bench.folder / "one.plan").read_text() == "nonsense", "a file that is no plan was overwritten")


def case_profile(bench):
    """No profile: said before the program runs if nothing can be written, else behind it."""
    one = bench.compile("one")
    script = bench.folder / "script"
    script.write_text(f"#!/bin/sh\n{one}\n")
    script.chmod(0o755)
    said = "no profile was written: ./script started no program with an OpenMP runtime; --children all"
    bench.one_line("record", "-o", "s.profile", "--", "./script", said=said)
    (bench.folder / "good").write_text("#!/bin/sh\nexit 0\n")
    (bench.folder / "good").chmod(0o755)
    bench.one_line("record", "--strict", "--", "./good", status=125, said="no profile was written")
    bench.one_line("record", "--children", "all", "-o", "s.profile", "--", "./script")
    for output, why in (("/proc/p.profile", "cannot be written to"), ("-", "name a file"), ("no/p.profile", "no folder")):
        bench.one_line("record", "-o", output, "--", one, status=2, said=why)
    for command in ("run", "--where"), ("sites", "-o"):
        bench.one_line(*command, "no/file", "--", one, status=2, said="there is no folder")


def case_exact(bench):
    """Programs of omptier-cc and omptier-c++: malloc's and new's blocks, with OpenMP and without."""
    wrapper = str(pathlib.Path(bench.omptier).parent / "omptier-c")
    source = """
#include <cstdio>
#include <vector>
static std::vector<double> before_main(1 << 16, 1.0);
int main() {
  std::vector<double> values(1 << 16, 2.0);
  double sum = 0;
#pragma omp parallel for reduction(+ : sum)
  for (int i = 0; i < 1 << 16; ++i) sum += values[i] * before_main[i];
  return sum > 0 ? 5 : 0;
}
"""
    libraries = "-L" + bench.libraries
    for name, flags in (("with", ["-fopenmp", libraries]), ("without", [])):
        program = bench.compile(name, *flags, source=source, compiler=wrapper + "++", ending=".cpp")
        bench.record(program, status=5)
        report = bench.report()
        check(report["runs"][0]["source"] == "exact", f"{report['runs']}")
        for vector in "values", "before_main":
            found = site(report, vector)
            loads = found["accesses"]["scattered_load"] + found["accesses"]["streamed_load"]
            check(found["bytes_peak"] == 8 << 16 and loads == 8 << 16, f"{name}: {found}")
    program = bench.compile("plain", compiler=wrapper + "c")
    bench.record(program, "3", status=5)
    found = site(bench.report(), "first")
    loads = found["accesses"]["scattered_load"] + found["accesses"]["streamed_load"]
    check(loads == 3 * 4 * MIB // 64, f"{found}")
    # Under a plan, too: the placed blocks are no malloc's, whose sizes stand before them.
    bench.run(bench.omptier, "sites", "-o", "plain.plan", "--", program, status=5)
    bench.one_line("record", "-o", "planned.profile", "--plan", "plain.plan", "--", program, "3")
    check(site(bench.report("planned.profile"), "first")["bytes_peak"] == 4 * MIB, "not recorded under a plan")


def recorded(bench, name="one", size=4 * MIB):
    bench.record(bench.compile(name, size=size), "1000", status=5, log=name + ".profile", options=("--rate", "1000"))
    return name + ".profile"


def case_advise(bench):
    """Plan and JSON on standard output, the target's sizes as assumed, C source that compiles."""
    profile, small = recorded(bench), ("--machine", "dram-hbm-nvm", "--capacity", "dram:4M,hbm:4M", "--threads", "2")
    plan = json.loads(bench.run(bench.omptier, "advise", profile, *small, "-o", "-").stdout)
    check(plan["version"] == 1 and len(plan["entries"]) >= 2, f"{plan}")
    check(not (bench.folder / "-").exists(), "a file named -")
    advice = json.loads(bench.run(bench.omptier, "advise", profile, *small, "--json", "-o", "p.plan").stdout)
    check(json.loads((bench.folder / "p.plan").read_text()) == plan, "another plan with --json")
    check(advice["version"] == 1 and advice["threads"] == 2 and not advice["threads_as_recorded"], f"{advice}")
    check([tier["capacity"] for tier in advice["tiers"]][:2] == [4 * MIB, 4 * MIB], f"{advice['tiers']}")
    placed = {one["label"].split()[0]: one for one in advice["sites"]}
    check(placed["first"]["kind"] and placed["first"]["bytes"] >= 4 * MIB and
          placed["first"]["low"] <= placed["first"]["share"] <= placed["first"]["high"], f"{placed}")
    bench.run(bench.omptier, "advise", profile, "--json", "-o", "-", status=2)
    check(not advice["strategies"], "compared unasked")
    compared = json.loads(bench.run(bench.omptier, "advise", profile, *small, "--json", "--compare").stdout)
    check(all(of["predicted_time"] >= 0.999 * advice["predicted_time"] for of in compared["strategies"]), f"{compared}")
    for strategy in compared["strategies"]:
        other = json.loads(bench.run(bench.omptier, "advise", profile, *small, "--json", "--strategy",
                                     strategy["name"]).stdout)
        check(abs(other["predicted_time"] - strategy["predicted_time"]) <= 1e-6 * strategy["predicted_time"], f"{other}")
    check("\n  hotset " in bench.run(bench.omptier, "advise", profile, *small, "--compare").stdout, "no table")
    kept = bench.run(bench.omptier, "advise", profile, *small, "--keep", "first=nvm", "--json").stdout
    check([one["kind"] for one in json.loads(kept)["sites"] if one["label"].startswith("first")] == ["nvm"], kept)
    after_a_plan(bench, profile, small)
    said = bench.run(bench.omptier, "advise", profile, "--machine", "xeon-max-flat").stderr
    check("as small as it is emulated" in said and "1 thread as recorded" in said and "--capacity" in said, said)
    check("emulated" not in bench.run(bench.omptier, "advise", profile, *small).stderr, "assumed, though all is named")
    text = bench.run(bench.omptier, "advise", profile, *small).stdout
    source = "#include <ompx_memory.h>\n" + text.split("allocators:\n", 1)[1].split("\n\n", 1)[1]
    source += "int main(void) { return first_alloc == omp_null_allocator || second_alloc == omp_null_allocator; }\n"
    (bench.folder / "traits.c").write_text(source)
    include = pathlib.Path(__file__).resolve().parents[2] / "include"
    for compiler in bench.options.clang, bench.options.gcc:
        bench.run(compiler, "-std=gnu11", "-Wall", "-Wextra", "-Werror", "-fopenmp", f"-I{include}",
                  f"-I{pathlib.Path(bench.libraries).parent / 'include-omp'}", "traits.c", "-o", "traits",
                  "-L" + bench.libraries, "-lomptier", f"-Wl,-rpath,{bench.libraries}")
        bench.run(bench.omptier, "run", "--", "./traits")


def after_a_plan(bench, profile, small):
    """p.plan is what is advised: kept, also when the program was rebuilt; not when it is turned round."""
    before = json.loads((bench.folder / "p.plan").read_text())

    def places(plan):  # the order of the entries follows the samples
        return sorted((entry["label"].split()[0], entry["kinds"][0]) for entry in plan["entries"])

    def advised(*how):
        advice = json.loads(bench.run(bench.omptier, "advise", *how, *small, "--json", "-o", "q.plan").stdout)
        return advice["after"], places(json.loads((bench.folder / "q.plan").read_text()))

    placed = places(before)
    check(advised(profile)[0] is None, "after no plan")
    after, kept = advised(profile, "--after", "p.plan")
    check(after["kept"] and after["change_saves"] <= 1e-6 and kept == placed, f"{after} {kept}")
    check("plan is kept" in bench.run(bench.omptier, "advise", profile, *small, "--after", "p.plan").stdout, "not said")
    first = (bench.folder / profile).read_bytes()
    after, kept = advised(recorded(bench, size=4 * MIB - 65536), "--after", "p.plan")
    check(after["kept"] and kept == placed, f"the plan of an earlier build: {after} {kept}")
    for entry in before["entries"]:
        entry["kinds"].reverse()
    (bench.folder / "round.plan").write_text(json.dumps(before))
    (bench.folder / profile).write_bytes(first)
    after, kept = advised(profile, "--after", "round.plan")
    check(not after["kept"] and after["change_saves"] > 0.02 and kept == placed, f"{after} {kept}")
    check("of the time with the earlier plan" in
          bench.run(bench.omptier, "advise", profile, *small, "--after", "round.plan").stdout, "not said")
    bench.one_line("advise", recorded(bench, "two"), *small, "--after", "p.plan", status=2, said="places nothing of what was recorded")
    bench.one_line("advise", profile, *small, "--after", "none.plan", status=2, said="--after: none.plan")
    bench.one_line("advise", profile, *small, "--after", "p.plan", "--strategy", "idp", status=2, said="--after")


NVDIMM = ("--machine", "nvdimm", "--threads", "2")


def advice_at(bench, profile, capacity, *more):
    advice = json.loads(bench.run(bench.omptier, "advise", profile, *NVDIMM, "--capacity", capacity, "--json", *more).stdout)
    kinds = {}  # by object: bytes in each kind
    for one in advice["sites"]:
        if one["kind"]:
            kinds.setdefault(one["label"].split()[0], {}).setdefault(one["kind"], 0)
            kinds[one["label"].split()[0]][one["kind"]] += one["bytes"]
    return advice, {name: max(of, key=of.get) for name, of in kinds.items()}


def without_samples(bench, target):
    """What rests on samples has no interval, and accesses that were not seen change nothing."""
    bench.record("./one", "10", status=5, log="none.profile", options=("--events", "none"))
    said = json.loads(bench.run(bench.omptier, "explain", "first", "none.profile", *target, "--json").stdout)
    prices = [kind["price"] for kind in said["kinds"] if kind["price"]]
    check(prices and all(price["low"] is None and price["high"] is None for price in (*prices, said["gain"])), f"{said}")
    check(said["samples"] == 0 and said["other_importance"] is None, f"{said}")
    text = bench.run(bench.omptier, "explain", "first", "none.profile", *target).stdout
    check("accesses do not" not in text and "by the samples" not in text, text)
    curve = json.loads(bench.run(bench.omptier, "whatif", "none.profile", *NVDIMM, "--capacity", "dram:1M..8M", "--points", "3", "--json").stdout)
    check(all(point["by_samples"] is None for point in curve["points"]), f"{curve}")


def case_explain(bench):
    """What would change a decision does change it when advise tries it; what cannot be explained is one line."""
    profile, target = recorded(bench), (*NVDIMM, "--capacity", "dram:5M,nvm:1G")
    placed = advice_at(bench, profile, "dram:5M,nvm:1G")[1]
    homes = set()
    for name in "first", "second":
        said = json.loads(bench.run(bench.omptier, "explain", name, profile, *target, "--json").stdout)
        check(said["label"].split()[0] == name and said["kind"] == placed[name] and said["samples"] > 0, f"{said}")
        check(said["gain"]["low"] <= said["gain"]["value"] <= said["gain"]["high"], f"{said['gain']}")
        check(abs(sum(kind["part"] for kind in said["kinds"]) - 1) < 1e-6, f"{said['kinds']}")
        homes.add(said["kind"])
    check(len(said["other_capacities"]) == 1, f"{said}")
    label = said["label"]
    other = said["other_capacities"][0]
    there = advice_at(bench, profile, other["option"] + ",nvm:1G")[1]["second"]
    check(there == other["goes_to"] != said["kind"], f"{other}: advise says {there}")
    stays = advice_at(bench, profile, f"dram:{other['stays_with']},nvm:1G")[1]["second"]
    check(stays == said["kind"], f"{other}: advise says {stays} on the other side")
    check(homes == {"dram", "nvm"}, f"both in {homes}")
    text = bench.run(bench.omptier, "explain", "first", profile, *target).stdout
    for part in "Seen: ", "Time of the program with all of it in one kind", "What would change this", "The whole plan: ":
        check(part in text, f"no '{part}' in {text}")
    for name, said in (("s", "may be "), ("fist", "no allocation or static has"), ("statics of one", "no plan reaches it")):
        bench.one_line("explain", name, profile, *target, status=2, said=said)
    bench.one_line("explain", "first", profile, *target, "--keep", "first=nvm", status=2, said="--keep says where")
    bench.one_line("explain", "first", profile, "--machine", "nvdimm", "--capacity", "nvm:0", status=2, said="only one kind of memory")
    bench.one_line("explain", "first", status=2, said="no profile is named: omptier explain NAME")
    bench.one_line("explain", profile, "first", *target, status=2, said="is a profile; the name comes first")
    part = label.upper() + ", 25 % of it in 2 ranges"
    again = json.loads(bench.run(bench.omptier, "explain", part, profile, *target, "--json").stdout)
    check(again["label"] == label, f"{part}: {again['label']}")
    bench.one_line("explain", status=2, said="no allocation is named")
    why = bench.run(bench.omptier, "advise", profile, *target, "--why").stdout
    check("the program would take" in why or "of the time, but has room for" in why, f"no alternatives: {why}")
    check(all(one["alternative"] is None for one in advice_at(bench, profile, "dram:5M")[0]["sites"]), "unasked")
    without_samples(bench, target)


def case_whatif(bench):
    """The curve never rises, ends where advise is, and names what is enough; wrong ranges are one line."""
    profile = recorded(bench)
    curve = json.loads(bench.run(bench.omptier, "whatif", profile, *NVDIMM, "--capacity", "dram:1M..32M,nvm:1G", "--json").stdout)
    points = curve["points"]
    check([point["capacity"] for point in points] == sorted({point["capacity"] for point in points}), f"{points}")
    check(points[0]["capacity"] == 0 and points[-1]["capacity"] == 32 * MIB and len(points) >= 12, f"{points}")
    times = [point["predicted_time"] for point in points]
    check(all(after <= before for before, after in zip(times, times[1:])), f"rises: {times}")
    check(abs(times[0] - curve["slowest_time"]) <= 1e-6 * times[0] and times[-1] < times[0] / 1.2, f"{times}")
    largest = advice_at(bench, profile, "dram:32M,nvm:1G")[0]
    check(abs(times[-1] - largest["predicted_time"]) <= 0.01 * times[-1], f"{times[-1]}, advise: {largest['predicted_time']}")
    moved = {move["label"].split()[0] for point in points for move in point["moves"] if move["now"] > move["before"]}
    check("second" in moved, f"{moved}")
    enough = [point for point in points if point["capacity"] == curve["enough"]]
    check(len(enough) == 1, f"{curve['enough']}")
    check(times[0] - enough[0]["predicted_time"] >= 0.95 * (times[0] - times[-1]), f"{enough}")
    text = bench.run(bench.omptier, "whatif", profile, *NVDIMM, "--capacity", "nvm:1G,dram:0..32M", "--points", "4").stdout
    check(" *" in text and " of DRAM bring " in text and " of what 32.0 MiB save" in text, text)
    few = bench.run(bench.omptier, "whatif", profile, *NVDIMM, "--capacity", "nvm:1G,dram:64K..96K", "--points", "3").stdout
    check("so little is not worth it; try up to " in few, few)
    tight = (*NVDIMM, "--capacity", "nvm:1M,dram:1M..32M", "--points", "4")
    check("(if NVM could hold it)" in (text := bench.run(bench.omptier, "whatif", profile, *tight).stdout) and "lie nowhere" in text, text)
    tight = json.loads(bench.run(bench.omptier, "whatif", profile, *tight, "--json").stdout)
    check(not tight["slowest_has_room"] and curve["slowest_has_room"], "not in the JSON")
    check(tight["points"][0]["nowhere"] > 0 and tight["points"][-1]["nowhere"] == 0, f"{tight['points']}")
    for capacity, said in (("dram:8M", "name one kind with a range"), ("dram:8M..4M", "does not rise"), ("dram:4M..4M", "does not rise"),
                           ("dram:x..4M", "is not a size"), ("dram:1M..", "is not a size"), ("ram:1M..2M", "does not begin with"),
                           ("dram:1M..2M,nvm:1G..2G", "name one kind"), ("hbm:1M..2M", "has no HBM"), ("nvm:1G..2G", "slowest kind"),
                           ("dram:1M..2M,dram:4M", "names a kind twice"), ("dram:4..128M", '"dram:4" means 4 bytes'),
                           ("dram:4M-128M", "KIND:LOW..HIGH"), ("dram:4M:128M", "KIND:LOW..HIGH"), ("dram:8M...16M", "KIND:LOW..HIGH"),
                           ("dram:1M..2M,nvm:0", "only one kind of memory")):
        bench.one_line("whatif", profile, *NVDIMM, "--capacity", capacity, status=2, said=said)
    bench.one_line("whatif", profile, *NVDIMM, status=2, said="--capacity is required")
    bench.one_line("whatif", profile, *NVDIMM, "--capacity", "dram:1M..2M", "--points", "2", status=2, said="--points")


def diff_of_edited_plans(bench, target, objects):
    """Kinds that the machine lacks, what is not named, small blocks, and a build with other lines."""
    before = json.loads((bench.folder / "a.plan").read_text())

    def differences(change, *more):
        plan = json.loads((bench.folder / "a.plan").read_text())
        change(plan)
        (bench.folder / "c.plan").write_text(json.dumps(plan))
        return json.loads(bench.run(bench.omptier, "diff", "a.plan", "c.plan", *more, "--json").stdout)

    def lacking(plan):
        for entry in plan["entries"]:
            entry["kinds"].insert(0, "hbm")

    def moved_lines(plan):
        for module in plan["modules"]:
            module["identity"] = "build-id:" + "5" * 40
        for entry in plan["entries"]:
            entry["label"] = re.sub(r":(\d+)", lambda line: f":{int(line[1]) + 1}", entry["label"])

    def small_blocks(plan):
        plan["entries"][0]["least_block"] = 4096

    def in_a_region(plan):
        entry = plan["entries"][0]
        plan["entries"].append({**entry, "region": entry["frames"], "kinds": entry["kinds"][::-1]})

    check(not differences(lacking, *target)["differences"], "HBM is not passed over")
    for more in (), target:
        region = differences(in_a_region, *more)
        check(region["objects"] == objects and [one["region"] is None for one in region["differences"]] == [False], f"{region}")
    text = bench.run(bench.omptier, "diff", "a.plan", "c.plan").stdout
    check(f"0 of {objects} objects are placed differently; while a region runs, or for what is not named: 1 difference." in text, text)
    check(not differences(moved_lines)["differences"], "lines count")
    one = differences(small_blocks)["differences"]
    check(len(one) == 1 and "blocks from 4.00 KiB" in one[0]["b"], f"{one}")
    check(not before["rest"], f"{before['rest']}")
    rest = differences(lambda plan: plan.update(rest=["nvm"]))
    check(rest["objects"] == objects and [one["b"] for one in rest["differences"]] == ["nvm"], f"{rest}")
    nvm = differences(lambda plan: (plan.update(rest=["nvm"]), plan["entries"].pop()), *target)
    check(nvm["predicted_time"]["unnamed_in"] == {"a": None, "b": "nvm"}, f"{nvm['predicted_time']}")


def case_diff(bench):
    """What differs between two plans, without a profile and with; priced as advise prices the plans."""
    profile = recorded(bench)
    small = advice_at(bench, profile, "dram:64K,nvm:1G", "-o", "a.plan")[0]
    large = advice_at(bench, profile, "dram:32M,nvm:1G", "-o", "b.plan")[0]
    target = (profile, *NVDIMM, "--capacity", "dram:32M,nvm:1G")
    # A part of one array may stay in NVM, so that both memories are used at once.
    second, = (one for one in json.loads((bench.folder / "b.plan").read_text())["entries"] if one["label"].startswith("second"))
    moving = sum(part["end"] - part["begin"] for part in second.get("parts", ()) if part["kind"] != second["kinds"][0])
    in_dram = 4 * MIB - moving if second["kinds"][0] == "dram" else moving
    check(in_dram >= 2 * MIB, f"{second}")
    for more in (), target:
        found = json.loads(bench.run(bench.omptier, "diff", "a.plan", "b.plan", *more, "--json").stdout)
        moved = {one["label"].split()[0]: one for one in found["differences"]}
        check(moved["second"]["a"].startswith("nvm"), f"{moved}")
        begins = "dram" if more else second["kinds"][0]  # with shares of a profile the larger one comes first
        check(moved["second"]["b"].startswith(begins) and "dram" in moved["second"]["b"], f"{moved}")
        check((found["predicted_time"] is None) == (not more), f"{found}")
        same = json.loads(bench.run(bench.omptier, "diff", "b.plan", "b.plan", *more, "--json").stdout)
        check(not same["differences"] and same["objects"] == found["objects"], f"{same}")
    times = found["predicted_time"]
    for name, advice in ("a", small), ("b", large):
        check(abs(times[name] - advice["predicted_time"]) <= 0.01 * times[name], f"{name}: {times}, advise: {advice['predicted_time']}")
    saved = sum(one["saves"] for one in found["differences"])
    check(moved["second"]["saves"] > 0 and saved > 0, f"{saved}: {times}")
    text = bench.run(bench.omptier, "diff", "a.plan", "b.plan", *target).stdout
    check("NVM -> DRAM: alone, saves " in text and "against A" in text, text)
    check("alike" in bench.run(bench.omptier, "diff", "a.plan", "a.plan").stdout, "not said")
    check("both take the same time" in bench.run(bench.omptier, "diff", "a.plan", "a.plan", *target).stdout, "not said")
    diff_of_edited_plans(bench, target, found["objects"])
    bench.one_line("diff", "a.plan", status=2, said="two plans or two profiles are compared")
    bench.one_line("diff", "a.plan", "none.plan", status=2, said="none.plan")
    bench.one_line("diff", "a.plan", "b.plan", *NVDIMM, status=2, said="profiles")
    bench.one_line("diff", "a.plan", "b.plan", recorded(bench, "two"), *target[1:], status=2, said="places nothing of what was recorded")


def case_time(bench):
    """run --time: what the plan's advice expected, where it holds."""
    profile, target = recorded(bench), ("--machine", "dram-hbm-nvm", "--threads", "2")
    bench.run(bench.omptier, "advise", profile, *target, "-o", "p.plan")
    plan = json.loads((bench.folder / "p.plan").read_text())
    check(plan["recorded_seconds"] > 0 and plan["predicted_seconds"] > 0, f"{plan}")

    def said(status=0):
        return bench.run(bench.omptier, "run", "--time", "--plan", "p.plan", "--", "./one", "10", status=status).stderr

    check("ended with status 5" in said(5), "of a program that fails")
    bench.compile("one", source=PROGRAM.replace("return 5", "return 0"))
    check("made for another machine" in said(), "of another machine")
    plan["platform"] = json.loads(bench.run(bench.omptier, "topology", "--json").stdout)["fingerprint"]
    (bench.folder / "p.plan").write_text(json.dumps(plan))
    words = re.search(r"took (.+); the advice expected (.+) for the recorded input, which took (.+)", said())
    check(words and "by other figures" not in said(), "no times")
    # Made before this machine's memory was measured.
    fingerprint = plan["platform"]
    plan["platform"] = re.sub(r"[^,;]+GB/s", "1/1GB/s", fingerprint)
    check(plan["platform"] != fingerprint, f"{fingerprint} has no bandwidth")
    (bench.folder / "p.plan").write_text(json.dumps(plan))
    check("by other figures of this machine's memory" in said(), "of the same machine before it was measured")
    del plan["predicted_seconds"]
    (bench.folder / "p.plan").write_text(json.dumps(plan))
    check("no expected time" in said(), "of a plan that expects nothing")


def case_joined(bench):
    """Profiles of two programs are refused, unless forced."""
    profiles = recorded(bench), recorded(bench, "two", 3 * MIB)
    for command in "report", "advise":
        bench.one_line(command, *profiles, status=2, said="two.profile is a profile of two, one.profile one of one")
    bench.run(bench.omptier, "report", "--force", *profiles)


def case_running(bench):
    """A long run says how far it is, and its growing profile that it is not whole."""
    one = bench.compile("one")
    command = [bench.omptier, "record", "--status", "0.2", "-o", "r.profile", "--", one, "3", "1500"]
    with subprocess.Popen(command, cwd=bench.folder, env=bench.environment, text=True, stdout=subprocess.DEVNULL,
                          stderr=subprocess.PIPE) as process:
        deadline = time.monotonic() + 20
        log = bench.folder / "r.profile"
        while time.monotonic() < deadline and not (log.exists() and log.stat().st_size > 200):
            time.sleep(0.05)
        report = bench.run(bench.omptier, "report", "r.profile")
        stderr = process.communicate()[1]
    check("still runs: this is what it has recorded so far" in report.stderr, f"{report.stderr}")
    check("\n  still running, so far " in report.stdout, f"{report.stdout}")
    check(re.search(r"omptier record: after \d+ s: .* in 1 profile\n", stderr), stderr)
    ended = bench.run(bench.omptier, "report", "r.profile")
    check("still runs" not in ended.stderr and "still running" not in ended.stdout, "the program has ended")


def case_check(bench):
    """check --json; and which OpenMP runtime a program gets when it starts by itself."""
    source = "#include <omp.h>\nint main(void) { return omp_init_allocator(omp_default_mem_space, 0, 0) == 0; }\n"
    builds = {"runpath": (bench.options.clang, "-Wl,--enable-new-dtags,-rpath,/usr/lib/llvm-19/lib"),
              "stock": (bench.options.gcc,), "ours": (bench.options.clang, f"-Wl,--enable-new-dtags,-rpath,{bench.libraries}")}
    expected = {"runpath": ("limited", "aborts"), "stock": ("limited", "segmentation fault"), "ours": ("works", "OMPTier's")}
    for name, (compiler, *flags) in builds.items():
        program = bench.compile(name, "-fopenmp", *flags, f"-L{bench.libraries}", source=source, compiler=compiler)
        answer = json.loads(bench.run(bench.omptier, "check", "--json", program, status=None).stdout)
        check(answer["version"] == 1 and answer["fails"] == any(f["state"] == "fails" for f in answer["findings"]),
              f"{answer}")
        found = [one for one in answer["findings"] if one["feature"] == "started by itself"]
        state, words = expected[name]
        check(len(found) == 1 and found[0]["state"] == state and words in found[0]["what"], f"{name}: {found}")
    (bench.folder / "cg.cpp").write_text("int main() {}\n")
    said = bench.one_line("topology", "--xml", "cg.cpp", status=125, said="cg.cpp: not an hwloc XML file")
    check("xml cg.cpp" not in said, f"advises to write over the source: {said}")


def wrong_advice(bench, profile):
    """Each says what is wrong and where: in the profile, the memory that may be used, the wishes, the machine."""
    machine, folder = ("--machine", "nvdimm"), bench.folder
    whole = (folder / profile).read_bytes()
    (folder / "empty.profile").write_bytes(b"")
    (folder / "short.profile").write_bytes(whole[:100])
    bench.run(bench.omptier, "advise", profile, *machine, "-o", "a.plan")
    idle = bench.compile("idle", source="int main(void) { return 5; }")
    bench.record(idle, status=5, log="idle.profile")
    for file, said in (("empty.profile", "record again"), ("short.profile", "record again"), ("a.plan", "not a profile"),
                       (".", "directory"), ("idle.profile", "")):
        bench.one_line("advise", file, *machine, status=2, said=f"omptier advise: {said and file + ': '}")
        check(said in bench.run(bench.omptier, "advise", file, *machine, status=2).stderr, f"{file}: not {said}")
    # A first part may or may not hold what can be placed: both times the cause is said.
    for part in (len(whole) // 2, len(whole) // 3, len(whole) * 9 // 10):
        (folder / "cut.profile").write_bytes(whole[:part])
        cut = bench.run(bench.omptier, "advise", "cut.profile", *machine, status=None)
        check("cut off" in cut.stderr and cut.returncode in (0, 2), f"{part} of {len(whole)} bytes: {cut}")
    for capacity, said in (("dram:0", "let --capacity leave two"), ("dram:0,nvm:0", "leaves no memory"), ("hbm", "hbm"),
                           ("dram:", "not a size"), ("dram:nan", "not a size"), ("dram:inf", "not a size"),
                           ("dram:-5M", "not a size"), ("dram:1M,dram:2M", "twice"), ("dram:99999999999T", "too large")):
        bench.one_line("advise", profile, *machine, "--capacity", capacity, status=2, said=said)
    bench.one_line("advise", profile, *machine, "--capacity", "hbm:1G", status=2, said="has no HBM, but DRAM, NVM; name those")
    bench.run(bench.omptier, "advise", profile, *machine, "--capacity", "hbm:0")  # none of it is wanted
    bench.one_line("advise", profile, *machine, "--capacity", "dram:4M", "--keep", "first=dram", "--keep", "second=dram",
                   status=2, said="beside what else is kept there")
    for threads in "0", "-1", "abc":
        bench.one_line("advise", profile, *machine, "--threads", threads, status=2, said="--threads")
    preset = bench.run(bench.omptier, "sandbox", "--describe", "nvdimm").stdout
    for figure in "nan", "inf", "-5", "0", "1e400":
        for old, new in (("local 300", f"local {figure}"), (" 12000 ", f" {figure} "), ("memory nvm 2G", f"memory nvm {figure}")):
            check(old in preset, f"no {old} in {preset}")
            (folder / "wrong.machine").write_text(preset.replace(old, new))
            bench.one_line("advise", profile, "--machine-file", "wrong.machine", status=2, said="wrong.machine:")


def case_values(bench):
    """Each option with a wrong value: one line, status 2, and the program does not run."""
    one, profile = bench.compile("one"), recorded(bench)
    for command in ("record --rate fast", "record --rate 0", "record --depth 99", "record --size 5X", "record --status 0",
                    "record --children some", "record --capacity dram", "record --plan none.plan", "record --runtime x",
                    "run --strategy only-ram", "run --capacity hbm:x", "run --plan none.plan", "run --plan a --strategy b",
                    "run --where no/f", "run --time", "sites --depth 0 -o f", "sandbox --machine none", "sandbox --machine nvdimm --timed=0",
                    "sandbox --machine nvdimm --env A", "sandbox --machine nvdimm --timeout -1"):
        bench.one_line(*command.split(), "--", one, status=2, said="omptier ")
    for command in ("advise --threads 0", "advise --machine none", "advise --capacity 5", "advise --nodes hbm",
                    "advise --strategy best --machine nvdimm", "advise --keep first --machine nvdimm",
                    "advise --keep none=nvm --machine nvdimm",
                    "advise --keep first=nvm --keep first=dram --machine nvdimm",
                    "advise --xml none", "advise -o no/f", "advise --json -o -", "report --sites x", "report no.profile"):
        bench.one_line(*command.split(), profile, status=2, said="omptier ")
    wrong_advice(bench, profile)
    bench.one_line("check", "--json", "--notices", status=2, said="omptier ")
    bench.one_line("check", "none", status=2, said="give the path of a program")


run_case(globals(), "clang", "gcc", recorder=Bench)
