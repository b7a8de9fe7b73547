#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What each term of the advisor's model is worth: the whole programs of capacity.py, with plans of the whole model
and of the model without one term, in timed machines. Prints how many placements change and how the times do, and how
far the predicted gain over all in slow memory is from the measured one. Uses capacity.py's profiles and results.
Status 1 if without some term plans are better by more than 2 % on average."""
import statistics
import sys

import capacity
import published

TERMS = ("new-pages", "parts", "caches", "lines", "loops", "overlap", "blocks")
WHOLE = "whole model"
PERCENT = 25
BETTER = 0.98


def make_cell(campaign, machine):
    """Times' commands by what is left out, and predicted gains by the same."""
    room = campaign.footprint * PERCENT / 100
    commands = {"all slow": campaign.command("--strategy", f"only-{machine.slow}")}
    gains = {}
    for name in (WHOLE, *TERMS):
        without = () if name == WHOLE else ("--without", name)
        advice, plan = campaign.planned(machine, room, *without)
        commands[name] = campaign.run_plan(plan, machine, room)
        gains[name] = advice["gain"]
    return capacity.Cell(campaign.program, machine, PERCENT, commands, gains)


def row(name, cells, times):
    """One of the table; mean time over the whole model's."""
    ratios = [of[name] / of[WHOLE] for of in times]
    others = [cell for cell in cells if cell.commands[name] != cell.commands[WHOLE]]
    errors = [published.error_of(cell.predicted[name], of["all slow"] / of[name]) for cell, of in zip(cells, times)]
    mean, worst = statistics.mean(ratios), max(range(len(cells)), key=ratios.__getitem__)
    where = f"{cells[worst].program.name}, {cells[worst].machine.name}" if others else "-"
    print(f"| {name} | {len(others)} of {len(cells)} | {mean:.3f} | {min(ratios):.3f} | {max(ratios):.3f} | {where} | "
          f"{100 * statistics.median(errors):.0f} % | {100 * max(errors):.0f} % |")
    return mean


def main():
    parser = published.parser(__doc__)
    parser.add_argument("--program", action="append", help="only this one; may be repeated")
    options = parser.parse_args()
    programs = [one for one in capacity.PROGRAMS if one.name in (options.program or [one.name])]
    cells = []
    for program in programs[:2] if options.short else programs:
        campaign = capacity.Campaign(options, program)
        cells += [make_cell(campaign, machine) for machine in capacity.MACHINES]
    seconds, late = capacity.measure(options, cells)
    cells = capacity.in_time(cells, late)
    times = [capacity.times_of(cell, seconds) for cell in cells]
    print(f"\nfast memory for {PERCENT} % of the footprint; times over those with the whole model\n")
    print("| without | other plans | mean time | best | worst | worst at | predicted gain off, median | worst |")
    print("|---|---|---|---|---|---|---|---|")
    means = [row(name, cells, times) for name in (WHOLE, *TERMS)]
    return 0 if min(means) >= BETTER else 1


if __name__ == "__main__":
    sys.exit(main())
