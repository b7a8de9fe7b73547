#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Whether independent profiles of one program lead to the same placement: each whole program of capacity.py is
recorded twenty times on this computer, by samples of time, for two seconds each, and advice made from each. Prints
the part of the fast memory that holds what the median of all twenty has there; of the rest, the part that the advice
calls a toss-up ("either DRAM or NVM"); and by how much the placements' predicted times differ. Status 1 if less than
95 % agree or are called so, anywhere."""
import dataclasses
import re
import statistics
import sys

import capacity
import published

ENOUGH = 95  # percent
ONE_IN = 6  # of the steps that capacity.py records


def fast_bytes(advised, plan, machine):
    """By site: bytes in the fast memory, and whether the advice calls that a toss-up."""
    open_sites = {site_of(site["label"]) for site in advised["sites"] if site["or_kind"]}
    held = {}
    for entry in plan["entries"]:
        if "region" not in entry:
            site = site_of(entry["label"])
            held[site] = held.get(site, 0) + capacity.bytes_in(entry, machine.fast)
    return {site: (fast, site in open_sites) for site, fast in held.items()}


def site_of(label):
    """A divided block's label ends with its ranges."""
    return re.sub(r", (bytes .+ to|[0-9.]+ % of (it|each block) in) .*", "", label)


def compare(campaigns, machine, percent):
    """Percent that agree, percent of the rest called a toss-up, spread of predicted times in percent."""
    room = campaigns[0].footprint * percent / 100
    advice = [campaign.planned(machine, room) for campaign in campaigns]
    placed = [fast_bytes(advised, plan, machine) for advised, plan in advice]
    whole = 2 * min(room, campaigns[0].footprint - room) * len(campaigns)  # what one lacks another has too much
    away = tossed = 0
    for site in {site for one in placed for site in one}:
        median = statistics.median(one.get(site, (0, False))[0] for one in placed)
        for one in placed:
            fast, is_open = one.get(site, (0, False))
            away += abs(fast - median)
            tossed += abs(fast - median) if is_open else 0
    times = [advised["predicted_time"] for advised, _ in advice]
    spread = 100 * statistics.pstdev(times) / statistics.mean(times)
    return 100 - 100 * away / whole, 100 * tossed / away if away else 0, spread


def main():
    parser = published.parser(__doc__)
    parser.add_argument("--program", action="append", help="only this one; may be repeated")
    parser.add_argument("--profiles", type=int, default=20)
    options = parser.parse_args()
    print("\n| program | machine | capacity | fast memory that agrees | of the rest, called a toss-up | predicted times differ by |")
    print("|---|---|---|---|---|---|")
    failed = False
    for program in capacity.PROGRAMS[:2] if options.short else capacity.PROGRAMS:
        if program.name not in (options.program or [program.name]):
            continue
        brief = dataclasses.replace(program, recorded_steps=program.recorded_steps // ONE_IN)
        campaigns = [capacity.Campaign(options, brief, f"-{number}") for number in range(options.profiles)]
        for machine in capacity.MACHINES:
            for percent in capacity.CAPACITIES:
                agree, tossed, spread = compare(campaigns, machine, percent)
                failed |= agree + (100 - agree) * tossed / 100 < ENOUGH
                print(f"| {program.name} | {machine.name} | {percent:g} % | {agree:.1f} % | {tossed:.1f} % | {spread:.1f} % |",
                      flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
