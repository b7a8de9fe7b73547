#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Whether a second round of record and advise makes anything worse: each whole program of capacity.py is recorded
in the timed machine with everything in slow memory, which leads to a first plan; then with everything in fast
memory, with half of the threads, and under that plan. Each of these leads to two plans, one made anew and one after
the first (advise --after). Prints the part of the fast memory that holds what it holds by the first plan, and the
time with each plan over that with the first. Status 1 if after the first plan less than 95 % agree anywhere, or a
plan is more than 2 % slower than it."""
import functools
import json
import sys

import capacity
import published
import stability

ENOUGH, SLOWER = 95, 1.02
PERCENT = 25
FIRST, FAST, FEW, AGAIN = "all slow", "all fast", "half of the threads", "under the plan"
SECOND = (FAST, FEW, AGAIN)


class Rounds:
    """Profiles and plans of one program in one machine; its problem is the one that is run."""

    def __init__(self, options, program, machine):
        self.options, self.program, self.machine = options, program, machine
        self.folder = (options.build / "published/rounds" / machine.name).resolve()
        self.folder.mkdir(parents=True, exist_ok=True)
        self.bin = (options.build / "bin").resolve()
        self.binary = (options.build / "benchmarks/published" / program.name).resolve()
        self.run = [self.binary, *program.words, 1, program.steps]

    def file(self, way, kind):
        return self.folder / f"{self.program.name}-{way.replace(' ', '-')}.{kind}"

    def recording(self, way):
        how = {FIRST: f"--strategy only-{self.machine.slow}", FAST: f"--strategy only-{self.machine.fast}",
               FEW: f"--strategy only-{self.machine.slow}", AGAIN: f"--plan {self.file(FIRST, 'plan')}"}[way]
        threads = f"OMP_NUM_THREADS={capacity.THREADS // 2} " if way == FEW else ""
        return (f"{self.bin}/omptier-model off; {threads}{self.bin}/omptier record {how} -o {self.file(way, 'profile')} -- " +
                " ".join(map(str, self.run)))

    def following(self, plan):
        """Equal placements have equal commands, so they are run once."""
        text = capacity.text_of(plan, self.machine.slow)
        file = self.folder / f"{self.program.name}-{capacity.known_by(text)}.plan"
        file.write_text(text)
        return (f"{self.bin}/omptier-model off; {self.bin}/omptier run --plan {file} -- " + " ".join(map(str, self.run)))

    def advise(self, way, room, *further):
        return published.advise(self.options, self.machine.name, "--threads", capacity.THREADS, "--capacity",
                                self.machine.capacity(room), *further, self.file(way, "profile"))

    @functools.cached_property
    def room(self):
        footprint = sum(site["bytes"] for site in self.advise(FIRST, 1 << 34)["sites"] if site["by_plan"])
        return footprint * PERCENT / 100

    def placed(self, way, after=None):
        """Bytes in the fast memory by site, and the command that runs the program so."""
        file = self.file(way, "after.plan" if after else "plan")
        further = ("--after", self.file(after, "plan")) if after else ()
        advice = self.advise(way, self.room, "-o", file, *further)
        plan = json.loads(file.read_text())
        return stability.fast_bytes(advice, plan, self.machine), self.following(plan)


def agreement(one, other, room):
    """Percent of the fast memory."""
    away = sum(abs(one.get(site, (0,))[0] - other.get(site, (0,))[0]) for site in one.keys() | other.keys())
    return 100 - 100 * away / (2 * room)


def measure(options, machine, programs):
    """Prints a row for each program. Returns whether all are good."""
    rounds = [Rounds(options, program, machine) for program in programs]
    results = options.build / "published/rounds" / f"{machine.name}.jsonl"
    record = functools.partial(published.record_all, options, results, machine.name, machine.dilations[0], timeout=300)
    record([one.recording(way) for one in rounds for way in (FIRST, FAST, FEW)])
    first = {one: one.placed(FIRST) for one in rounds}
    record([one.recording(AGAIN) for one in rounds])
    second = {(one, way, after): one.placed(way, after) for one in rounds for way in SECOND for after in (None, FIRST)}
    commands = [command for _, command in [*first.values(), *second.values()]]
    seconds = published.seconds_of(published.anew(options, results), machine.name, machine.dilations[0],
                                   list(dict.fromkeys(commands)))
    good = True
    for one in rounds:
        row = []
        for way in SECOND:
            for after in (None, FIRST):
                held, command = second[one, way, after]
                agree = agreement(first[one][0], held, one.room)
                ratio = seconds[command] / seconds[first[one][1]]
                good &= after is None or (ratio <= SLOWER and agree >= ENOUGH)
                row.append(f"{agree:.1f} %, {ratio:.3f}")
        print(f"| {one.program.name} | {machine.name} | {' | '.join(row)} |", flush=True)
    return good


def main():
    options = capacity.parser(__doc__).parse_args()
    programs, machines = capacity.chosen(options)
    print(f"\nfast memory for {PERCENT} % of the footprint; agreement and time against the plan from all in slow memory\n")
    print("| program | machine |" + "".join(f" {way}: anew | after |" for way in SECOND))
    print("|---|---|" + "---|" * 2 * len(SECOND))
    good = True
    for machine in machines:
        good &= measure(options, machine, programs)
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
