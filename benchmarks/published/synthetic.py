#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The synthetic benchmark's map: which of four arrays is best in the only fast memory that there is
room for (synthetic.c). Published for 144 configurations; the 36 without additional threads are
claimed here, since the machine has four processors."""
import published
from published import Comparison

PATTERNS = ("sequential", "strided", "tiled", "random")
ARRAYS = ("p_1", "p_2", "p_3", "crit")
SOURCE = "Huckebrink, RWTH Aachen 2025, figure 5.2"
STEPS = (("sequential", 8, 1), ("tiled", 4, 1))  # pattern; more writes, fewer: eighths


def size_of(pattern, eighths):
    """MiB of an array: more where the arrays are nearly equal, for times that are surer."""
    return 8 if pattern == "sequential" or eighths == 0 and pattern != "random" else 2


def best_published(pattern, eighths):
    if pattern == "sequential" or (eighths == 0 and pattern != "random"):
        return "p_3"
    return "crit"


def cells(options):
    eighths = (0, 1, 4, 8) if options.short else range(9)
    return [(pattern, part) for pattern in PATTERNS for part in eighths]


def measure(options, program, configurations, arrays=ARRAYS, machine="icelake-8-threads", nodes="0,1", dilation=100):
    """Seconds by pattern, eighths and array in the fast memory, which is the first of the nodes. Those of a
    configuration have one dilation."""
    commands = {cell: f"for array in {' '.join(arrays)}; do "
                      f"{program} {cell[0]} {cell[1]} $array {nodes} {size_of(*cell)}; done"
                for cell in configurations}
    printed = published.run_stretched(options, machine, dilation, list(commands.values()))
    seconds = {}
    for cell, command in commands.items():
        lines, time = printed[command]
        seconds.update({(*cell, array): float(line) / time
                        for array, line in zip(arrays, lines.split(), strict=True)})
    return seconds


def program_of(options):
    return (options.build / "benchmarks/published/synthetic").resolve()


def comparisons(options):
    """What more writes to the array in NVM are said to cost (appendix A.1): blocks are written as a whole."""
    some = [(pattern, part) for pattern, *parts in STEPS for part in parts]
    seconds = measure(options, program_of(options), some, ("p_3",))
    return [Comparison(f"Ice Lake: {pattern} array in Optane, {part * 12.5:g} over {other * 12.5:g} % writes",
                       "Huckebrink, RWTH Aachen 2025, appendix A.1", 1,
                       seconds[pattern, part, "p_3"] / seconds[pattern, other, "p_3"])
            for pattern, part, other in STEPS]


def main():
    options = published.arguments(__doc__)
    program = program_of(options)
    seconds = measure(options, program, cells(options))
    print(f"\nbest array for the fast memory; seconds over the best one's ({SOURCE})\n")
    print("| pattern | writes | published | best here | p_1 | p_2 | p_3 | crit |")
    print("|---|---|---|---|---|---|---|---|")
    same, tiles = 0, []
    for pattern, part in cells(options):
        times = {array: seconds[pattern, part, array] for array in ARRAYS}
        best, wanted = min(times, key=times.get), best_published(pattern, part)
        same += best == wanted
        print(f"| {pattern} | {part * 12.5:g} % | {wanted} | {best}{'' if best == wanted else ' (NO)'} | " +
              " | ".join(f"{times[array] / times[best]:.3f}" for array in ARRAYS) + " |")
        tiles.append({"pattern": pattern, "writes": part * 12.5, "best": best, "published": wanted})
    print(f"\n{same} of {len(tiles)} cells are as published")
    published.write_picture(options, "synthetic", {
        "data": {"values": tiles}, "mark": "rect",
        "encoding": {"x": {"field": "writes", "type": "ordinal", "title": "writes (%)"},
                     "y": {"field": "pattern", "type": "nominal", "sort": list(PATTERNS)},
                     "color": {"field": "best", "type": "nominal"},
                     "column": {"field": "published", "title": "published best"}}})
    return 0 if same >= 0.9 * len(tiles) else 1


if __name__ == "__main__":
    raise SystemExit(main())
