#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Whether each machine's memories do what its description (omptier sandbox --describe NAME) says: idle latency,
latency beside readers, and bandwidth over the CPUs of one domain, by pattern. Bandwidths are the real machine's,
of the cores that the CPUs stand for. Status 1 if an idle latency is more than 10 %, or the bandwidth of reading by
all CPUs more than 15 % from its description (memory-side caches: only printed)."""
import dataclasses
import sys

import published

DILATION = 400
PATTERNS = {"read": 8, "copy": 16, "lines": 64, "random": 64}  # kernel of stream.c; bytes that an element stands for
READING = ("read", "lines")  # the former computes, too; the faster counts
LATENCY_NEAR, BANDWIDTH_NEAR = 1.10, 1.15


@dataclasses.dataclass
class Memory:
    machine: str
    kind: str
    node: int
    cpus: int  # of a domain
    stands_for: float  # cores of each
    latency: float  # ns
    bandwidth: float  # GB/s read
    cached: bool = False

    def command(self, program, kernel, threads):
        places = ",".join(f"{{{cpu}}}" for cpu in range(threads))
        nodes = ",".join([str(self.node)] * (2 if kernel in ("copy", "loaded") else 1))
        return f"OMP_PLACES='{places}' OMP_PROC_BIND=close OMP_NUM_THREADS={threads} {program} {kernel} {nodes} 16 3"

    def commands(self, program):
        """By kernel and threads."""
        wanted = [("chase", 1)] + [("loaded", self.cpus)] * (self.cpus > 1)
        wanted += [(kernel, threads) for kernel in PATTERNS for threads in range(1, self.cpus + 1)]
        return {key: self.command(program, *key) for key in wanted}

    def gigabytes(self, nanoseconds, kernel):
        """A second, of a kernel that takes so long for an element."""
        return PATTERNS[kernel] / nanoseconds * self.stands_for


def described(text, name):
    """Memories as the first domain's CPUs see them; none of a machine with NVDIMMs, which is not timed."""
    memories, numbers = [], {}
    for line in (line.split("#")[0].split() for line in text.splitlines()):
        if not line:
            continue
        if line[0] in ("sockets", "domains", "cpus", "cores"):
            numbers[line[0]] = float(line[1])
        elif line[0] == "memory":
            node = len(memories) * int(numbers["sockets"] * numbers["domains"])
            memories.append(Memory(name, line[1], node, int(numbers["cpus"]), numbers["cores"] / numbers["cpus"], 0, 0))
        elif line[0] == "local":
            memories[-1].latency, memories[-1].bandwidth = float(line[1]), float(line[3]) / 1000
        elif line[0] == "cache":
            memories[-1].cached = True
        elif line[0] == "nvdimm":
            return []
    return memories


def measure(options, name, memories):
    """Undilated ns by node, kernel and threads."""
    program = (options.build / "benchmarks/published/stream").resolve()
    wanted = {(memory.node, *key): command for memory in memories
              for key, command in memory.commands(program).items()}
    printed = published.run_stretched(options, name, DILATION, list(wanted.values()))
    return {key: float(printed[command][0]) / printed[command][1] for key, command in wanted.items()}


def row(memory, times):
    """One of the table, points of the picture, and whether it is as described."""
    def by_threads(kernel):
        return [memory.gigabytes(times[memory.node, kernel, threads], kernel)
                for threads in range(1, memory.cpus + 1)]
    idle = times[memory.node, "chase", 1]
    loaded = times.get((memory.node, "loaded", memory.cpus))
    read = max(by_threads(kernel)[-1] for kernel in READING)
    near = memory.cached or (published.factor(idle, memory.latency) <= LATENCY_NEAR and
                             published.factor(read, memory.bandwidth) <= BANDWIDTH_NEAR)
    cells = [memory.machine, memory.kind + (", cached" if memory.cached else ""), f"{memory.latency:g}", f"{idle:.0f}",
             f"{loaded:.0f}" if loaded else "-", f"{memory.bandwidth:g}"]
    cells += [" ".join(f"{value:.0f}" for value in by_threads(kernel)) for kernel in PATTERNS]
    points = [{"machine": memory.machine, "memory": f"{memory.kind} {memory.node}", "pattern": kernel,
               "cores": round(memory.stands_for * at, 1), "GB/s": value}
              for kernel in PATTERNS for at, value in enumerate(by_threads(kernel), 1)]
    return "| " + " | ".join(cells) + f" | {'yes' if near else 'NO'} |", points, near


def main():
    options = published.arguments(__doc__)
    omptier = options.build / "bin/omptier"
    names = [line.split()[0] for line in published.output_of(omptier, "sandbox", "--list").splitlines()]
    print("latencies in ns; bandwidths in GB/s, by 1, 2, … CPUs of a domain\n")
    print("| machine | memory | latency described | idle | beside readers | bandwidth described | " +
          " | ".join(PATTERNS) + " | as described |")
    print("|---|---|---|---|---|---|" + "---|" * (len(PATTERNS) + 1), flush=True)
    points, all_near = [], True
    for name in names[:3] if options.short else names:
        memories = described(published.output_of(omptier, "sandbox", "--describe", name), name)
        if not memories:
            print(f"{name}: left out, not timed", file=sys.stderr)
            continue
        times = measure(options, name, memories)
        for memory in memories:
            text, more, near = row(memory, times)
            print(text, flush=True)
            points += more
            all_near &= near
    published.write_picture(options, "curves", {
        "data": {"values": points}, "mark": {"type": "line", "point": True},
        "encoding": {"x": {"field": "cores", "type": "quantitative"}, "y": {"field": "GB/s", "type": "quantitative"},
                     "color": {"field": "pattern", "type": "nominal"}, "row": {"field": "machine", "type": "nominal"},
                     "column": {"field": "memory", "type": "nominal"}},
        "resolve": {"scale": {"x": "independent", "y": "independent"}}})
    return 0 if all_near else 1


if __name__ == "__main__":
    sys.exit(main())
