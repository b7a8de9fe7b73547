#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# omptier record of a program with more call stacks than the recorder tells apart: the rest goes by the place that
# calls malloc, which is said, and neither log nor memory grows with them.
#
# usage: record_capacity_stacks.py --omptier O --program P --stacks N
import json
import re

from recording import Recorder, check, parser

MIB = 1 << 20
options = parser("omptier", "program", stacks=int).parse_args()
bench = Recorder(options)


def peak(text):
    return 1024 * int(re.search(r"peak (\d+) KiB", text.stderr).group(1))


program = [options.program, str(options.stacks)]
more = peak(bench.record(*program)) - peak(bench.run(*program))
size = (bench.folder / "p.profile").stat().st_size
done = bench.run(options.omptier, "report", "--json", "p.profile")
sites = [site["objects"] for site in json.loads(done.stdout)["sites"] if site["bytes_largest"] == 5000]
print(f"{len(sites)} sites; recorder {more / MIB:.1f} MiB, log {size / MIB:.1f} MiB")
check(more < 16 * MIB and size < 2 * MIB, "log or memory grows with the stacks")
check(sum(sites) == options.stacks, f"{sum(sites)} blocks, not {options.stacks}")
said = re.search(r"(\d+) allocations count for the place that calls malloc", done.stderr)
check(said and int(said.group(1)) == max(sites), f"{max(sites)} blocks have no stack of their own: {done.stderr}")
check(len(sites) - 1 + max(sites) == options.stacks, "stacks within the bound share a site")
