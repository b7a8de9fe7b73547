#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Whether omptier calibrate finds what each timed machine's description (omptier sandbox --describe NAME) says: read
and write latency and bandwidth of every memory from every domain's CPUs, and the block of its medium. Bandwidths are
the real machine's, of the cores that the CPUs stand for. A row is the pair of a domain and a node that is furthest off.
Two figures are compared with what the described cores reach. Reading: the lines that they keep in flight, over the
latency at that load, where that is less than the memory's bandwidth. Latency: that beside the load of a CPU's own
accesses, since each CPU accesses for the cores that it stands for. Both ratios are printed: to the description, and to what the cores reach, by
which a row is judged. Status 1 if a figure is more than 10 % off, a block differs, or a figure is missing that
calibrate did not name as one without confidence (memory-side caches: only printed)."""
import dataclasses
import json
import sys

import published

# Of time, so that emulation keeps up and yet the kernel's timer, which ticks in real time, takes little of the
# modelled: an instruction of the machine then takes so many ns.
EMULATED_INSTRUCTION = 80
NEAR = 1.10
FIGURES = ("read_latency", "write_latency", "read_bandwidth", "write_bandwidth")


@dataclasses.dataclass
class Memory:
    kind: str
    nodes: list
    seen: dict = dataclasses.field(default_factory=dict)  # figures by distance: "local", "in-socket", "remote"
    block: int = 64
    cached: bool = False
    loaded: list = dataclasses.field(default_factory=lambda: [(0.0, 1.0)])  # part of the bandwidth, times the latency

    def times_latency(self, used):
        for (low, before), (high, after) in zip(self.loaded, self.loaded[1:]):
            if used < high:
                return before + (after - before) * (used - low) / (high - low)
        return self.loaded[-1][1]


class Described:
    def __init__(self, text):
        self.memories, self.timed, numbers = [], True, {}
        for line in (line.split("#")[0].split() for line in text.splitlines()):
            if not line:
                continue
            if line[0] in ("sockets", "domains", "cpus", "cores"):
                numbers[line[0]] = int(line[1])
            elif line[0] == "memory":
                domains = numbers["sockets"] * numbers["domains"]
                first = len(self.memories) * domains
                self.memories.append(Memory(line[1], list(range(first, first + domains))))
            elif line[0] in ("local", "in-socket", "remote"):
                self.memories[-1].seen[line[0]] = dict(zip(FIGURES, map(float, line[1:5])))
            elif line[0] == "loaded":
                points = list(map(float, line[1:]))
                self.memories[-1].loaded += zip(points[::2], points[1::2])
            elif line[0] == "instruction-ns":
                self.dilation = round(EMULATED_INSTRUCTION / float(line[1]))
            elif line[0] == "overlap":
                self.lines = int(line[1])
            elif line[0] == "media":
                self.memories[-1].block = int(line[1])
            elif line[0] == "cache":
                self.memories[-1].cached = True
            elif line[0] == "nvdimm":
                self.timed = False
        self.cpus, self.domains = numbers["cpus"], numbers["domains"]
        self.cores = numbers["cores"]
        self.stands_for = self.cores / self.cpus

    def read_by_cores(self, memory, seen):
        """MB/s of reading that a domain's cores reach: the more they read, the longer a line takes."""
        low, high = 0.0, seen["read_bandwidth"]
        for _ in range(50):
            middle = (low + high) / 2
            latency = seen["read_latency"] * memory.times_latency(middle / seen["read_bandwidth"])
            if self.cores * self.lines * 64 / latency * 1000 > middle:
                low = middle
            else:
                high = middle
        return low

    def latency_of_cpu(self, memory, seen, name):
        """ns, beside the load of the CPU's own accesses, each of which moves a block."""
        latency = seen[name]
        for _ in range(50):
            used = self.stands_for * memory.block / latency * 1000 / seen["read_bandwidth"]
            latency = (latency + seen[name] * memory.times_latency(used)) / 2
        return latency

    def expected(self, memory, distance):
        """What calibrate should find."""
        seen = memory.seen[distance]
        return {**seen, "read_bandwidth": self.read_by_cores(memory, seen),
                **{name: self.latency_of_cpu(memory, seen, name) for name in ("read_latency", "write_latency")}}

    def place(self, figures):
        """Memory and distance of a pair that was measured."""
        domain = int(figures["cpus"].split("-")[0]) // self.cpus
        memory = next(memory for memory in self.memories if figures["node"] in memory.nodes)
        other = memory.nodes.index(figures["node"])
        same_socket = domain // self.domains == other // self.domains
        return memory, "local" if domain == other else "in-socket" if same_socket else "remote"


def arguments():
    parser = published.parser(__doc__)
    parser.add_argument("--machines", nargs="+", help="only these")
    parser.add_argument("--dilation", type=int, help="of time (default: by the machine's instructions)")
    parser.add_argument("--minutes", type=float, default=6, help="that calibrate may take (default: 6)")
    return parser.parse_args()


def measure(options, name, dilation):
    """What calibrate printed in the machine."""
    omptier = (options.build / "bin/omptier").resolve()
    command = f"{omptier} calibrate --quick --time {options.minutes} --json -o /tmp/platform.json"
    [result] = published.run_all(options, name, dilation, [command], 60 * options.minutes + 60)
    if published.is_too_slow(result):
        print(f"{name}: {result['errors'].strip().splitlines()[-1]}", file=sys.stderr)
    return json.loads(result["output"])


def named_missing(machine, found):
    """What calibrate said that it has no confidence in."""
    named = []
    for one in found["not_used"]:
        memory, distance = machine.place(one)
        named.append((memory, distance, one["figure"].split(" (")[0].replace(" ", "_")))
    return named


def rows(name, machine, found, dilation):
    """Cells of a row for each memory, distance and figure, and whether it is as described."""
    worst = {}
    for figures in found["platform"]["figures"]:
        memory, distance = machine.place(figures)
        expected = machine.expected(memory, distance)
        for figure in FIGURES:
            if figure not in figures:
                continue
            value = figures[figure] / dilation if figure.endswith("latency") else \
                figures[figure] * dilation * machine.stands_for / 1e6
            wanted = expected[figure]
            key = id(memory), distance, figure
            if key not in worst or published.factor(value, wanted) > published.factor(worst[key], wanted):
                worst[key] = value
        key = id(memory), distance, "block"
        if "block" in figures and worst.get(key, memory.block) == memory.block:
            worst[key] = figures["block"]
    named = named_missing(machine, found)
    for memory in machine.memories:
        for distance, described in memory.seen.items():
            for figure, wanted in {**machine.expected(memory, distance), "block": memory.block}.items():
                value = worst.get((id(memory), distance, figure))
                missing_is_right = (memory, distance, figure) in named or \
                    figure == "block" and (wanted == 64 or distance != "local")  # 64 is assumed then
                near = published.factor(value, wanted) <= (1 if figure == "block" else NEAR) if value else \
                    missing_is_right
                cells = [name, memory.kind + (", cached" if memory.cached else ""), distance, figure.replace("_", " "),
                         f"{described.get(figure, wanted):g}", f"{wanted:.4g}", f"{value:.4g}" if value else "-",
                         f"{value / described.get(figure, wanted):.2f}" if value else "-",
                         f"{value / wanted:.2f}" if value else "-"]
                yield cells, near or memory.cached


def main():
    options = arguments()
    omptier = options.build / "bin/omptier"
    names = [line.split()[0] for line in published.output_of(omptier, "sandbox", "--list").splitlines()]
    print("latencies in ns, bandwidths in MB/s, blocks in bytes\n")
    print("| machine | memory | distance | figure | described | reached by its cores | calibrated | "
          "of the described | of the reached | near |")
    print("|---|---|---|---|---|---|---|---|---|---|", flush=True)
    all_near, compared = True, 0
    for name in options.machines or (names[:3] if options.short else names):
        machine = Described(published.output_of(omptier, "sandbox", "--describe", name))
        if not machine.timed:
            print(f"{name}: left out, not timed", file=sys.stderr)
            continue
        dilation = options.dilation or machine.dilation
        found = measure(options, name, dilation)
        for cells, near in rows(name, machine, found, dilation):
            print("| " + " | ".join(cells) + f" | {'yes' if near else 'NO'} |", flush=True)
            all_near &= near
            compared += cells[-1] != "-"
        for left_out in found["not_used"]:
            print(f"{name}: node {left_out['node']} from CPUs {left_out['cpus']}: {left_out['figure']}", file=sys.stderr)
    print(f"\n{compared} figures compared")
    return 0 if all_near and compared else 1


if __name__ == "__main__":
    sys.exit(main())
