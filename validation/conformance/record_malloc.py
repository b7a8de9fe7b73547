#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# omptier record of programs that know nothing of OMPTier, on any OpenMP runtime or none, with any malloc: same
# output and status as without, arrays reported by name with the bytes they have, small blocks counted, shares
# that add up to 1.
#
# usage: record_malloc.py --omptier O --program P --folder F [--runtime own] [--stock FOLDER]
#                         [--names hot_malloc,… | --unseen] [--hot NAME]
import argparse
import json
import os
import shutil
import subprocess
import sys

parser = argparse.ArgumentParser()
for name in ["omptier", "program", "folder"]:
    parser.add_argument("--" + name, required=True)
parser.add_argument("--runtime", default="omptier")
parser.add_argument("--stock", help="folder of the program's own OpenMP runtime")
parser.add_argument("--names", default="hot_malloc,by_calloc,grown,by_aligned_alloc,by_memalign,middle")
parser.add_argument("--hot", default="hot_malloc", help="what most samples must fall on")
parser.add_argument("--unseen", action="store_true", help="the program's own malloc hides everything")
parser.add_argument("--small", type=int, default=0, help="small blocks to allocate")
options = parser.parse_args()
shutil.rmtree(options.folder, ignore_errors=True)
os.makedirs(options.folder)
os.chdir(options.folder)
environment = dict(os.environ, OMP_WAIT_POLICY="passive")
if options.stock:
    environment["LD_LIBRARY_PATH"] = options.stock


def run(*command):
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=100, check=False)
    if done.returncode != 0:
        sys.exit(f"FAILED: status {done.returncode}: {' '.join(command)}\n{done.stdout}{done.stderr}")
    return done


program = [options.program] + ([str(options.small)] if options.small else [])
plain = run(*program).stdout
recorded = run(options.omptier, "record", "-o", "profile", "--rate", "1000", "--runtime", options.runtime, "--", *program)
if recorded.stdout != plain:
    sys.exit(f"FAILED: prints {recorded.stdout} instead of {plain}")
if os.listdir(".") != ["profile"]:
    sys.exit(f"FAILED: {os.listdir('.')} instead of one profile")
report = json.loads(run(options.omptier, "report", "--json", "profile").stdout)
total = report["other"]["share"] + report["small_objects"]["share"] + sum(s["share"] for s in report["sites"])
if abs(total - 1) > 1e-6 or report["samples"] < 50:
    sys.exit(f"FAILED: shares add up to {total}, {report['samples']} samples")
sites = {site["label"].split()[0]: site for site in report["sites"]}
if options.unseen:
    if any(name in sites for name in options.names.split(",")):
        sys.exit(f"FAILED: seen in a malloc of the program's own: {list(sites)}")
    sys.exit(0)
for name in options.names.split(","):
    wanted = 20000 if name == "middle" else 8 << 16
    if name not in sites or sites[name]["bytes_peak"] != wanted:
        sys.exit(f"FAILED: {name} of {wanted} bytes is not among {[(k, v['bytes_peak']) for k, v in sites.items()]}")
if sites[options.hot]["share"] < 0.4:
    sys.exit(f"FAILED: {options.hot} has {sites[options.hot]['share']:.2f} of the samples\n"
             f"{run(options.omptier, 'report', 'profile').stdout}")
counted = report["small_objects"]["objects"]
if abs(counted - options.small) > 0.1 * options.small + 5000:
    sys.exit(f"FAILED: {counted} small objects counted, {options.small} made")
print(f"{len(sites)} sites; {options.hot} {100 * sites[options.hot]['share']:.0f} % of {report['samples']} samples; "
      f"{counted} small objects")
