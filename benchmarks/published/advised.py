#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The advisor on the synthetic benchmark (synthetic.c). Each configuration is recorded on this computer by
samples of time, with all data in its one memory. What advise puts into the fast memory is compared with the best
of the four placements, as measured in the timed machine (synthetic.py, whose results are used again). Status 1
if fewer than nine in ten are the best or within 2 % of it."""
import pathlib
import re
import sys
import tempfile

import published
import synthetic

MACHINE = "icelake-8-threads"
MIB = 64  # of an array that is recorded: larger than this computer's caches
SECONDS = 2
THREADS = 4  # of the machine; as many as there are processors are recorded


def source_lines():
    """The line on which each array is allocated."""
    text = (published.HERE / "synthetic.c").read_text().splitlines()
    return {number: name for number, line in enumerate(text, 1)
            for name in synthetic.ARRAYS if re.search(rf"uint32_t\* {name} = .*malloc", line)}


def record(options, program, cell, profile):
    """One profile of about SECONDS of the loop."""
    def command(repeats):
        return [str(program), cell[0], str(cell[1]), "free", "0", str(MIB), str(repeats)]
    once = float(published.output_of(*command(1)))
    published.output_of(options.build / "bin/omptier", "record", "-o", profile, "--rate", "200", "--",
                        *command(max(2, round(SECONDS / once))))


def advise(options, profile, *further):
    return published.advise(options, MACHINE, "--capacity", f"dram:{MIB + 1}M,nvm:8G", "--threads", THREADS, *further,
                            profile)


def chosen(advice, lines):
    """Bytes of each array in the fast memory."""
    held = dict.fromkeys(synthetic.ARRAYS, 0)
    for site in advice["sites"]:
        line = re.search(r"synthetic\.c:(\d+)", site["label"])
        if line and int(line[1]) in lines and site["kind"] == "dram":
            held[lines[int(line[1])]] += site["bytes"]
    return held


def slowdown(times, held):
    """Against the best, of the array that the fast memory holds; where it holds none whole, of the worst."""
    array = max(held, key=held.get)
    whole = held[array] >= 0.95 * (MIB << 20)
    return (times[array] if whole else max(times.values())) / min(times.values())


def main():
    parser = published.parser(__doc__)
    parser.add_argument("--profiles", type=pathlib.Path, help="folder to keep profiles in, and to use them from")
    options = parser.parse_args()
    program = (options.build / "benchmarks/published/synthetic").resolve()
    cells = synthetic.cells(options)
    seconds = synthetic.measure(options, program, cells)
    print(f"\nadvice from samples of time on this computer ({synthetic.SOURCE})\n")
    print("| pattern | writes | in the fast memory | time over the best's |")
    print("|---|---|---|---|")
    slower, others = [], {}
    with tempfile.TemporaryDirectory() as folder:
        for cell in cells:
            profile = (options.profiles or pathlib.Path(folder)) / f"{cell[0]}-{cell[1]}.profile"
            if not profile.exists():
                record(options, program, cell, profile)
            times = {array: seconds[*cell, array] for array in synthetic.ARRAYS}
            advice = advise(options, profile, "--compare")
            held = chosen(advice, source_lines())
            slower.append(slowdown(times, held))
            for name in (strategy["name"] for strategy in advice["strategies"]):
                other = chosen(advise(options, profile, "--strategy", name), source_lines())
                others.setdefault(name, []).append(slowdown(times, other))
            placed = ", ".join(f"{array} {size >> 20} MiB" for array, size in held.items() if size) or "nothing"
            print(f"| {cell[0]} | {cell[1] * 12.5:g} % | {placed} | {slower[-1]:.3f} |", flush=True)
    print("\n| strategy, the same profiles | best or within 2 % | mean over the best | worst |")
    print("|---|---|---|---|")
    for name, ratios in {"omptier": slower, **others}.items():
        print(f"| {name} | {sum(ratio <= 1.02 for ratio in ratios)} of {len(ratios)} | "
              f"{sum(ratios) / len(ratios):.3f} | {max(ratios):.2f} |")
    good = sum(ratio <= 1.02 for ratio in slower)
    return 0 if good >= 0.9 * len(slower) else 1


if __name__ == "__main__":
    sys.exit(main())
