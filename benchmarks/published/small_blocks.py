#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Whether data in small blocks gain by a plan what they gain in one array: rows of a matrix, each by a malloc of
its own, and the nodes of a hash table (rows.c). Each layout is recorded once on this computer, by samples of time;
everything fits into the fast memory. Status 1 if blocks have less than 90 % of what the array gains."""
import sys

import capacity
import published

ENOUGH = 0.9
STEPS = 30
CASES = (("xeon-max-flat", "array", "blocks", 32), ("icelake-optane-socket", "array", "blocks", 32),
         ("icelake-optane-socket", "pool", "nodes", 16))


def main():
    options = published.arguments(__doc__)
    print("\ntime with everything in the slow memory over that with the plan\n")
    print("| machine | one array | gain | blocks | gain | blocks have of it |")
    print("|---|---|---|---|---|---|")
    failed = False
    for name, whole, blocks, size in CASES[:1] if options.short else CASES:
        machine = next(one for one in capacity.MACHINES if one.name == name)
        commands = {}
        for layout in (whole, blocks):
            campaign = capacity.Campaign(options, capacity.Program("rows", size, STEPS, (layout,)))
            for how, room in (("slow", 4096), ("plan", campaign.footprint)):
                commands[layout, how] = campaign.run_plan(campaign.planned(machine, room)[1], machine, room)
        seconds = published.seconds_of(options, name, 200, list(dict.fromkeys(commands.values())))
        gains = [seconds[commands[layout, "slow"]] / seconds[commands[layout, "plan"]] for layout in (whole, blocks)]
        part = (1 - 1 / gains[1]) / (1 - 1 / gains[0])
        failed |= part < ENOUGH
        print(f"| {name} | {whole} | {gains[0]:.2f} | {blocks} | {gains[1]:.2f} | {100 * part:.0f} % |", flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
