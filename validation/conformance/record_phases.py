#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Phases in the report of record_phases.c: stretches between barriers, serial ones between regions, those
# that the program names; with the objects accessed in each, on our runtime and on GCC's libgomp.
# record_phases.py <case> --omptier PATH --program PATH [--stock FOLDER]
import re

from recording import Recorder, check, run_case


class Phases(Recorder):
    def __init__(self, options):
        super().__init__(options, **({"LD_LIBRARY_PATH": options.stock} if options.stock else {}))

    def recorded(self, *arguments):
        """The report on a run whose output is what it is without us."""
        program, stock = self.options.program, self.options.stock
        plain = self.run(program, *arguments, LD_LIBRARY_PATH=stock or self.libraries)
        result = self.record(program, *arguments,
                             options=(*(["--runtime", "own"] if stock else []), "--rate", "1000"))
        check(result.stdout == plain.stdout or "storm" in arguments, f"{plain} {result}")
        self.told = result.stderr
        report = self.report()
        check(report["samples"] >= 50 or "storm" in arguments, f"only {report['samples']} samples")
        return report


def regions(report, name):
    """More than one where it is called from several places."""
    found = [i for i, region in enumerate(report["regions"]) if region["label"].startswith(name + " ")]
    check(found, f"{name}: {[r['label'] for r in report['regions']]}")
    return found


def region(report, name):
    found = regions(report, name)
    check(len(found) == 1, f"{name}: {[r['label'] for r in report['regions']]}")
    return found[0]


def phases(report, kind, **wanted):
    return [i for i, phase in enumerate(report["phases"])
            if phase["kind"] == kind and all(phase[key] == value for key, value in wanted.items())]


def objects_of(report, phase):
    """Labels of the objects accessed in a phase with their parts, largest share first."""
    parts = [(part["share"], site["label"], part) for site in report["sites"]
             for part in site.get("phases", []) if part["phase"] == phase]
    return [(label, part) for _, label, part in sorted(parts, key=lambda part: -part[0])]


def total(report, phases, what):
    return sum(report["phases"][i][what] for i in phases)


def check_divided(report, name, rounds):
    """The two stretches of one_region, each with its own array."""
    number = region(report, name)
    by_line = {} # a compiler may have made two calls of one barrier
    for i in phases(report, "to_barrier", region=number):
        by_line.setdefault(report["phases"][i]["frames"][0]["line"], []).append(i)
    check(len(by_line) == 2, f"{by_line}")
    heavy, light = (by_line[line] for line in sorted(by_line))
    for barrier in heavy, light:
        check(total(report, barrier, "entries") == rounds, f"{[report['phases'][i] for i in barrier]}")
    check(total(report, heavy, "nanoseconds") > total(report, light, "nanoseconds") > 0, "times")
    whole = report["regions"][number]
    check(total(report, heavy + light, "nanoseconds") <= 1.01 * whole["nanoseconds"], f"{whole}")
    rest = phases(report, "to_end", region=number)
    check(total(report, rest, "entries") == whole["entries"], f"{rest}")
    divided = total(report, heavy + light + rest, "samples")
    check(divided >= 0.98 * whole["samples"], f"{divided} of {whole['samples']} samples are in a stretch")
    # The largest of those that a compiler split.
    return tuple(max(barrier, key=lambda i: report["phases"][i]["samples"]) for barrier in (heavy, light))


def case_stretches(bench):
    """One region with an explicit barrier and a loop's: two stretches, each with its own array."""
    report = bench.recorded("stretches", "200")
    heavy, light = check_divided(report, "one_region", 200)
    check(0.5 < report["phases"][heavy]["share"] < 0.95, f"{report['phases'][heavy]}")
    seen = []
    for phase in heavy, light:
        (label, part), *others = objects_of(report, phase)
        known = 1 - report["samples_without_address"] / report["samples"] # a busy machine's timers
        check(part["share"] > 0.8 * known and part["low"] <= part["share"] <= part["high"], f"{label} {part}")
        check(part["hot_ranges"] and sum(part["accesses"].values()) > 0, f"{part}")
        seen.append(label)
    check(seen[0] != seen[1], f"both stretches access {seen}")
    text = bench.text()
    check(len(re.findall(r"^  up to the barrier of .*record_phases\.c:\d+\) .* 200  ", text, re.M)) == 2, text)


def case_exact(bench):
    """Every access counted, those before OpenMP's start too: of the region's, 60 of 68 in one stretch, so none
    strays into the other."""
    report = bench.recorded("stretches", "20")
    check(report["runs"][0]["source"] == "exact", f"{report['runs']}")
    heavy, light = check_divided(report, "one_region", 20)
    both = report["phases"][heavy]["share"] + report["phases"][light]["share"]
    for phase, share in (heavy, 60 / 68), (light, 8 / 68):
        check(abs(report["phases"][phase]["share"] / both - share) < 0.005, f"{report['phases'][phase]}")
    check(0.36 < both < 0.41, f"{both}")  # the tables' setting up counts as well


def case_serial(bench):
    """Serial time belongs to what is between two regions; the regions have their entries."""
    report = bench.recorded("serial", "300")
    one, other = region(report, "one_region"), region(report, "other_region")
    for number in one, other:
        check(report["regions"][number]["entries"] == 5 and report["regions"][number]["threads"] == 2,
              f"{report['regions'][number]}")
    between = phases(report, "serial", after_region=other, before_region=one)
    check(len(between) == 1, f"{report['phases']}")
    check(report["phases"][between[0]]["entries"] == 5, f"{report['phases'][between[0]]}")
    check(report["phases"][between[0]]["share"] > 0.5, f"{report['phases'][between[0]]}")
    back = phases(report, "serial", after_region=one, before_region=other)
    check([report["phases"][i]["entries"] for i in back] == [4], f"{report['phases']}")
    check("between other_region" in bench.text(), bench.text())


def case_named(bench):
    """Phases as the program names them, beside its regions."""
    report = bench.recorded("named", "600")
    named = {report["phases"][i]["label"]: i for i in phases(report, "named")}
    check(set(named) == {"first", "second"}, f"{named}")
    first, second = (report["phases"][named[name]] for name in ("first", "second"))
    check(first["entries"] == second["entries"] == 1, f"{first} {second}")
    share = float(re.search(r"^first ([\d.]+)$", bench.told, re.MULTILINE).group(1))
    sampled = first["share"] / (first["share"] + second["share"])
    check(abs(sampled - share) < 0.05, f"{share}, sampled {sampled}: {first} {second}")
    check(objects_of(report, named["first"])[0][0] != objects_of(report, named["second"])[0][0], "objects")
    entries = sum(report["regions"][i]["entries"] for i in regions(report, "other_region"))
    check(entries == 20, f"{report['regions']}")
    check("phase, as the program names it" in bench.text(), bench.text())


def case_storm(bench):
    """Barriers as fast as they come: counted, the log no larger for it."""
    report = bench.recorded("storm")
    size = (bench.folder / "p.profile").stat().st_size
    counted = sum(report["phases"][i]["entries"] for i in phases(report, "to_barrier"))
    check(counted > 2000, f"{counted} barriers")
    check(size < 500_000, f"{size} bytes for {counted} barriers")


run_case(globals(), "program", recorder=Phases, optional=["stock"])
