#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Whether what omptier explain names does change a decision: the whole programs of capacity.py are recorded on this
computer for some seconds each. Of their largest objects, explain names the capacity with which most of the object would
lie elsewhere, and one with which it would not; omptier advise, whose search is longer, then decides with both. A
decision holds if the object goes where explain says with the first, and stays with the second. Status 1 if one does
not."""
import dataclasses
import json
import sys

import capacity
import published
import stability

ONE_IN = 6  # of the steps that capacity.py records
LEAST_SHARE = 0.02  # of the time, of an object that is asked about


def homes(advised):
    """By object: the kind that holds most of it."""
    held = {}
    for site in advised["sites"]:
        if site["kind"]:
            kinds = held.setdefault(stability.site_of(site["label"]), {})
            kinds[site["kind"]] = kinds.get(site["kind"], 0) + site["bytes"]
    return {label: max(kinds, key=kinds.get) for label, kinds in held.items()}


def asked(campaign, machine, room, most):
    """Labels of the objects with the largest shares."""
    shares = {}
    for site in campaign.advise(machine, room)["sites"]:
        if site["by_plan"]:
            label = stability.site_of(site["label"])
            shares[label] = shares.get(label, 0) + site["share"]
    labels = sorted(shares, key=shares.get, reverse=True)
    return [label for label in labels if shares[label] >= LEAST_SHARE][:most]


def explained(campaign, machine, room, label):
    options = campaign.options
    return json.loads(published.output_of(
        campaign.bin / "omptier", "explain", "--json",
        *published.scaled_machine_of(options, machine.name, campaign.program.size), "--threads", capacity.THREADS,
        "--capacity", machine.capacity(room), label, campaign.profile))


def advised_home(campaign, machine, label, kind, size, room):
    """Where advise puts the object with so much of that kind."""
    slow = size if kind == machine.slow else "16G"
    fast = size if kind == machine.fast else int(room)
    advice = published.advise(campaign.options, machine.name, "--threads", capacity.THREADS, "--capacity",
                              f"{machine.fast}:{fast},{machine.slow}:{slow}", campaign.profile,
                              times=campaign.program.size)
    return homes(advice).get(label)


def tried(campaign, machine, percent, label):
    """One line for each capacity that explain names, and how many of these hold."""
    room = campaign.footprint * percent / 100
    said = explained(campaign, machine, room, label)
    good = count = 0
    for other in said["other_capacities"]:
        goes, stays = (advised_home(campaign, machine, label, other["kind"], size, room)
                       for size in (other["capacity"], other["stays_with"]))
        holds = goes == other["goes_to"] and stays == said["kind"]
        good, count = good + holds, count + 1
        print(f"| {campaign.program.name} | {machine.name} | {percent:g} % | {label} | {said['kind']} | "
              f"{other['option']} | {other['goes_to']} | {goes} | {stays} | {'yes' if holds else 'NO'} |", flush=True)
    return good, count


def main():
    parser = capacity.parser(__doc__)
    parser.add_argument("--objects", type=int, default=2, help="asked about, of each program (2)")
    options = parser.parse_args()
    programs, machines = capacity.chosen(options)
    print("\n| program | machine | capacity | object | lies in | would change it | to | advise there "
          "| advise on the other side | holds |\n|---|---|---|---|---|---|---|---|---|---|")
    good = count = 0
    for program in programs:
        brief = dataclasses.replace(program, recorded_steps=program.recorded_steps // ONE_IN)
        campaign = capacity.Campaign(options, brief, "-brief")
        for machine in machines:
            for percent in (25,) if options.short else capacity.CAPACITIES:
                for label in asked(campaign, machine, campaign.footprint * percent / 100, options.objects):
                    held, named = tried(campaign, machine, percent, label)
                    good, count = good + held, count + named
    print(f"\n{good} of {count} capacities change the decision as explained")
    return 0 if good == count else 1


if __name__ == "__main__":
    sys.exit(main())
