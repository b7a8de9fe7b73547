#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""How good placements of whole programs are when fast memory is short: those of omptier advise, of every
strategy of the field, first come, and the best that trying finds. Each program is recorded once on this
computer, by samples of time, with a problem that is larger than its caches; plans are then run in timed
machines, with a problem that is as many times smaller. Capacities are parts of the footprint. Status 1 if
omptier's placement is more than 2 % slower than another strategy's anywhere, and pairs of further runs say so, too."""
import dataclasses
import hashlib
import itertools
import json
import math
import statistics
import sys

import published

MOST_TRIED = 8  # sites, of which all subsets are tried
SLACK = 1.03  # of a capacity, for pages and for arrays that have an edge
BEHIND = 1.02
PLAN_UNUSED = "5016"  # openmp-ext/base/notices.def
OURS, FIRST = "omptier", "first come"


@dataclasses.dataclass(frozen=True)
class Program:
    name: str
    size: int  # recorded; 1 is run in the machine
    recorded_steps: int
    words: tuple = ()  # before these
    steps: int = 1  # in the machine; the shortest counts


# The first step of lagrange has new pages where the others have kept ones; that of cg sets its vectors up, as
# every 25th does.
PROGRAMS = (Program("pagerank", 8, 360), Program("cg", 16, 300, steps=2), Program("lagrange", 16, 150, steps=2), Program("hydro", 16, 600),
            Program("hashjoin", 16, 180), Program("spmv", 16, 180))


@dataclasses.dataclass(frozen=True)
class Machine:
    name: str
    fast: str
    slow: str
    dilations: tuple

    def capacity(self, size):
        return f"{self.fast}:{int(size)},{self.slow}:16G"


# With 100, where emulation takes a larger part, pagerank's plan is 14 % faster than with 200 and with 400.
MACHINES = (Machine("icelake-optane-socket", "dram", "nvm", (200, 400)),
            Machine("xeon-max-flat", "hbm", "dram", (400,)))
THREADS = 4  # of the machines
PAIRS, STUDENT = 5, 2.776  # of the latter's distribution, for 95 % and that many pairs
ENOUGH = 3  # dilated seconds of a step
CAPACITIES = (12.5, 25, 50)  # percent of the footprint


class Campaign:
    """Profile, plans and runs of one program. The profile is kept, by this addition to its name."""

    def __init__(self, options, program, addition=""):
        self.options, self.program = options, program
        self.folder = (options.build / "published" / "capacity").resolve()
        self.folder.mkdir(parents=True, exist_ok=True)
        self.bin = (options.build / "bin").resolve()
        self.binary = (options.build / "benchmarks/published" / program.name).resolve()
        self.profile = self.folder / f"{'-'.join((program.name, *program.words))}{addition}.profile"
        if published.is_stale(self.profile, self.binary):
            self.record()
        self.footprint = sum(site["bytes"] for site in self.advise(MACHINES[0], 1 << 34)["sites"] if site["by_plan"])

    def record(self):
        print(f"recording {self.program.name}", file=sys.stderr, flush=True)
        self.profile.unlink(missing_ok=True)
        published.output_of(self.bin / "omptier", "record", "--rate", "500", "-o", self.profile, "--", self.binary,
                            *self.program.words, self.program.size, self.program.recorded_steps)

    def advise(self, machine, capacity, *further):
        return published.advise(self.options, machine.name, "--threads", THREADS, "--capacity",
                                machine.capacity(capacity), *further, self.profile, times=self.program.size)

    def planned(self, machine, capacity, *further):
        """Advice, and its plan."""
        file = self.folder / "advised.json"
        advice = self.advise(machine, capacity, *further, "-o", file)
        return advice, json.loads(file.read_text())

    def command(self, *how):
        return " ".join(map(str, (f"{self.bin}/omptier-model off; OMPTIER_VERBOSE=1", self.bin / "omptier", "run", *how,
                                  "--", self.binary, *self.program.words, 1, self.program.steps)))

    def run_plan(self, plan, machine, capacity):
        """The command. Equal placements have equal commands, so they are run once."""
        text = text_of(plan, machine.slow, self.program.size)
        file = self.folder / "plans" / f"{self.program.name}-{known_by(text)}.json"
        file.parent.mkdir(exist_ok=True)
        if not file.exists():
            file.write_text(text)
        limit = () if sum(bytes_in(entry, machine.fast) for entry in plan["entries"]) <= capacity else (
            "--capacity", machine.capacity(capacity / self.program.size * SLACK))
        return self.command(*limit, "--plan", file)


def text_of(plan, slow, smaller=1):
    """The plan for a problem that is so many times smaller, without what does not place anything."""
    entries, plan = [], json.loads(json.dumps(plan))
    for entry in plan["entries"]:
        kept = {name: entry[name] for name in ("instances", "frames", "static", "region", "least_block", "share") if name in entry}
        kept["kinds"] = list(dict.fromkeys((*entry["kinds"][:2 if "share" in entry else 1], slow)))
        if "parts" in entry:
            kept["parts"] = [{"begin": page_of(part["begin"] / smaller), "kind": part["kind"],
                              "end": page_of(part["end"] / smaller)} for part in entry["parts"]]
        entries.append(kept)
    named = [part for entry in entries for part in (*entry.get("frames", ()), *entry.get("region", ()), entry.get("static"))
             if part]
    used = sorted({part["module"] for part in named}, key=lambda number: plan["modules"][number]["identity"])
    for part in {id(part): part for part in named}.values():
        part["module"] = used.index(part["module"])
    entries.sort(key=lambda entry: json.dumps(entry, sort_keys=True))
    modules = [plan["modules"][number] for number in used]
    return json.dumps({"version": 1, "modules": modules, "entries": entries}, indent=1, sort_keys=True)


def known_by(text):
    return hashlib.sha256(text.encode()).hexdigest()[:12]


def page_of(byte):
    return round(byte / 4096) * 4096


def bytes_in(entry, kind):
    """At its peak, of all blocks together."""
    parts = sum(part["end"] - part["begin"] for part in entry.get("parts", ()) if part["kind"] == kind)
    others = sum(part["end"] - part["begin"] for part in entry.get("parts", ()))
    share = entry.get("share", 1)
    if share < 1 and entry["kinds"][1] == kind:
        return (1 - share) * entry["bytes"]
    return parts + (share * (entry["bytes"] - others) if entry["kinds"][0] == kind else 0)


@dataclasses.dataclass
class Cell:
    program: Program
    machine: Machine
    percent: float
    commands: dict  # by what places
    predicted: dict  # "gain" of our advices, by the names of commands

    def names(self):
        return [name for name in self.commands if not name.startswith("tried")]


def tried(campaign, machine, capacity):
    """A plan for each set of the sites that matter that fits into the fast memory."""
    advice, plan = campaign.planned(machine, capacity, "--strategy", "first-come")
    shares = {site["label"]: site["share"] for site in advice["sites"]}

    def matters(entry):
        return max(entry["bytes"] / campaign.footprint, shares.get(entry["label"], 0))
    entries = sorted((entry for entry in plan["entries"] if matters(entry) >= 0.01), key=matters, reverse=True)
    if len(entries) > MOST_TRIED:
        return []
    plans, sizes = [], [entry["bytes"] for entry in entries]
    for inside in itertools.product((True, False), repeat=len(entries)):
        used = sum(itertools.compress(sizes, inside))
        # More in DRAM is never worse than less; more in HBM may be, for its latency.
        full = all(used + size > capacity for size, is_in in zip(sizes, inside) if not is_in)
        if used > capacity or (machine.fast == "dram" and not full):
            continue
        for entry, is_in in zip(entries, inside):
            entry["kinds"] = [machine.fast if is_in else machine.slow]
        plans.append(json.loads(json.dumps(plan)))
    return plans


def make_cell(campaign, machine, percent):
    capacity = campaign.footprint * percent / 100
    limit = machine.capacity(capacity / campaign.program.size * SLACK)
    commands = {"all slow": campaign.command("--strategy", f"only-{machine.slow}"),
                "all fast": campaign.command("--strategy", f"only-{machine.fast}"),
                FIRST: campaign.command("--strategy", "first-come", "--capacity", limit)}
    ours, plan = campaign.planned(machine, capacity, "--compare")
    for name in (strategy["name"] for strategy in ours["strategies"]):
        other = campaign.planned(machine, capacity, "--strategy", name)[1]
        commands[name] = campaign.run_plan(other, machine, capacity)
    commands[OURS] = campaign.run_plan(plan, machine, capacity)
    for number, one in enumerate(tried(campaign, machine, capacity)):
        commands[f"tried {number}"] = campaign.run_plan(one, machine, capacity)
    return Cell(campaign.program, machine, percent, commands, {OURS: ours["gain"]})


def measure(options, cells):
    """Seconds by machine and command; which of the runs were emulated too slowly. What is quick is measured
    again with more dilation, where emulation takes a smaller part of the time; also what was emulated too slowly."""
    seconds, late = {}, set()
    for machine in dict.fromkeys(cell.machine for cell in cells):
        commands = dict.fromkeys(command for cell in cells if cell.machine == machine
                                 for command in cell.commands.values())
        for dilation in machine.dilations:
            if not commands:
                break
            for result in published.run_all(options, machine.name, dilation, list(commands), timeout=300):
                if PLAN_UNUSED in result["errors"]:
                    sys.exit(f"{result['command']}: {result['errors'].strip()}")
                key, time = (machine, result["command"]), float(result["output"])
                (late.add if published.is_too_slow(result) else late.discard)(key)
                seconds[key] = time / dilation
                if time > ENOUGH and key not in late:
                    del commands[result["command"]]
    return seconds, late


def in_time(cells, late):
    """The cells whose runs all are as fast as shown; says which are left out."""
    good = []
    for cell in cells:
        names = [name for name, command in cell.commands.items() if (cell.machine, command) in late]
        if names:
            print(f"left out, emulated more slowly than the machine: {cell.program.name}, {cell.machine.name}, "
                  f"{cell.percent:g} %: {', '.join(names)}", flush=True)
        else:
            good.append(cell)
    return good or sys.exit("nothing was emulated fast enough; leave the host's processors to it")


def times_of(cell, seconds):
    return {name: seconds[cell.machine, command] for name, command in cell.commands.items()}


def print_cells(cells, seconds):
    """Shares of a gap that is none are left out. Returns the strategies, and points of the picture."""
    names = [name for name in cells[0].names() if name not in ("all slow", "all fast")]
    print("\nshare (%) of the gap between all in slow and all in fast memory that is closed\n")
    print("| program | machine | capacity | slow over fast | " + " | ".join(names) +
          " | best found | of | omptier's gain | predicted |")
    print("|---|---|---|---|" + "---|" * (len(names) + 4))
    points = []
    for cell in cells:
        times = times_of(cell, seconds)
        slow, fast, best = times["all slow"], times["all fast"], best_of(times)
        shown = []
        for name, time in {**{name: times[name] for name in names}, "best found": best}.items():
            closed = 100 * (slow - time) / (slow - fast) if slow > 1.02 * fast else None
            shown.append("-" if closed is None else f"{closed:.0f}")
            points.append({"program": cell.program.name, "machine": cell.machine.name, "capacity": cell.percent,
                           "strategy": name, "closed": closed, "over the best": time / best})
        print(f"| {cell.program.name} | {cell.machine.name} | {cell.percent:g} % | {slow / fast:.2f} | " +
              " | ".join(shown) + f" | {len(set(cell.commands.values()))} | {slow / times[OURS]:.2f} | "
              f"{cell.predicted[OURS]['value']:.2f} |")
    return names, points


def best_of(times):
    return min(time for name, time in times.items() if name != "all fast")


def summarise(cells, seconds, names):
    """Prints; returns the cells in which another strategy seems better than ours."""
    print("\n| strategy | mean time over the best found | worst | cells in which omptier is behind by over 2 % |")
    print("|---|---|---|---|")
    any_behind = set()
    for name in [*names, "all slow"]:
        ratios, behind = [], 0
        for at, cell in enumerate(cells):
            times = times_of(cell, seconds)
            ratios.append(times[name] / best_of(times))
            if name != OURS and times[OURS] > BEHIND * times[name]:
                behind += 1
                any_behind.add(at)
        print(f"| {name} | {statistics.mean(ratios):.3f} | {max(ratios):.2f} | {behind} of {len(cells)} |")
    times = [times_of(cell, seconds) for cell in cells]
    published.print_gains([cell.predicted[OURS] for cell in cells], [of["all slow"] / of[OURS] for of in times])
    return [cells[at] for at in sorted(any_behind)]


def pairs(options, cell, seconds):
    """The best of the other strategies, of one run each; how many times longer ours takes, from pairs of further runs,
    one after the other: the mean, and its 95 % interval."""
    times = times_of(cell, seconds)
    best = min((name for name in cell.names() if name not in ("all fast", OURS)), key=times.get)
    both = [f": {number}; {cell.commands[name]}" for number in range(PAIRS) for name in (OURS, best)]
    by_command = {result["command"]: float(result["output"])
                  for result in published.run_all(options, cell.machine.name, cell.machine.dilations[-1], both, timeout=300)}
    logs = [math.log(by_command[ours] / by_command[other]) for ours, other in zip(both[::2], both[1::2])]
    mean, error = statistics.mean(logs), STUDENT * statistics.stdev(logs) / math.sqrt(PAIRS)
    return best, [math.exp(mean + sign * error) for sign in (0, -1, 1)]


def really_behind(options, cells, seconds):
    """Those of the cells for which pairs of further runs say so, too. Prints what they say."""
    behind = []
    for cell in cells:
        best, (ratio, low, high) = pairs(options, cell, seconds)
        is_behind = low > BEHIND
        print(f"{'behind' if is_behind else 'not behind'}: {cell.program.name}, {cell.machine.name}, {cell.percent:g} %: "
              f"{ratio:.3f} times {best} ({low:.3f} to {high:.3f}, {PAIRS} pairs of runs)", flush=True)
        behind += [cell] if is_behind else []
    return behind


def draw(options, points):
    published.write_picture(options, "capacity", {
        "data": {"values": points}, "mark": {"type": "line", "point": True},
        "encoding": {"x": {"field": "capacity", "type": "quantitative", "title": "fast memory (% of the footprint)"},
                     "y": {"field": "closed", "type": "quantitative", "title": "gap closed (%)"},
                     "color": {"field": "strategy", "type": "nominal"},
                     "column": {"field": "program", "type": "nominal"},
                     "row": {"field": "machine", "type": "nominal"}}})


def parser(description):
    parser = published.parser(description)
    for option, known in (("--program", PROGRAMS), ("--machine", MACHINES)):
        parser.add_argument(option, action="append", choices=[one.name for one in known],
                            help="only this one; may be repeated")
    return parser


def chosen(options):
    """Programs and machines."""
    programs = [one for one in PROGRAMS if one.name in (options.program or [one.name])]
    return programs[:2] if options.short else programs, [one for one in MACHINES if one.name in (options.machine or [one.name])]


def main():
    arguments = parser(__doc__)
    arguments.add_argument("--percent", action="append", type=float, help="only this capacity; may be repeated")
    options = arguments.parse_args()
    programs, machines = chosen(options)
    cells = []
    for program in programs:
        campaign = Campaign(options, program)
        cells += [make_cell(campaign, machine, percent)
                  for machine in machines for percent in options.percent or ((25,) if options.short else CAPACITIES)]
    seconds, late = measure(options, cells)
    cells = in_time(cells, late)
    names, points = print_cells(cells, seconds)
    behind = really_behind(options, summarise(cells, seconds, names), seconds)
    draw(options, points)
    return 1 if behind else 0


if __name__ == "__main__":
    sys.exit(main())
