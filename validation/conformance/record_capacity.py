#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# omptier record of a program with many threads, many live blocks and many that come and go: the log stays below
# its limit, the recorder below its memory, and the counts are right.
#
# usage: record_capacity.py --omptier O --program P --folder F --threads N --live N --allocations N
import argparse
import json
import os
import re
import shutil
import subprocess
import sys

MIB = 1 << 20
LOG_LIMIT = 4 * MIB
MEMORY_LIMIT = 32 * MIB  # OMPTIER_PROFILE_MEMORY
# Beside it: the libraries' own pages, and one ring of the kernel's or of ours for each thread.
LIBRARIES, A_THREAD = 8 * MIB, 40 << 10

parser = argparse.ArgumentParser()
for name in ["omptier", "program", "folder"]:
    parser.add_argument("--" + name, required=True)
for name in ["threads", "live", "allocations"]:
    parser.add_argument("--" + name, type=int, required=True)
options = parser.parse_args()
shutil.rmtree(options.folder, ignore_errors=True)
os.makedirs(options.folder)
os.chdir(options.folder)


def run(*command):
    done = subprocess.run(command, capture_output=True, text=True, timeout=600, check=False)
    if done.returncode != 0:
        sys.exit(f"FAILED: status {done.returncode}: {' '.join(command)}\n{done.stdout}{done.stderr}")
    return done


def peak(text):
    return 1024 * int(re.search(r"peak (\d+) KiB", text.stderr).group(1))


program = [options.program, str(options.threads), str(options.live), str(options.allocations)]
bare = peak(run(*program))
recorded = run(options.omptier, "record", "-o", "profile", "--size", str(LOG_LIMIT), "--", *program)
more = peak(recorded) - bare
size = os.path.getsize("profile")
report = json.loads(run(options.omptier, "report", "--json", "profile").stdout)
print(f"log {size / MIB:.1f} MiB; recorder {more / MIB:.1f} MiB over {bare / MIB:.0f}; "
      f"{report['samples']} samples, {report['samples_lost']} lost")
if size > LOG_LIMIT:
    sys.exit(f"FAILED: the log has {size} bytes")
if more > MEMORY_LIMIT + LIBRARIES + options.threads * A_THREAD:
    sys.exit(f"FAILED: the recorder took {more / MIB:.1f} MiB")
# Named by variables: those that stay go to blocks[], those that come and go to block.
each = options.live // options.threads * options.threads
if not any(s["objects"] == each and s["bytes_peak"] == 8192 * each for s in report["sites"]):
    sys.exit(f"FAILED: no site of {each} objects that stay: {report['sites']}")
calls = options.allocations // options.threads * options.threads
gone = sum(s["objects"] for s in report["sites"] if s["label"].startswith("block "))
if abs(gone - calls / 2) > 0.001 * calls + options.threads:
    sys.exit(f"FAILED: {gone} middle and large blocks come and go, not {calls / 2}")
if abs(report["small_objects"]["objects"] - calls / 2) > 0.1 * calls + 5000:
    sys.exit(f"FAILED: {report['small_objects']['objects']} small ones, not {calls / 2}")
total = report["other"]["share"] + report["small_objects"]["share"] + sum(s["share"] for s in report["sites"])
if report["samples"] and abs(total - 1) > 1e-6:
    sys.exit(f"FAILED: shares add up to {total}")
