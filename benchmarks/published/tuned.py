#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Whether omptier tune finds the best placement, in how many runs, and what the advisor learns of it: each whole
program of capacity.py is recorded in the timed machine, with everything in slow memory, and tuned there with fast
memory for half of its footprint. Then every placement of its sites that fits is run. Prints the time of the tuned
and of the advised plan over the best of all, the runs of either way, and how far predicted gains of all these
placements are from the measured ones, before and after advice knows the tuning's runs (--tuned). Status 1 if a tuned
plan is more than 2 % slower than the best, or predictions become worse."""
import functools
import json
import math
import statistics
import sys

import capacity
import published
import rounds

PERCENT = 50
BEHIND = 1.02
REPEATS = 2  # the fewest runs of a placement that show what the difference of two is worth
MINUTES = 20


class Tuned(rounds.Rounds):
    def __init__(self, options, program, machine):
        super().__init__(options, program, machine)
        self.folder = (options.build / "published/tuned" / machine.name).resolve()
        self.folder.mkdir(parents=True, exist_ok=True)
        self.profile = self.file(rounds.FIRST, "profile")
        self.runs, self.plan = self.file("tuned", "tune"), self.file("tuned", "plan")

    @property
    def footprint(self):
        return self.room * 100 / PERCENT

    @functools.cached_property
    def room(self):
        sites = self.advise(rounds.FIRST, 1 << 34)["sites"]
        return sum(site["bytes"] for site in sites if site["by_plan"]) * PERCENT / 100

    def tuning(self):
        """The machine's own figures are of all cores."""
        self.runs.unlink(missing_ok=True)
        _, cpus, cores = published.described(self.options, self.machine.name)
        return (f"{self.bin}/omptier-model off; {self.bin}/omptier tune {self.profile} --json --time {MINUTES} "
                f"--threads {capacity.THREADS * cores // cpus} --capacity {self.machine.capacity(self.room)} "
                f"--metric '([0-9.]+)' --runs {self.runs} -o {self.plan} -- " +
                " ".join(map(str, self.run)))

    @property
    def all_slow(self):
        return (f"{self.bin}/omptier-model off; {self.bin}/omptier run --strategy only-{self.machine.slow} -- " +
                " ".join(map(str, self.run)))

    def planned(self, machine, room, *further):
        """As capacity.tried() asks for it."""
        file = self.file("asked", "plan")
        return self.advise(rounds.FIRST, room, "-o", file, *further), json.loads(file.read_text())

    def gain_under(self, plan, *further):
        """Predicted, over everything in slow memory."""
        file = self.file("compared", "plan")
        file.write_text(json.dumps(plan))
        times = json.loads(published.output_of(
            self.bin / "omptier", "diff", "--json", file, file, self.profile, "--threads", capacity.THREADS,
            *published.scaled_machine_of(self.options, self.machine.name, 1), "--capacity",
            self.machine.capacity(self.room), *further))["predicted_time"]
        return times["slowest"] / times["a"]


def measure(options, machine, programs):
    """Prints a row for each program. Returns whether all are good."""
    campaigns = [Tuned(options, program, machine) for program in programs]
    results = options.build / "published/tuned" / f"{machine.name}.jsonl"
    dilation = machine.dilations[-1]
    published.record_all(options, results, machine.name, dilation, [one.recording(rounds.FIRST) for one in campaigns],
                         timeout=300)
    tunings = {one: one.tuning() for one in campaigns}
    ends = {result["command"]: json.loads(result["output"]) for result in published.run_all(
        published.anew(options, results), machine.name, dilation, list(tunings.values()), timeout=60 * (MINUTES + 5))}
    plans = {one: capacity.tried(one, machine, one.room) for one in campaigns}
    few = [one for one in campaigns if plans[one]]
    for one in campaigns:
        if one not in few:
            print(f"{one.program.name}: more than {capacity.MOST_TRIED} sites: not all placements are tried", flush=True)
    campaigns = few
    shown = {one: {"tuned": json.loads(one.plan.read_text()), "advised": one.planned(machine, one.room)[1]}
             for one in campaigns}
    commands = {one: [one.following(plan) for plan in (*plans[one], *shown[one].values())] for one in campaigns}
    seconds = published.seconds_of(published.anew(options, results), machine.name, dilation,
                                   list(dict.fromkeys([*sum(commands.values(), []), *(one.all_slow for one in campaigns)])))
    good = True
    for one in campaigns:
        times = [seconds[command] for command in commands[one]]
        best = min(times)
        tuned, advised = (time / best for time in times[-2:])
        measured = [seconds[one.all_slow] / time for time in times[:-2]]
        errors = [statistics.mean(abs(math.log(one.gain_under(plan, *further) / gain))
                                  for plan, gain in zip(plans[one], measured)) for further in ((), ("--tuned", one.runs))]
        good &= tuned <= BEHIND and errors[1] <= errors[0]
        print(f"| {one.program.name} | {machine.name} | {len(plans[one])} | {REPEATS * len(plans[one])} | "
              f"{ends[tunings[one]]['runs']} | {tuned:.3f} | {advised:.3f} | {100 * errors[0]:.1f} % | {100 * errors[1]:.1f} % |",
              flush=True)
    return good


def main():
    options = capacity.parser(__doc__).parse_args()
    programs, machines = capacity.chosen(options)
    print(f"\nfast memory for {PERCENT} % of the footprint; times over those of the best of all placements\n")
    print(f"| program | machine | placements | {REPEATS} runs of each | runs of tune | tuned | advised | predicted gains off by | "
          "with what tune learned |")
    print("|---|---|---|---|---|---|---|---|---|", flush=True)
    good = True
    for machine in machines:
        good &= measure(options, machine, programs)
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
