#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Whether independent profiles of one program lead to the same placement: each whole program of capacity.py is
recorded twenty times on this computer, by samples of time, and advice made from each. Prints the part of its
bytes that lies where the median of all twenty has it; of the rest, the part that the advice itself calls a
toss-up ("either DRAM or NVM"); and by how much the placements' predicted times differ. Status 1 if less than
95 % agree or are called so, anywhere."""
import statistics
import sys

import capacity
import published

ENOUGH = 95  # percent


def fast_bytes(advised, plan, machine):
    """By the site's label: bytes in the fast memory, and whether the advice calls that a toss-up."""
    open_sites = {site["label"] for site in advised["sites"] if site["or_kind"]}
    return {entry["label"]: (capacity.bytes_in(entry, machine.fast), entry["label"] in open_sites)
            for entry in plan["entries"] if "region" not in entry}


def compare(campaigns, machine, percent):
    """Percent that agree, percent that do not but are called a toss-up, spread of predicted times in percent."""
    room = campaigns[0].footprint * percent / 100
    advice = [campaign.planned(machine, room) for campaign in campaigns]
    placed = [fast_bytes(advised, plan, machine) for advised, plan in advice]
    whole = campaigns[0].footprint * len(campaigns)
    away = tossed = 0
    for label in {label for one in placed for label in one}:
        median = statistics.median(one.get(label, (0, False))[0] for one in placed)
        for one in placed:
            fast, is_open = one.get(label, (0, False))
            away += abs(fast - median)
            tossed += abs(fast - median) if is_open else 0
    times = [advised["predicted_wait"] for advised, _ in advice]
    spread = 100 * statistics.pstdev(times) / statistics.mean(times)
    return 100 - 100 * away / whole, 100 * tossed / whole, spread


def main():
    parser = published.parser(__doc__)
    parser.add_argument("--program", action="append", help="only this one; may be repeated")
    parser.add_argument("--profiles", type=int, default=20)
    options = parser.parse_args()
    print("\n| program | machine | capacity | bytes that agree | of the rest, called a toss-up | predicted times differ by |")
    print("|---|---|---|---|---|---|")
    failed = False
    for program in capacity.PROGRAMS[:2] if options.short else capacity.PROGRAMS:
        if program.name not in (options.program or [program.name]):
            continue
        campaigns = [capacity.Campaign(options, program, f"-{number}") for number in range(options.profiles)]
        for machine in capacity.MACHINES:
            for percent in capacity.CAPACITIES:
                agree, tossed, spread = compare(campaigns, machine, percent)
                failed |= agree + tossed < ENOUGH
                print(f"| {program.name} | {machine.name} | {percent:g} % | {agree:.1f} % | {tossed:.1f} % | {spread:.1f} % |",
                      flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
