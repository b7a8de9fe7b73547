#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Whether the curve of omptier whatif holds: for each whole program of capacity.py, the curve of its gain over the size
of fast memory is drawn from the profile that was recorded on this computer, and five of its points are measured: the
plan that omptier advises for such a capacity, against everything in slow memory, in the timed machine. Prints
predicted and measured gains. Status 1 if fewer than nine in ten lie within their interval."""
import functools
import json
import sys

import capacity
import published

POINTS = 5
LEAST = 1 / 8  # of the footprint: the smallest capacity
ENOUGH = 0.9


def curve(campaign, machine):
    """Of the points of whatif that have fast memory: as many as are wanted, far from each other."""
    sizes = f"{machine.fast}:{int(campaign.footprint * LEAST)}..{int(campaign.footprint)},{machine.slow}:16G"
    text = published.output_of(
        campaign.bin / "omptier", "whatif", "--json",
        *published.scaled_machine_of(campaign.options, machine.name, campaign.program.size), "--threads", capacity.THREADS,
        "--capacity", sizes, campaign.profile)
    points = [point for point in json.loads(text)["points"] if point["capacity"] > 0]
    wanted = [round(at * (len(points) - 1) / (POINTS - 1)) for at in range(POINTS)]
    return [points[at] for at in dict.fromkeys(wanted)]


def measure(options, machine, programs):
    """Prints a row for each point. Returns its predicted and its measured gain."""
    campaigns = [capacity.Campaign(options, program) for program in programs]
    points = []
    for campaign in campaigns:
        slow = campaign.command("--strategy", f"only-{machine.slow}")
        for point in curve(campaign, machine):
            plan = campaign.planned(machine, point["capacity"])[1]
            points.append((campaign, point["capacity"], point["gain"], slow, campaign.run_plan(plan, machine, point["capacity"])))
    run = functools.partial(published.seconds_of, options, machine.name, machine.dilations[-1])
    seconds = run(list(dict.fromkeys(command for point in points for command in point[3:])))
    found = []
    for campaign, size, gain, slow, planned in points:
        measured = seconds[slow] / seconds[planned]
        inside = "" if gain["low"] <= measured <= gain["high"] else "NO"
        print(f"| {campaign.program.name} | {machine.name} | {100 * size / campaign.footprint:.0f} % | "
              f"{gain['value']:.2f} | {gain['low']:.2f} to {gain['high']:.2f} | {measured:.2f} | {inside} |", flush=True)
        found.append((gain, measured))
    return found


def main():
    options = capacity.parser(__doc__).parse_args()
    programs, machines = capacity.chosen(options)
    print("\n| program | machine | fast memory, of the footprint | predicted gain | nine in ten | measured | outside |")
    print("|---|---|---|---|---|---|---|")
    found = [one for machine in machines for one in measure(options, machine, programs)]
    published.print_gains(*zip(*found))
    inside = sum(gain["low"] <= measured <= gain["high"] for gain, measured in found)
    return 0 if inside >= ENOUGH * len(found) else 1


if __name__ == "__main__":
    sys.exit(main())
