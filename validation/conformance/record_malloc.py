#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# omptier record of programs that know nothing of OMPTier, on any OpenMP runtime or none, with any malloc: same
# output and status as without, arrays reported by name with the bytes they have, small blocks counted, shares
# that add up to 1; under a plan as without.
#
# usage: record_malloc.py --omptier O --program P [--runtime own] [--stock FOLDER]
#                         [--names hot_malloc,… | --unseen] [--hot NAME] [--planned FIXTURES]
import os
import sys

from recording import Recorder, check, parser

arguments = parser("omptier", "program")
arguments.add_argument("--runtime", default="omptier")
arguments.add_argument("--stock", help="folder of the program's own OpenMP runtime")
arguments.add_argument("--names", default="hot_malloc,by_calloc,grown,by_aligned_alloc,by_memalign,middle")
arguments.add_argument("--hot", default="hot_malloc", help="what most samples must fall on")
arguments.add_argument("--unseen", action="store_true", help="the program's own malloc hides everything")
arguments.add_argument("--planned", help="recorded once more under the plan made from it, for a machine of these fixtures")
arguments.add_argument("--small", type=int, default=0, help="small blocks to allocate")
options = arguments.parse_args()
bench = Recorder(options, **({"LD_LIBRARY_PATH": options.stock} if options.stock else {}))
program = [options.program] + ([str(options.small)] if options.small else [])
plain = bench.run(*program).stdout
recorded = bench.record(*program, options=("--rate", "1000", "--runtime", options.runtime)).stdout
check(recorded == plain, f"prints {recorded} instead of {plain}")
check(os.listdir(bench.folder) == ["p.profile"], f"{os.listdir(bench.folder)} instead of one profile")
report = bench.report()
check(report["samples"] >= 50, f"{report['samples']} samples")
sites = {site["label"].split()[0]: site for site in report["sites"]}
names = options.names.split(",")
if options.unseen:
    check(not any(name in sites for name in names), f"seen in a malloc of the program's own: {list(sites)}")
    sys.exit(0)
for name in names:
    wanted = 20000 if name == "middle" else 8 << 16
    check(name in sites and sites[name]["bytes_peak"] == wanted,
          f"{name} of {wanted} bytes is not among {[(k, v['bytes_peak']) for k, v in sites.items()]}")
share = sites[options.hot]["share"]
check(share >= 0.4, f"{options.hot} has {share:.2f} of the samples\n{bench.text()}")
counted = report["small_objects"]["objects"] + sum(s["objects"] for s in report["sites"] if s["bytes_largest"] < 4096)
check(abs(counted - options.small) <= 0.1 * options.small + 5000, f"{counted} small objects counted, {options.small} made")
print(f"{len(sites)} sites; {options.hot} {100 * share:.0f} % of {report['samples']} samples; {counted} small objects")
if options.planned:
    bench.run(options.omptier, "advise", "p.profile", "--no-traits", "--xml", options.planned + "/machines/dram-hbm-nvm.xml",
              "--capacity", "dram:1G", "-o", "p.plan")
    again = bench.record(*program, options=("--rate", "1000", "--runtime", options.runtime, "--plan", "p.plan"))
    check(again.stdout == plain, f"prints {again.stdout} instead of {plain}")
    placed = {site["label"].split()[0]: site for site in bench.report()["sites"]}
    share = placed[options.hot]["share"] if options.hot in placed else 0
    check(share >= 0.4, f"under a plan {options.hot} has {share:.2f} of the samples\n{bench.text()}")
