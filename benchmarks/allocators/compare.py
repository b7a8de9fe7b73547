#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Compares allocators: every peer in a process of its own, rounds interleaved, medians as ratios.

compare.py --peer-program FILE --runtime FOLDER [--rounds N] [--cell SECONDS] [--out FOLDER] [--short]
           [--pattern NAME] [--peers A,B,...] [--memory]

Writes results.jsonl, table.md and picture.svg into --out, the table also to stdout, and prints for each
expectation whether it is met: the median over the rounds of the ratio within a round. Status 1 if one is
not; with --short, only if a peer did not run. --pattern and --peers measure a part in many short rounds, so
that other load affects both sides of a ratio alike. --memory only measures the peak memory of the programs
of programs.hpp, each in a process of its own.
"""
import argparse
import json
import math
import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

PEERS = ["omptier", "omptier-fresh", "libomp", "libomp-memkind", "glibc", "jemalloc", "mimalloc", "memkind",
         "memkind-fixed", "hwloc", "mmap-4k"]
PROGRAMS = ["containers", "records", "phases", "trees", "little"]
MEMORY_PEERS = ["omptier", "glibc", "jemalloc", "mimalloc"]  # libomp's own takes minutes
PRELOADS = {"jemalloc": "libjemalloc.so.2", "mimalloc": "libmimalloc.so.2"}
STOCK = "/usr/lib/llvm-19/lib"


def environment(peer, runtime, hidden):
    env = {k: v for k, v in os.environ.items() if not k.startswith(("OMP", "KMP", "LD_"))}
    if peer in PRELOADS:
        env["LD_PRELOAD"] = PRELOADS[peer]
    if peer.startswith("omptier"):
        env["LD_LIBRARY_PATH"] = str(runtime)
    elif peer == "libomp":  # a libmemkind.so that cannot be loaded hides the real one
        env["LD_LIBRARY_PATH"] = f"{hidden}:{STOCK}"
    elif peer == "libomp-memkind":
        env["LD_LIBRARY_PATH"] = STOCK
    if peer == "omptier-fresh":
        env["OMPTIER_DECAY"] = "0"
    return env


def measure(args):
    results, failed = {}, []
    with tempfile.TemporaryDirectory() as hidden:
        (Path(hidden) / "libmemkind.so").write_text("")
        for _ in range(args.rounds):
            for peer in args.peers:
                if peer in failed:
                    continue
                command = [args.peer_program, peer, str(args.cell)] + ([args.pattern] if args.pattern else [])
                # Stock libomp was seen to abort on an assertion of its own, once in some hundred starts.
                for _ in range(1 if peer.startswith("omptier") else 2):
                    done = subprocess.run(command, text=True, capture_output=True, check=False, timeout=300,
                                          env=environment(peer, args.runtime, hidden))
                    if done.returncode == 0:
                        break
                    print(f"{peer}: status {done.returncode}: {done.stderr.strip()[:300]}", file=sys.stderr)
                else:
                    failed.append(peer)
                    continue
                for line in done.stdout.splitlines():
                    cell = json.loads(line)
                    key = (cell["pattern"], cell["bytes"], cell["threads"])
                    results.setdefault(key, {}).setdefault(peer, []).append(cell["ns"])
    return results, failed


def measure_memory(args, rounds):
    """{program: {peer: [(asked for, taken) in bytes]}}, and the peers that failed."""
    results, failed = {}, []
    for program in PROGRAMS * rounds:
        for peer in [p for p in MEMORY_PEERS if p in args.peers]:
            done = subprocess.run([args.peer_program, peer, "0", program], text=True, capture_output=True,
                                  check=False, timeout=300, env=environment(peer, args.runtime, None))
            if done.returncode != 0:
                failed.append(peer)
                print(f"{peer}, {program}: status {done.returncode}: {done.stderr.strip()[-300:]}", file=sys.stderr)
                continue
            cell = json.loads(done.stdout)
            results.setdefault(program, {}).setdefault(peer, []).append((cell["live"], cell["peak"]))
    return results, failed


def memory_table(results):
    lines = ["| program | asked for | " + " | ".join(MEMORY_PEERS) + " |", "|---" * (2 + len(MEMORY_PEERS)) + "|"]
    for program, peers in results.items():
        asked = statistics.median(live for live, _ in next(iter(peers.values())))
        jemalloc = statistics.median(peak for _, peak in peers["jemalloc"]) if "jemalloc" in peers else None
        cells = []
        for peer in MEMORY_PEERS:
            peak = statistics.median(peak for _, peak in peers[peer]) if peer in peers else None
            ratio = f" ({peak / jemalloc:.2f})" if peak and jemalloc and peer != "jemalloc" else ""
            cells.append(f"{peak / 1e6:.1f}{ratio}" if peak else "")
        lines.append(f"| {program} | {asked / 1e6:.1f} | " + " | ".join(cells) + " |")
    return "\n".join(lines) + "\n"


def memory_expectations(results):
    """Like expectations(), for the memory of a program relative to jemalloc."""
    for program in ("containers", "records", "phases"):
        peers = results.get(program, {})
        pairs = list(zip(peers.get("omptier", []), peers.get("jemalloc", [])))
        ratio = statistics.median(a / b for (_, a), (_, b) in pairs) if pairs else None
        yield f"memory of {program} against jemalloc", ratio, 1.3


def size_text(count):
    for unit in ("B", "KiB", "MiB"):
        if count < 1024:
            return f"{count} {unit}"
        count //= 1024
    return f"{count} GiB"


def table(medians):
    lines = ["| pattern | size | threads | " + " | ".join(PEERS) + " |", "|---" * (3 + len(PEERS)) + "|"]
    for (pattern, size, threads), peers in sorted(medians.items()):
        ours = peers.get("omptier")
        cells = []
        for peer in PEERS:
            ns = peers.get(peer)
            ratio = f" ({ns / ours:.2f})" if ns and ours and peer != "omptier" else ""
            cells.append(f"{ns:.4g}{ratio}" if ns is not None else "")
        lines.append(f"| {pattern} | {size_text(size)} | {threads} | " + " | ".join(cells) + " |")
    return "\n".join(lines) + "\n"


def picture(medians):
    """Bars of ns an operation on a logarithmic scale, one group a cell with one thread."""
    groups = [(k, v) for k, v in sorted(medians.items()) if k[2] == 1 and k[0] != "touched"]
    peers = [p for p in PEERS if any(p in v for _, v in groups)]
    colours = ["#1b6ca8", "#7fb3d5", "#555555", "#999999", "#c0392b", "#e67e22", "#27ae60", "#8e44ad", "#c39bd3",
               "#f1c40f", "#16a085"]
    bar, height, left, top = 11, 260, 60, 40
    width = left + sum(len(peers) * bar + 24 for _ in groups) + 20
    largest = max(ns for _, v in groups for ns in v.values())
    decades = max(1, math.ceil(math.log10(largest)))
    y = lambda ns: top + height - height * max(0.0, math.log10(max(ns, 1.0))) / decades
    out = [f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{top + height + 90}" '
           'font-family="sans-serif" font-size="11">',
           f'<text x="{left}" y="18" font-size="14">ns an operation, one thread (logarithmic)</text>']
    for d in range(decades + 1):
        out.append(f'<line x1="{left}" x2="{width - 10}" y1="{y(10 ** d)}" y2="{y(10 ** d)}" stroke="#ddd"/>'
                   f'<text x="{left - 6}" y="{y(10 ** d) + 4}" text-anchor="end">{10 ** d}</text>')
    x = left + 10
    for (pattern, size, _), values in groups:
        for peer in peers:
            if peer in values:
                at = y(values[peer])
                out.append(f'<rect x="{x}" y="{at:.1f}" width="{bar - 1}" height="{top + height - at:.1f}" '
                           f'fill="{colours[PEERS.index(peer)]}"><title>{peer}: {values[peer]:.4g} ns</title></rect>')
            x += bar
        out.append(f'<text x="{x - len(peers) * bar / 2}" y="{top + height + 16}" text-anchor="middle">'
                   f'{pattern} {size_text(size)}</text>')
        x += 24
    for i, peer in enumerate(peers):
        lx, ly = left + (i % 6) * 130, top + height + 40 + (i // 6) * 18
        out.append(f'<rect x="{lx}" y="{ly - 9}" width="10" height="10" fill="{colours[PEERS.index(peer)]}"/>'
                   f'<text x="{lx + 15}" y="{ly}">{peer}</text>')
    return "\n".join(out) + "\n</svg>\n"


def expectations(results):
    """(text, ratio, limit): met when ratio <= limit."""
    mib = 1 << 20
    wanted = [("64 B pair against jemalloc", ("pair", 64, 1), "omptier", "jemalloc", 2.0),
              ("64 B pair against stock libomp", ("pair", 64, 1), "omptier", "libomp", 0.5),
              ("churn against jemalloc", ("churn", 80, 1), "omptier", "jemalloc", 1.5),
              ("hand-over against jemalloc", ("handover", 64, 2), "omptier", "jemalloc", 1.1),
              ("hand-over against mimalloc", ("handover", 64, 2), "omptier", "mimalloc", 1.1),
              ("64 KiB pair against glibc", ("pair", 65536, 1), "omptier", "glibc", 1.5)]
    wanted += [(f"{m} MiB reused against hwloc_alloc_membind, both touched", ("touched", m * mib, 1), "omptier",
                "hwloc", 1 / 20) for m in (2, 16, 64)]
    wanted += [(f"{m} MiB fresh against mmap + mbind at 4 KiB", ("touched", m * mib, 1), "omptier-fresh", "mmap-4k",
                1 / 1.5) for m in (16, 64)]
    for text, key, ours, other, limit in wanted:
        cell = results.get(key, {})
        if ours in cell and other in cell:
            yield text, statistics.median(a / b for a, b in zip(cell[ours], cell[other])), limit
        else:
            yield text, None, limit


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--peer-program", required=True)
    parser.add_argument("--runtime", required=True, type=Path)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--cell", type=float, default=0.05)
    parser.add_argument("--out", type=Path, default=Path("allocators"))
    parser.add_argument("--short", action="store_true")
    parser.add_argument("--pattern", choices=["pair", "churn", "handover", "growth", "touched"])
    parser.add_argument("--memory", action="store_true")
    parser.add_argument("--peers", type=lambda text: text.split(","), default=PEERS)
    args = parser.parse_args()
    if args.short:
        args.rounds, args.cell = 1, 0.004
    unmet = 0

    def judge(expected):
        nonlocal unmet
        for what, ratio, limit in expected:
            if ratio is None and (args.pattern or args.peers != PEERS):
                continue
            met = ratio is not None and ratio <= limit
            unmet += not met
            print(f"{'met    ' if met else 'NOT MET'} {what}: "
                  f"{'not measured' if ratio is None else f'{ratio:.3f}'} (at most {limit:.3f})")

    memory_failed = []
    if args.memory or not (args.pattern or args.short):
        memory, memory_failed = measure_memory(args, min(args.rounds, 3))
        print("MB in memory at the fullest moment; in brackets as multiples of jemalloc's\n" + memory_table(memory))
        judge(memory_expectations(memory))
    if args.memory:
        return 1 if memory_failed else int(unmet != 0)
    results, failed = measure(args)
    medians = {key: {peer: statistics.median(ns) for peer, ns in peers.items()} for key, peers in results.items()}
    args.out.mkdir(parents=True, exist_ok=True)
    with open(args.out / "results.jsonl", "w", encoding="utf-8") as file:
        for (pattern, size, threads), peers in sorted(medians.items()):
            for peer, ns in peers.items():
                file.write(json.dumps({"peer": peer, "pattern": pattern, "bytes": size, "threads": threads,
                                       "ns": ns}) + "\n")
    text = table(medians)
    (args.out / "table.md").write_text(text, encoding="utf-8")
    (args.out / "picture.svg").write_text(picture(medians), encoding="utf-8")
    print("ns an operation, medians; in brackets as multiples of omptier's\n" + text)
    judge(expectations(results))
    if failed or memory_failed or not medians:
        return 1
    return 0 if args.short else int(unmet != 0)


if __name__ == "__main__":
    sys.exit(main())
