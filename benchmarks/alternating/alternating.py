#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Placement per region, measured: `alternating` in the timed virtual machine with fast memory for one of
# its two arrays. Records it, lets the advisor make a plan whose region entries move the arrays, and
# compares that plan with both placements that are fixed for the whole run and with everything in NVM.
# With --proof the exit status is 0 only if the moving plan is faster than either fixed one, and the
# kernel had each array in DRAM while the program worked on it. With --barriers the program has one
# region, and the plan moves the arrays at the barriers that divide it.
#
# The fixed plans are the advised one without its region entries and with kinds written by hand. Bytes
# per memory kind come from the kernel: the program queries them inside each region (--where), with the
# time model off. Times are guest seconds; only their ratios mean something.
import argparse
import json
import pathlib
import re
import statistics
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
from guest_job import KINDS, MIB, Failure, GuestJob, check, file_name, guarded, same_results  # noqa: E402


class Job(GuestJob):
    def __init__(self, arguments):
        super().__init__(arguments, f"--timed={arguments.dilation}")
        self.dilation = arguments.dilation
        self.program = [str(self.bin / "alternating"), "--bytes", arguments.bytes, "--rounds", str(arguments.rounds),
                        "--sweeps", str(arguments.sweeps), "--threads", "4", "--mark", "--where"]
        if arguments.barriers:
            self.program.append("--barriers")

    def record(self, what, profile, *options):
        return self.sandbox(what, "record", *options, "-o", profile, "--", *self.program, extra=["--memory-events"])


def read_result(out):
    """What one run of the program printed."""
    result = dict(line.split(" ", 1) for line in out.splitlines()
                  if re.match(r"(bytes_[ab]|[abt]\w*_seconds|checksum|marked) ", line))
    result["where"] = []
    for line in out.splitlines():
        if line.startswith("where "):
            words = line.split()
            visit = {"round": int(words[2]), "region": words[4]}
            for array, at in (("a", 5), ("b", 14)):
                if words[at] != array:
                    raise Failure(f"not understood: {line}")
                visit[array] = {words[i]: int(words[i + 1]) for i in range(at + 1, at + 9, 2)}
            result["where"].append(visit)
    if result.get("marked") != "yes" or not result["where"]:
        raise Failure(f"the program did not mark its visits or did not print where its arrays were:\n{out}")
    return result


def fixed_plan(advised, kinds_a, kinds_b):
    """The advised plan with one kind list for each array and nothing moved. The program allocates a first."""
    entries = [dict(entry) for entry in advised["entries"] if "region" not in entry]
    if len(entries) != 2:
        raise Failure(f"expected entries for two arrays, the plan has {len(entries)}")
    entries.sort(key=lambda entry: entry["frames"][0]["offset"])
    for entry, kinds in zip(entries, (kinds_a, kinds_b)):
        entry.pop("parts", None)
        entry.update(kinds=kinds, reason="by hand")
    return {**advised, "entries": entries}


def seconds(runs, what="total_seconds"):
    return statistics.median(float(run[what]) for run in runs)


def bytes_in_words(counts):
    return " + ".join(f"{counts[kind] / MIB:.1f} MiB {kind.upper()}" for kind in KINDS if counts[kind]) or "untouched"


def print_table(results, base):
    print(f"{'placement':34} {'guest time':>11} {'in a':>9} {'in b':>9} {'speed-up':>9}")
    for name, runs in results.items():
        print(f"{name:34} {seconds(runs):9.2f} s {seconds(runs, 'a_seconds'):7.2f} s {seconds(runs, 'b_seconds'):7.2f} s "
              f"{seconds(results[base]) / seconds(runs):8.2f}x")
    print("Times are guest seconds of the virtual machine, the moves between visits included: only their")
    print("ratios mean something.\n")


def print_where(run):
    print("Where the kernel had the arrays during each visit, with the plan")
    for visit in run["where"]:
        print(f"  round {visit['round']}, in {visit['region']}: a {bytes_in_words(visit['a'])}, b {bytes_in_words(visit['b'])}")


def moves_met(job, report, recorded_bytes, predicted):
    """The report of a recorded run with the plan must list the moves, one array each, and the advisor's
    prediction of their time must be within a factor of two."""
    moves = report["moves"]
    exchange = 0.0
    met = check(len(moves) > 0 and all(move["seconds"] > 0 and move.get("site") is not None for move in moves),
                f"the report names {len(moves)} moves, each with its object and time")
    for way, name in ((("nvm", "dram"), "in"), (("dram", "nvm"), "out")):
        times = [move["seconds"] / job.dilation * 1e3 for move in moves if (move["from"], move["to"]) == way]
        exchange += statistics.mean(times) if times else 0
        met &= check(len(times) > 0, f"moves {name} ({way[0]} to {way[1]}, {recorded_bytes / MIB:.0f} MiB each): "
                     + ", ".join(f"{time:.1f}" for time in times) + " ms undilated")
    return met & check(0.5 <= predicted / exchange <= 2 if exchange else False,
                       f"moving one in and the other out took {exchange:.1f} ms, the advisor predicted {predicted:.1f} "
                       "(half to twice is near)")


def predicted_exchange(advice, visits):
    """Milliseconds of one exchange: the advice gives the sum over all visits, in ns, us, ms or s."""
    match = re.search(r"moving costs ([0-9.]+) (\S+)", advice)
    if not match:
        raise Failure("nothing is advised to be moved; visits too short?\n" + advice)
    units = {"ns": 1e-6, "us": 1e-3, "µs": 1e-3, "ms": 1, "s": 1e3}
    return float(match[1]) * units[match[2]] / visits


def pages_met(runs):
    met = True
    for region in ("a", "b"):
        visits = [visit for run in runs for visit in run["where"] if visit["region"] == region]
        at_home = [visit for visit in visits if visit[region]["dram"] == int(runs[0][f"bytes_{region}"])]
        met &= check(len(visits) > 0 and len(at_home) == len(visits),
                     f"array {region} wholly in DRAM by the kernel's page query in {len(at_home)} of {len(visits)} visits to it")
    return met


def fixed_as_planned(results, fixed):
    """The comparison is valid only if the fixed placements were as planned."""
    met = True
    for name, expected in fixed.items():
        wrong = [visit for run in results[name] for visit in run["where"] for array in ("a", "b")
                 if visit[array][expected[array]] != int(run[f"bytes_{array}"])]
        met &= check(not wrong, f"{name}: the kernel agrees in every visit")
    return met


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--build", default="build/release", help="build folder (default build/release)")
    parser.add_argument("--folder", default="build/alternating", help="where files of the runs go")
    parser.add_argument("--machine", default="dram-hbm-nvm")
    parser.add_argument("--dilation", type=float, default=50)
    parser.add_argument("--bytes", default="4M", help="of each array (default 4M)")
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--barriers", action="store_true", help="all visits in one region, between barriers")
    parser.add_argument("--sweeps", type=int, default=12, help="length of a visit (default 12)")
    parser.add_argument("--repeats", type=int, default=1, help="runs of each placement; medians are shown")
    parser.add_argument("--proof", action="store_true", help="status 1 unless the plan is fastest and the pages are there")
    parser.add_argument("--json", help="write all figures to this file")
    arguments = parser.parse_args()
    job = Job(arguments)

    recorded = read_result(job.record("recording, everything in DRAM", "alternating.profile"))
    array = int(recorded["bytes_a"])
    capacity = f"dram:{array + array // 4},hbm:0"
    advice = job.sandbox("advising", "advise", "alternating.profile", "--capacity", capacity, "-o", "plan.json",
                         "--no-traits", timed=False)
    advised = json.loads((job.folder / "plan.json").read_text())
    plans = {"a in DRAM": ("dram", "nvm"), "b in DRAM": ("nvm", "dram"), "both in NVM": ("nvm", "nvm")}
    for name, kinds in plans.items():
        lists = [["dram", "nvm"] if kind == "dram" else ["nvm"] for kind in kinds]
        (job.folder / f"{file_name(name)}.json").write_text(json.dumps(fixed_plan(advised, *lists)))

    cases = ["plan, moved per region", *plans]
    results = {name: [] for name in cases}
    for _ in range(arguments.repeats):
        for name in cases:
            if name in plans:
                out = job.sandbox(name, "run", "--capacity", capacity, "--plan", f"{file_name(name)}.json", "--",
                                  *job.program)
            else:
                out = job.record(name, "moved.profile", "--capacity", capacity, "--plan", "plan.json")
            results[name].append(read_result(out))
    same_results({**results, "recorded": [recorded]})
    command = [str(job.bin / "omptier"), "report", "moved.profile"]
    report = subprocess.run(command, cwd=job.folder, capture_output=True, text=True, check=True).stdout
    details = json.loads(subprocess.run([*command, "--json"], cwd=job.folder, capture_output=True, text=True,
                                        check=True).stdout)

    print(f"\nalternating, twice {array / MIB:.0f} MiB, on the virtual machine {arguments.machine}; "
          f"fast memory: DRAM, {array * 1.25 / MIB:.1f} MiB\n")
    print("Advised\n" + advice)
    print("Reported of the run with the plan\n" + report)
    print_table(results, "both in NVM")
    moved = results["plan, moved per region"]
    print_where(moved[-1])
    if arguments.json:
        pathlib.Path(arguments.json).write_text(json.dumps({"results": results, "moves": details["moves"]}, indent=1))
    if not arguments.proof:
        return 0
    met = True
    for name in ("a in DRAM", "b in DRAM"):
        ratio = seconds(results[name]) / seconds(moved)
        met &= check(ratio > 1, f"time({name}) / time(plan) = {ratio:.2f}, over 1")
    met &= pages_met(moved)
    met &= fixed_as_planned(results, {name: dict(zip("ab", kinds)) for name, kinds in plans.items()})
    met &= moves_met(job, details, array, predicted_exchange(advice, arguments.rounds))
    return 0 if met else 1


if __name__ == "__main__":
    guarded("alternating", main)
