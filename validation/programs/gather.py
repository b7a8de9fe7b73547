#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# numpy at work: values fetched by an index, and streams over whole arrays. It tells its own truth in truth.h's words.
#
# usage: gather.py [thousands of elements 6000] [rounds 12] [--truth FILE [--alone]]
import json
import sys
import time

import numpy

start = time.perf_counter()
sizes = [int(word) for word in sys.argv[1:3] if word.isdigit()]
count = 1000 * (sizes[0] if sizes else 6000)
rounds = sizes[1] if len(sizes) > 1 else 12
MARGIN = 500_000  # elements that are there for others
seconds = {"fill": 0.0, "gather": 0.0, "stream": 0.0}


def timed(loop, work):
    before = time.process_time()
    result = work()
    seconds[loop] += time.process_time() - before
    return result


def fill():
    table = numpy.ones(6 * count, dtype="float32")
    index = numpy.random.default_rng(1).integers(0, len(table), count)
    return table, index, numpy.ones(count, dtype="float32"), numpy.ones(2 * count), numpy.ones(2 * count + MARGIN)


table, index, fetched, total, margins = timed("fill", fill)
part = margins[MARGIN:]
for _ in range(rounds):
    timed("gather", lambda: numpy.take(table, index, out=fetched, mode="wrap"))
    timed("stream", lambda: [numpy.add(total, part, out=total) for _ in range(4)])
print("sums", fetched[count // 3], total[count // 2])


def shortest(work):
    """Of five times."""
    times = []
    for _ in range(5):
        before = time.process_time()
        work()
        times.append(time.process_time() - before)
    return min(times)


def parts(alone):
    """Loop -> object -> its part of the loop's time."""
    if not alone:
        return {"gather": dict.fromkeys(("table", "index", "fetched")), "stream": dict.fromkeys(("total", "margins"))}
    taken = shortest(lambda: numpy.take(table, index, out=fetched, mode="wrap"))
    ordered = numpy.arange(count)
    near = shortest(lambda: numpy.take(table, ordered, out=fetched, mode="wrap"))  # no line of the table anew each time
    whole, read = shortest(lambda: numpy.add(total, part, out=total)), shortest(part.max)
    scattered = (taken - near) / taken
    return {"gather": {"table": scattered, "index": (1 - scattered) / 2, "fetched": (1 - scattered) / 2},
            "stream": {"margins": min(read / whole, 1), "total": max(1 - read / whole, 0)}}


def tell(file, alone):
    # bytes, pattern, read and written in the loop that uses it, written in the filling
    big, double, one, half = 24 * count, 16 * count, 8 * count, 4 * count
    used = {"table": (big, "indirect", "gather", rounds * half, 0, big),
            "index": (one, "sequential", "gather", rounds * one, 0, one),
            "fetched": (half, "sequential", "gather", 0, rounds * half, half),
            "total": (double, "sequential", "stream", 4 * rounds * double, 4 * rounds * double, double),
            "margins": (double + 8 * MARGIN, "sequential", "stream", 4 * rounds * double, 0, double + 8 * MARGIN)}
    divided, all_seconds = parts(alone), sum(seconds.values())
    filled = sum(use[5] for use in used.values())
    accessed = sum(sum(use[3:]) for use in used.values())
    objects = []
    for name, (size, pattern, loop, read, written, put) in used.items():
        part_of_loop = divided[loop][name]
        objects.append({
            "name": name, "bytes": size, "blocks": 1, "pattern": pattern, "accessed_bytes": read + written + put,
            "access_share": (read + written + put) / accessed, "write_share": (written + put) / (read + written + put),
            "time_share": None if part_of_loop is None else
            (part_of_loop * seconds[loop] + seconds["fill"] * put / filled) / all_seconds,
            "from_cache": None, "hot_part": 0.9})
    objects[0]["through"] = "index"
    with open(file, "w") as out:
        json.dump({"program": "gather", "seconds": time.perf_counter() - start,
                   "processor_seconds": time.process_time(), "loop_seconds": all_seconds, "allocating_seconds": 0,
                   "objects": objects}, out, indent=1)


if "--truth" in sys.argv:
    tell(sys.argv[sys.argv.index("--truth") + 1], "--alone" in sys.argv)
