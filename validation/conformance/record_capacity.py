#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# omptier record of a program with many threads, many live blocks and many that come and go: the log stays below
# its limit, the recorder below its memory, and the counts are right.
#
# usage: record_capacity.py --omptier O --program P --threads N --live N --allocations N
import re

from recording import Recorder, check, parser

MIB = 1 << 20
LOG_LIMIT = 4 * MIB
MEMORY_LIMIT = 32 * MIB  # OMPTIER_PROFILE_MEMORY
# Beside it: the libraries' own pages, and one ring of the kernel's or of ours for each thread.
LIBRARIES, A_THREAD = 8 * MIB, 40 << 10

options = parser("omptier", "program", threads=int, live=int, allocations=int).parse_args()
bench = Recorder(options)


def peak(text):
    return 1024 * int(re.search(r"peak (\d+) KiB", text.stderr).group(1))


program = [options.program, str(options.threads), str(options.live), str(options.allocations)]
bare = peak(bench.run(*program, timeout=600))
recorded = bench.record(*program, options=("--size", str(LOG_LIMIT)), timeout=600)
more = peak(recorded) - bare
size = (bench.folder / "p.profile").stat().st_size
report = bench.report()
print(f"log {size / MIB:.1f} MiB; recorder {more / MIB:.1f} MiB over {bare / MIB:.0f}; "
      f"{report['samples']} samples, {report['samples_lost']} lost")
check(size <= LOG_LIMIT, f"the log has {size} bytes")
check(more <= MEMORY_LIMIT + LIBRARIES + options.threads * A_THREAD, f"the recorder took {more / MIB:.1f} MiB")
# Named by variables: those that stay go to blocks[], those that come and go to block.
each = options.live // options.threads * options.threads
check(any(s["objects"] == each and s["bytes_peak"] == 8192 * each for s in report["sites"]),
      f"no site of {each} objects that stay: {report['sites']}")
calls = options.allocations // options.threads * options.threads
# Half of them are small. Of these the first ones are sampled, the others counted with the rest of their site.
gone = sum(s["objects"] for s in report["sites"] if s["label"].startswith("block "))
sampled = report["small_objects"]["objects"]
within = 0.001 * calls + options.threads + min(0.5 * sampled, 0.1 * calls + 5000)
check(gone <= calls and abs(gone + sampled - calls) <= within,
      f"{gone} blocks come and go, and some {sampled} small ones, not {calls}")
