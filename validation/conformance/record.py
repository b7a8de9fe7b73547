#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# omptier record and omptier report on a small program whose behaviour is known (record_cases.c).
# record.py <case> --omptier PATH --program PATH --plain PATH
import argparse
import glob
import json
import os
import pathlib
import signal
import subprocess
import sys
import tempfile


class Failure(Exception):
    pass


def check(condition, what):
    if not condition:
        raise Failure(what)


class Bench:
    def __init__(self, arguments, folder):
        self.omptier, self.program, self.folder = arguments.omptier, arguments.program, folder
        self.environment = {
            name: value for name, value in os.environ.items()
            if not name.startswith(("OMPTIER_", "OMP_", "LD_LIBRARY_PATH"))
        }
        self.environment.update(OMP_NUM_THREADS="2", OMP_WAIT_POLICY="passive", LC_ALL="C.UTF-8")

    def run(self, *command, **more):
        environment = dict(self.environment, **more)
        return subprocess.run(command, cwd=self.folder, env=environment, text=True,
                              capture_output=True, timeout=100)

    def record(self, *program_arguments, options=(), log="p.profile", **more):
        output = ("-o", log) if log else ()
        return self.run(self.omptier, "record", *output, *options, "--", self.program,
                        *program_arguments, **more)

    def report(self, *logs):
        result = self.run(self.omptier, "report", "--json", *logs)
        check(result.returncode == 0, f"report failed: {result.stderr}")
        return json.loads(result.stdout), result.stderr

    def site(self, report, name):
        sites = [site for site in report["sites"] if site["label"].split()[0] == name]
        check(len(sites) == 1, f"{name}: {len(sites)} sites of {[s['label'] for s in report['sites']]}")
        return sites[0]


def case_objects(bench):
    """Objects with names, bytes and instances; the program's output and status are its own."""
    plain = bench.run(bench.program)
    result = bench.record("seven", options=("--rate", "500"))
    check(result.returncode == 7, f"status {result.returncode}: {result.stderr}")
    check(result.stdout == plain.stdout, f"output changed: {result.stdout!r} {plain.stdout!r}")
    lines = result.stderr.strip().splitlines()
    check(len(lines) == 1 and lines[0].startswith("omptier: recorded ") and
          lines[0].endswith("p.profile"), f"stderr: {lines}")
    report, complaints = bench.report("p.profile")
    check(not complaints and not report["notes"], f"{complaints} {report['notes']}")
    hot, cold = bench.site(report, "hot_table"), bench.site(report, "cold_list")
    for site in hot, cold:
        check(site["objects"] == 1 and site["bytes_peak"] == 8 << 20, f"{site}")
        check("allocate_words" in site["frames"][0].get("function", ""), f"{site['frames']}")
        check(site["frames"][1]["function"] == "main", f"{site['frames']}")
    check(hot["frames"][0] == cold["frames"][0], "the wrapper's frame differs")
    check(hot["frames"][1] != cold["frames"][1], "two calls of one wrapper were merged")
    repeated = bench.site(report, "repeated")
    check(repeated["objects"] == 3 and repeated["bytes_total"] == 8 * 303 and
          repeated["bytes_peak"] == 8 * 102, f"{repeated}")
    total = report["other"]["share"] + report["small_objects"]["share"] + sum(site["share"] for site in report["sites"])
    check(report["samples"] == 0 or abs(total - 1) < 1e-6, f"shares add up to {total}")


def case_regions(bench):
    """Regions with their entries, and samples in the right one."""
    check(bench.record("exit", "400000", options=("--rate", "1000")).returncode == 0, "status")
    report, _ = bench.report("p.profile")
    regions = {region["label"].split()[0]: region for region in report["regions"]}
    check(regions["gather"]["entries"] == 10 and regions["gather"]["entered_anew"] == 1 and
          regions["gather"]["threads"] == 2, f"{regions}")
    check(regions["add_up"]["entries"] == 1, f"{regions}")
    check(regions["gather"]["nanoseconds"] > regions["add_up"]["nanoseconds"], f"{regions}")
    if report["samples"] < 50:
        raise Failure(f"only {report['samples']} samples: {report['runs'][0]['source_description']}")
    check(regions["gather"]["share"] > 0.6, f"gather has {regions['gather']['share']}")
    text = bench.run(bench.omptier, "report", "p.profile").stdout
    check("hot_table" in text and "█" in text and "gather (record_cases.c:" in text, text)


def case_waiting(bench):
    """Time that threads wait at the end of a region is nobody's access, and is said."""
    result = bench.record("wait", "4000", options=("--rate", "500"), OMP_WAIT_POLICY="active")
    check(result.returncode == 0, result.stderr)
    report, _ = bench.report("p.profile")
    check(report["samples"] > 50 and report["samples_waiting"] > 10, f"{report['samples_waiting']} waiting")
    check(0.15 < report["waiting_share"] < 0.7, f"waiting {report['waiting_share']}")
    check(report["other"]["share"] < 0.1, f"other has {report['other']['share']}: waiting counts as work")
    check(bench.site(report, "cold_list")["share"] > 0.4, "the thread that works is not seen")
    text = bench.run(bench.omptier, "report", "p.profile").stdout
    check("waiting in the OpenMP runtime" in text, text)


def case_ends(bench):
    """Killed, aborted, forked, folder changed, options of depth."""
    result = bench.record("kill")
    check(result.returncode == 128 + 9, f"killed: status {result.returncode}")
    report, complaints = bench.report("p.profile")
    check("killed?" in complaints or "cut off" in complaints, f"{complaints}")
    bench.site(report, "hot_table")
    result = bench.record("abort")
    check(result.returncode == 128 + 6, f"aborted: status {result.returncode}")
    result = bench.record("chdir", log="q.profile")
    check(result.returncode == 0 and (bench.folder / "q.profile").exists(), result.stderr)
    result = bench.record("fork", log="f-%p.profile")
    check(result.returncode == 0, f"fork: {result.returncode} {result.stderr}")
    logs = glob.glob(str(bench.folder / "f-*.profile"))
    check(len(logs) == 2, f"{logs}")
    result = bench.record("exit", options=("--depth", "1"))
    report, _ = bench.report("p.profile")
    check(all(len(site["frames"]) <= 1 for site in report["sites"]), "depth 1 keeps more frames")
    wrapped = [site for site in report["sites"] if "allocate_words" in site["frames"][0].get("function", "")]
    check(len(wrapped) == 1, "with depth 1 all objects have the wrapper's site")


def case_faults(bench):
    """What cannot be written or read is one line; the program runs all the same."""
    plain = bench.run(bench.program)
    result = bench.record(log="missing/p.profile")
    check(result.returncode == 2 and result.stderr.count("\n") == 1, f"{result.stderr}")
    folder = bench.folder / "a_folder"
    folder.mkdir()
    result = bench.record(log="a_folder")
    check(result.returncode == 0 and result.stdout == plain.stdout, f"{result}")
    check(result.stderr.count("\n") == 1 and "a_folder" in result.stderr, result.stderr)
    result = bench.record(log="/dev/full")
    check(result.returncode == 0 and result.stdout == plain.stdout, f"{result}")
    check(result.stderr.count("\n") == 1 and "No space left" in result.stderr, result.stderr)
    result = bench.record(options=("--events", "none"), log="n.profile")
    check(result.returncode == 0 and result.stderr.count("\n") == 1, result.stderr)
    report, _ = bench.report("n.profile")
    check(report["samples"] == 0, "samples without a source")
    bench.site(report, "hot_table")
    result = bench.run(bench.omptier, "record", "--", "/no/such/program")
    check(result.returncode == 127 and result.stderr.count("\n") == 1, f"{result}")
    result = bench.run(bench.omptier, "record", "--", "/etc/passwd")
    check(result.returncode == 126, f"{result}")
    # A launcher that ignores the ends of its children passes that on.
    result = subprocess.run((bench.omptier, "record", "--", "sh", "-c", "exit 9"), cwd=bench.folder, timeout=100,
                            env=bench.environment,
                            preexec_fn=lambda: signal.signal(signal.SIGCHLD, signal.SIG_IGN))
    check(result.returncode == 9, f"{result}")
    check(bench.run(bench.omptier, "record", "--events", "magic", "--", "true").returncode == 2, "usage")
    check(bench.run(bench.omptier, "record").returncode == 2, "usage")

    bytes_ = (bench.folder / "n.profile").read_bytes()
    (bench.folder / "bad.profile").write_bytes(bytes_[:60] + bytes([bytes_[60] ^ 1]) + bytes_[61:])
    (bench.folder / "cut.profile").write_bytes(bytes_[:-3])
    (bench.folder / "empty.profile").write_bytes(b"")
    for name in "bad.profile", "empty.profile", "a_folder", "absent.profile", bench.program:
        result = bench.run(bench.omptier, "report", name)
        check(result.returncode == 2 and result.stderr.count("\n") == 1 and
              result.stderr.startswith(f"omptier report: {name}: ") and not result.stdout,
              f"{name}: {result}")
    result = bench.run(bench.omptier, "report", "cut.profile")
    check(result.returncode == 0 and "cut off here" in result.stderr, f"{result}")


def case_alone(bench):
    """Without the command: the variables alone; an empty pattern; the default name."""
    tool = str(pathlib.Path(bench.omptier).parent.parent / "lib" / "libomptier_ompt.so")
    library_path = str(pathlib.Path(tool).parent)
    result = bench.run(bench.program, OMP_TOOL_LIBRARIES=tool, LD_LIBRARY_PATH=library_path)
    check(result.returncode == 0, f"{result}")
    logs = list(bench.folder.glob("omptier-*.profile"))
    check(len(logs) == 1, f"{logs}")
    report, _ = bench.report(logs[0].name)
    bench.site(report, "hot_table")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("case")
    parser.add_argument("--omptier", required=True)
    parser.add_argument("--program", required=True)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        try:
            globals()["case_" + arguments.case](Bench(arguments, pathlib.Path(folder)))
        except Failure as failure:
            print(f"{arguments.case}: {failure}", file=sys.stderr)
            return 1
    return 0


sys.exit(main())
