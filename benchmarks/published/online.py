#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What omptier run --online gains in one run of a program, without a profile, and what it costs where nothing can be
gained. Each whole program of capacity.py runs in the timed machine for a number of steps that stand for its whole
run, a quarter of its footprint in fast memory: with everything in slow memory, by a plan from a profile, and on line
from slow memory; then in fast memory that has room for all, on line and not. Times are of the whole command, its
start included. Of the first, some steps are measured and the rest is computed. Status 1 if less than 80 % of
the plan's gain is reached anywhere, or if more than 2 % is lost where there is nothing to gain."""
import dataclasses
import statistics
import sys

import capacity
import published

PERCENT = 25
LEAST_GAIN, MOST_LOSS = 0.8, 0.02
SOME_STEPS = 3
RATE = 20  # samples per dilated second
ENVIRONMENT = f"OMPTIER_EVENTS=machine OMPTIER_RATE={RATE}"


@dataclasses.dataclass(frozen=True)
class Start:
    """Nodes that a run begins on."""
    slow: int
    fast: int


STARTS = {"icelake-optane-socket": Start(slow=1, fast=0), "xeon-max-flat": Start(slow=0, fast=1)}


class Runs:
    """Commands of one program in one machine, each of which prints the nanoseconds that it took."""

    def __init__(self, options, program, machine):
        self.campaign = capacity.Campaign(options, program)
        self.program, self.machine, self.steps = program, machine, options.steps
        self.room = self.campaign.footprint * PERCENT / 100
        self.start = STARTS[machine.name]

    def timed(self, how, steps):
        program = " ".join(map(str, (self.campaign.binary, *self.program.words, 1, steps)))
        return (f"{self.campaign.bin}/omptier-model off; begin=$(date +%s%N); {how} {program} >/dev/null && "
                "echo $(($(date +%s%N) - begin))")

    def slow(self, steps):
        return self.timed(f"numactl --preferred={self.start.slow}", steps)

    def planned(self):
        plan = self.campaign.planned(self.machine, self.room)[1]
        how = self.campaign.run_plan(plan, self.machine, self.room).split(" -- ")[0].split("; ")[1]
        return self.timed(how + " --", self.steps)

    def online(self):
        limit = self.machine.capacity(self.room / self.program.size * capacity.SLACK)
        return self.timed(f"{ENVIRONMENT} {self.campaign.bin}/omptier run --online --capacity {limit} -- "
                          f"numactl --preferred={self.start.slow}", self.steps)

    def fast(self):
        return self.timed(f"numactl --preferred={self.start.fast}", self.steps)

    def fast_online(self):
        return self.timed(f"{ENVIRONMENT} {self.campaign.bin}/omptier run --online -- "
                          f"numactl --preferred={self.start.fast}", self.steps)

    def commands(self):
        return [self.slow(1), self.slow(SOME_STEPS), self.planned(), self.online(), self.fast(), self.fast_online()]


@dataclasses.dataclass
class Found:
    slow: float
    planned: float
    online: float
    gain: float  # on line, of the plan's
    loss: float  # where there is nothing to gain


def found_by(runs, seconds):
    one, some = (seconds[runs.slow(steps)] for steps in (1, SOME_STEPS))
    slow = one + (runs.steps - 1) * (some - one) / (SOME_STEPS - 1)
    planned, online = seconds[runs.planned()], seconds[runs.online()]
    gain = (slow - online) / (slow - planned) if slow > 1.02 * planned else float("nan")
    return Found(slow, planned, online, gain, seconds[runs.fast_online()] / seconds[runs.fast()] - 1)


def main():
    parser = published.parser(__doc__)
    parser.add_argument("--program", action="append", help="only this one; may be repeated")
    parser.add_argument("--machine", action="append", help="only this one; may be repeated")
    parser.add_argument("--dilation", type=int, help="of time, for all machines")
    parser.add_argument("--steps", type=int, default=50, help="of a run (50)")
    options = parser.parse_args()
    programs = [one for one in capacity.PROGRAMS if one.name in (options.program or [one.name])]
    print("guest seconds of whole runs\n\n| program | machine | all slow | planned | on line | part of the plan's gain | "
          "lost where nothing can be gained |\n|---|---|---|---|---|---|---|")
    all_found = []
    for machine in capacity.MACHINES:
        if machine.name not in (options.machine or [machine.name]):
            continue
        for program in programs[:1] if options.short else programs:
            runs = Runs(options, program, machine)
            results = options.build / "published" / "online.jsonl"
            seconds = {one["command"]: float(one["output"]) / 1e9 for one in published.record_all(
                options, results, machine.name, options.dilation or machine.dilations[0], runs.commands(), 900)}
            found = found_by(runs, seconds)
            all_found.append(found)
            print(f"| {program.name} | {machine.name} | {found.slow:.0f} | {found.planned:.0f} | {found.online:.0f} | "
                  f"{100 * found.gain:.0f} % | {100 * found.loss:+.1f} % |", flush=True)
    gains = [one.gain for one in all_found if one.gain == one.gain]
    print(f"\nmedian part of the plan's gain {100 * statistics.median(gains):.0f} %, least {100 * min(gains):.0f} %; "
          f"most lost {100 * max(one.loss for one in all_found):.1f} %")
    return 0 if min(gains) >= LEAST_GAIN and max(one.loss for one in all_found) <= MOST_LOSS else 1


if __name__ == "__main__":
    sys.exit(main())
