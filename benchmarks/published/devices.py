#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Memory devices as published: latency and bandwidth of each kind against DRAM's, and STREAM with
its arrays in two memories (stream.c)."""
import published
from published import Comparison

POOLS = "Vaverka et al., IPDPSW 2025"
H2M = "Klinkenberg et al., FGCS 2023"
OPTANE = "Izraelevitz et al., 2019"
MAX, KNL, CXL = "xeon-max-flat", "knl-snc4-flat", "dram-cxl"
ICELAKE = "icelake-optane-socket"
# What; machine; the slower run's kernel and nodes, the faster one's; published time of one over the other's.
ROWS = [
    ("Xeon Max: STREAM add, DDR over HBM", MAX, ("add", "0,0,0"), ("add", "1,1,1"), 3.5, POOLS),
    ("Xeon Max: STREAM copy, DDR over HBM", MAX, ("copy", "0,0"), ("copy", "1,1"), 3.5, POOLS),
    ("Xeon Max: copy, HBM to DDR over DDR to HBM", MAX, ("copy", "1,0"), ("copy", "0,1"), 1 / 0.65, POOLS),
    ("Xeon Max: add, HBM + HBM to DDR over DDR + DDR to HBM", MAX, ("add", "1,1,0"), ("add", "0,0,1"), 1, POOLS),
    ("Xeon Max: add, one input in DDR over all in HBM", MAX, ("add", "0,1,1"), ("add", "1,1,1"), 1, POOLS),
    ("Xeon Max: pointer chase, HBM over DDR", MAX, ("chase", "1"), ("chase", "0"), 1.2, POOLS),
    ("Xeon Max: reading, DDR over HBM", MAX, ("read", "0"), ("read", "1"), 2.3, "McCalpin, IXPUG 2023"),
    ("Ice Lake: pointer chase, Optane over DRAM", ICELAKE, ("chase", "1"), ("chase", "0"), 3.3, H2M),
    ("Ice Lake: reading, Optane over DRAM", ICELAKE, ("read", "1"), ("read", "0"), 3, H2M),
    ("Optane: a line at random over one in order", ICELAKE, ("random", "1"), ("lines", "1"), 4, OPTANE),
    ("Knights Landing: pointer chase, MCDRAM over DDR", KNL, ("chase", "4"), ("chase", "0"), 155 / 130, H2M),
    ("CXL expander: pointer chase, CXL over DRAM", CXL, ("chase", "1"), ("chase", "0"), 2.2,
     "Sun et al., MICRO 2023"),
]


def comparisons(options):
    program = (options.build / "benchmarks/published/stream").resolve()
    command = lambda kernel: f"{program} {kernel[0]} {kernel[1]} 16 4"
    nanoseconds = {}
    for machine in sorted({row[1] for row in ROWS}):
        kernels = sorted({kernel for row in ROWS if row[1] == machine for kernel in row[2:4]})
        printed = published.seconds_of(options, machine, 400, [command(kernel) for kernel in kernels])
        nanoseconds.update({(machine, kernel): printed[command(kernel)] for kernel in kernels})
    return [Comparison(what, source, wanted, nanoseconds[machine, slow] / nanoseconds[machine, fast])
            for what, machine, slow, fast, wanted, source in ROWS]


if __name__ == "__main__":
    raise SystemExit(published.main(__doc__, comparisons))
