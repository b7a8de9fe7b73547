#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""One object after the other in the faster memory: matrix kernels (matrix.c) and neutron lookups
(lookup.c), with sixteen threads on Ice Lake with Optane and on Knights Landing."""
import itertools

import published
from published import Comparison

H2M = "Klinkenberg et al., FGCS 2023, figure 9"
ICELAKE, KNL = "icelake-16-threads", "knl-16-threads"
# The faster memory's node, the slower one's.
NODES = {ICELAKE: (0, 1), KNL: (1, 0)}
LINEAR, STRIDED = ("matrix", "product linear"), ("matrix", "product strided")
# On Knights Landing, which has no last level, a column of B is larger than the caches.
LONG = ("matrix", "product strided", "8192")
DGEMM, DGEMM_STRIDED = ("matrix", "dgemm linear"), ("matrix", "dgemm strided")
LOOKUP = ("lookup", "")
# Figures for both DGEMMs on Knights Landing: "0.96 to 1.1".
# Machine; program and its kernel; what lies in the faster memory; published time of all in the slower one over it.
ROWS = [
    (ICELAKE, LINEAR, "A", 1), (ICELAKE, LINEAR, "B", 1), (ICELAKE, LINEAR, "C", 5.9), (ICELAKE, LINEAR, "ABC", 10),
    (ICELAKE, STRIDED, "C", 4.7),
    (ICELAKE, DGEMM, "A", 1), (ICELAKE, DGEMM, "B", 3.2), (ICELAKE, DGEMM, "C", 1),
    (ICELAKE, DGEMM_STRIDED, "B", 1.2),
    (ICELAKE, LOOKUP, "nuclides", 2.8), (ICELAKE, LOOKUP, "energies", 1.1), (ICELAKE, LOOKUP, "index", 1),
    (KNL, LINEAR, "ABC", 1.9), (KNL, LONG, "ABC", 1), (KNL, DGEMM, "ABC", 1.03),
    (KNL, DGEMM_STRIDED, "ABC", 1.03),
    (KNL, LOOKUP, "all", 0.95),
]
OBJECTS = {"matrix": ("A", "B", "C"), "lookup": ("nuclides", "index", "energies")}


def command(folder, machine, kernel, in_fast):
    program, arguments, *more = kernel
    fast, slow = NODES[machine]
    nodes = [fast if in_fast == "all" or name in in_fast else slow for name in OBJECTS[program]]
    return " ".join(f"{folder / program} {arguments} {','.join(map(str, nodes))} {' '.join(more)}".split())


def comparisons(options):
    folder = (options.build / "benchmarks/published").resolve()
    seconds = {}
    # Scalar code that hits the caches is emulated slowly, so its time is stretched more.
    for machine, dilation in itertools.product(NODES, (200, 800)):
        wanted = {command(folder, machine, kernel, placed)
                  for row_machine, kernel, in_fast, _ in ROWS for placed in (in_fast, "")
                  if row_machine == machine and (kernel == DGEMM_STRIDED) == (dilation == 800)}
        printed = published.seconds_of(options, machine, dilation, sorted(wanted))
        seconds.update({(machine, one): time for one, time in printed.items()})

    def gain(machine, kernel, in_fast):
        return seconds[machine, command(folder, machine, kernel, "")] / \
            seconds[machine, command(folder, machine, kernel, in_fast)]

    name = {ICELAKE: "Ice Lake", KNL: "Knights Landing"}
    what = {LINEAR: "element-wise product", STRIDED: "element-wise product, B by columns",
            LONG: "element-wise product, B by columns", DGEMM: "DGEMM",
            DGEMM_STRIDED: "DGEMM, B by columns", LOOKUP: "neutron lookups"}
    memory = {ICELAKE: "DRAM", KNL: "MCDRAM"}
    return [Comparison(f"{name[machine]}: {what[kernel]}, {'all' if in_fast == 'ABC' else in_fast} in {memory[machine]}",
                       H2M, wanted, gain(machine, kernel, in_fast)) for machine, kernel, in_fast, wanted in ROWS]


if __name__ == "__main__":
    raise SystemExit(published.main(__doc__, comparisons))
