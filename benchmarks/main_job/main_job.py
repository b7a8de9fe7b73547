#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# The main job, measured: neutron_lookup in the timed virtual machine with fast memory for a tenth of
# its bytes. Runs it first come first served, records it, lets the advisor make a plan, runs it with
# the plan and with everything in fast memory, and prints one table. ./demo calls it once; the proof
# (--proof) repeats everything, adds two more placements and checks the ratios.
#
# Bytes per memory kind are the kernel's: `omptier run --where FILE` reads numa_maps from outside the
# program while it runs. Times are guest seconds; only their ratios mean something.
import argparse
import json
import pathlib
import re
import statistics
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
from guest_job import KINDS, MIB, GuestJob, check, file_name, guarded, same_results  # noqa: E402


class Job(GuestJob):
    def __init__(self, arguments):
        super().__init__(arguments)
        self.program = [str(self.bin / "neutron_lookup"), "--size", arguments.size, "--threads", "4",
                        "--mark", "--json"]
        if arguments.lookups:
            self.program += ["--lookups", str(arguments.lookups)]

    def run(self, what, options, arguments=()):
        """The program under `omptier run`: its own JSON, and bytes per kind from the kernel."""
        where = f"{file_name(what)}.where.json"
        out = self.sandbox(what, "run", *options, "--where", where, "--", *self.program, *arguments)
        result = json.loads(out)
        result["where"] = json.loads((self.folder / where).read_text())["bytes_by_kind"]
        return result


ONLY_SHOWN = {"first come reversed"}  # nothing is held against its time: one run of it is enough


def measure(job, cases, repeats):
    """Runs the cases in turn, `repeats` rounds; results by case."""
    results = {name: [] for name in cases}
    for turn in range(repeats):
        for name, (options, arguments) in cases.items():
            if turn == 0 or name not in ONLY_SHOWN:
                results[name].append(job.run(name, options, arguments))
    same_results(results)
    return results


def seconds(runs):
    return statistics.median(run["lookup_seconds"] for run in runs)


def table(results, labels, base):
    used = [kind for kind in KINDS if any(run["where"].get(kind) for runs in results.values() for run in runs)]
    print(f"{'placement':34} {'guest time':>11} {'speed-up':>9}  " + "  ".join(f"{kind.upper():>9}" for kind in used))
    for name, runs in results.items():
        where = runs[-1]["where"]
        print(f"{labels[name]:34} {seconds(runs):9.2f} s {seconds(results[base]) / seconds(runs):8.2f}x  "
              + "  ".join(f"{where.get(kind, 0) / MIB:5.1f} MiB" for kind in used))
    print("Bytes as the kernel reports them (all private memory of the process); times are guest seconds of")
    print("the virtual machine: only their ratios mean something.")


def shares_met(job, arrays):
    """Recorded shares against the machine's exact count: is each array's in its interval?

    The interval is the one the advisor uses: the wider of the 95 % sampling interval (outside of which
    one share in twenty lies by chance) and the source's own error, as the report states both.
    Shares of the three arrays' misses: the count also holds what other processes missed, which a
    profile of this process rightly leaves out.
    """
    report = json.loads(job.sandbox("report in JSON", "report", "neutron.profile", "--json", timed=False))
    sites, error = report["sites"], report["worst_error"]
    counted, recorded = {}, {}
    for array in ("index", "unionized", "nuclide"):
        line = subprocess.run([str(job.bin / "miss_share"), "misses.bin", arrays[f"range_{array}_grid"]],
                              cwd=job.folder, capture_output=True, text=True, check=True).stdout
        counted[array] = float(re.search(r"misses ([0-9]+) share", line).group(1))
        recorded[array] = next(site for site in sites
                               if any(f"allocate_{array}_grid" in frame.get("function", "") for frame in site["frames"]))
    all_counted, all_recorded = sum(counted.values()), sum(site["share"] for site in recorded.values())
    met = True
    for array, site in recorded.items():
        true = counted[array] / all_counted
        share, low, high = (site[name] / all_recorded for name in ("share", "low", "high"))
        met &= check(min(low, share - error) <= true <= max(high, share + error),
                     f"{array} grid: {true:.4f} of the counted misses, recorded {share:.4f} "
                     f"(sampling {low:.4f} to {high:.4f}, source +-{error:.2f})")
    return met


def proof(results):
    plan, first = seconds(results["plan"]), seconds(results["first come"])
    met = check(first / plan >= 1.5, f"time(first come) / time(plan) = {first / plan:.2f}, at least 1.5")
    dram = seconds(results["all dram"])
    met &= check(dram / plan >= 0.9, f"time(all DRAM) / time(plan) = {dram / plan:.2f}, at least 0.9")
    if "all hbm" in results:
        hbm = seconds(results["all hbm"])
        met &= check(dram / hbm <= 1.1, f"time(all DRAM) / time(all HBM) = {dram / hbm:.2f}, at most 1.1 "
                     "(random reads gain nothing from HBM)")
    print(f"        first come in reverse order of allocation: {seconds(results['first come reversed']):.2f} s")
    return met


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--build", default="build/release", help="build folder (default build/release)")
    parser.add_argument("--folder", default="build/main_job", help="where files of the runs go")
    parser.add_argument("--machine", default="dram-hbm-nvm")
    parser.add_argument("--size", default="small")
    parser.add_argument("--lookups", type=int)
    parser.add_argument("--repeats", type=int, default=1)
    parser.add_argument("--proof", action="store_true", help="more placements; check the ratios; status 1 if not met")
    parser.add_argument("--json", help="write all figures to this file")
    arguments = parser.parse_args()
    job = Job(arguments)

    recorded = job.sandbox("recording, everything in DRAM", "record", "-o", "neutron.profile", "--", *job.program,
                           "--where", extra=["--memory-events", "--misses", "misses.bin"])
    report = job.sandbox("reporting", "report", "neutron.profile", timed=False)
    sizes = json.loads(subprocess.run([*job.program[:5], "--lookups", "1", "--json"], capture_output=True, text=True,
                                      check=True).stdout)
    fast = sizes["bytes_total"] // 10
    capacity = f"dram:{fast},hbm:0"
    advice = job.sandbox("advising", "advise", "neutron.profile", "--capacity", capacity, "-o", "plan.json",
                         "--no-traits", timed=False)

    limit = ["--capacity", capacity]
    cases = {
        "first come": ([*limit, "--strategy", "first-come"], ()),
        "plan": ([*limit, "--plan", "plan.json"], ()),
        "all dram": (["--strategy", "only-dram"], ()),
    }
    labels = {"first come": "first come, first served", "plan": "with the plan", "all dram": "everything in DRAM",
              "first come reversed": "first come, allocated in reverse", "all hbm": "everything in HBM"}
    if arguments.proof:
        cases["first come reversed"] = (cases["first come"][0], ("--reverse-order",))
        if "hbm" in arguments.machine:
            cases["all hbm"] = (["--strategy", "only-hbm"], ())
    results = measure(job, cases, arguments.repeats)

    print(f"\nneutron_lookup, {sizes['bytes_total'] / MIB:.0f} MiB, on the virtual machine {arguments.machine}; "
          f"fast memory: DRAM, {fast / MIB:.1f} MiB\n")
    print("Recorded\n" + report)
    print("Advised\n" + advice)
    table(results, labels, "first come")
    if arguments.json:
        pathlib.Path(arguments.json).write_text(json.dumps(results, indent=1))
    if not arguments.proof:
        return 0
    met = shares_met(job, json.loads(recorded))
    return 0 if proof(results) and met else 1


if __name__ == "__main__":
    guarded("main_job", main)
