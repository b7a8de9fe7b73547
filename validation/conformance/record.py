#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# omptier record and omptier report on a small program whose behaviour is known (record_cases.c).
# record.py <case> --omptier PATH --program PATH
import glob
import signal
import subprocess

from recording import check, run_case, site


def case_objects(bench):
    """Objects with names, bytes and instances; the program's output and status are its own."""
    program = bench.options.program
    plain = bench.run(program)
    result = bench.record(program, "seven", options=("--rate", "500"), status=7)
    check(result.stdout == plain.stdout, f"output changed: {result.stdout!r} {plain.stdout!r}")
    lines = result.stderr.strip().splitlines()
    check(len(lines) == 1 and lines[0].startswith("omptier: recorded ") and
          lines[0].endswith("p.profile"), f"stderr: {lines}")
    report = bench.report()
    complaints = bench.run(bench.omptier, "report", "p.profile").stderr
    check(not complaints and not report["notes"], f"{complaints} {report['notes']}")
    hot, cold = site(report, "hot_table"), site(report, "cold_list")
    for one in hot, cold:
        check(one["objects"] == 1 and one["bytes_peak"] == 8 << 20, f"{one}")
        check("allocate_words" in one["frames"][0].get("function", ""), f"{one['frames']}")
        check(one["frames"][1]["function"] == "main", f"{one['frames']}")
    check(hot["frames"][0] == cold["frames"][0], "the wrapper's frame differs")
    check(hot["frames"][1] != cold["frames"][1], "two calls of one wrapper were merged")
    repeated = site(report, "repeated")
    check(repeated["objects"] == 3 and repeated["bytes_total"] == 8 * 303 and
          repeated["bytes_peak"] == 8 * 102, f"{repeated}")


def case_regions(bench):
    """Regions with their entries, and samples in the right one."""
    bench.record(bench.options.program, "exit", "50000", options=("--rate", "1000"))
    report = bench.report()
    regions = {region["label"].split()[0]: region for region in report["regions"]}
    check(regions["gather"]["entries"] == 10 and regions["gather"]["entered_anew"] == 1 and
          regions["gather"]["threads"] == 2, f"{regions}")
    check(regions["add_up"]["entries"] == 1, f"{regions}")
    check(regions["gather"]["nanoseconds"] > regions["add_up"]["nanoseconds"], f"{regions}")
    check(report["samples"] >= 50, f"only {report['samples']} samples: {report['runs'][0]['source_description']}")
    check(regions["gather"]["share"] > 0.6, f"gather has {regions['gather']['share']}")
    text = bench.text()
    check("hot_table" in text and "█" in text and "gather (record_cases.c:" in text, text)


def case_region_names(bench):
    """gcc gives a region's call the place of inlined code that it moved in front of it."""
    bench.record(bench.options.program, options=("--rate", "500"))
    labels = sorted(region["label"] for region in bench.report()["regions"] if region["entries"] == 100)
    check(labels == ["dot (record_regions.cpp:47)", "multiply (record_regions.cpp:26)"], f"{labels}")


def case_waiting(bench):
    """Time that threads wait at the end of a region is nobody's access, and is said."""
    bench.record(bench.options.program, "wait", "4000", options=("--rate", "500"), OMP_WAIT_POLICY="active",
                 KMP_USE_YIELD="0")  # else a busy machine takes what a waiting thread gives away
    report = bench.report()
    check(report["samples"] > 50 and report["samples_waiting"] > 10, f"{report['samples_waiting']} waiting")
    check(0.15 < report["waiting_share"] < 0.7, f"waiting {report['waiting_share']}")
    check(report["other"]["share"] < 0.1, f"other has {report['other']['share']}: waiting counts as work")
    check(site(report, "cold_list")["share"] > 0.4, "the thread that works is not seen")
    text = bench.text()
    check("waiting in the OpenMP runtime" in text, text)


def case_ends(bench):
    """Killed, aborted, forked, folder changed, options of depth."""
    program = bench.options.program
    bench.record(program, "kill", status=128 + 9)
    complaints = bench.run(bench.omptier, "report", "p.profile").stderr
    check("killed?" in complaints or "cut off" in complaints, f"{complaints}")
    site(bench.report(), "hot_table")
    bench.record(program, "abort", status=128 + 6)
    result = bench.record(program, "chdir", log="q.profile")
    check((bench.folder / "q.profile").exists(), result.stderr)
    bench.record(program, "fork", log="f-%p.profile")
    logs = glob.glob(str(bench.folder / "f-*.profile"))
    check(len(logs) == 2, f"{logs}")
    bench.record(program, "exit", options=("--depth", "1"))
    report = bench.report()
    check(all(len(site["frames"]) <= 1 for site in report["sites"]), "depth 1 keeps more frames")
    wrapped = [site for site in report["sites"] if any("allocate_words" in frame.get("function", "") for frame in site["frames"])]  # stacks have none
    check(len(wrapped) == 1, "with depth 1 all objects have the wrapper's site")


def case_faults(bench):
    """What cannot be written or read is one line: before the program runs, else it runs all the same."""
    program = bench.options.program
    plain = bench.run(program)
    result = bench.record(program, log="missing/p.profile", status=2)
    check(result.stderr.count("\n") == 1, f"{result.stderr}")
    (bench.folder / "a_folder").mkdir()
    result = bench.record(program, log="a_folder", status=2)
    check(result.stderr.count("\n") == 1 and "a_folder" in result.stderr, result.stderr)
    result = bench.run(bench.omptier, "record", "--", program, OMPTIER_PROFILE="a_folder")
    check(result.stdout == plain.stdout, f"{result}")
    check(result.stderr.count("\n") == 1 and "a_folder" in result.stderr, result.stderr)
    result = bench.record(program, log="/dev/full")
    check(result.stdout == plain.stdout, f"{result}")
    check(result.stderr.count("\n") == 1 and "No space left" in result.stderr, result.stderr)
    result = bench.record(program, options=("--events", "none"), log="n.profile")
    check(result.stderr.count("\n") == 1, result.stderr)
    report = bench.report("n.profile")
    check(report["samples"] == 0, "samples without a source")
    site(report, "hot_table")
    result = bench.run(bench.omptier, "record", "--", "/no/such/program", status=127)
    check(result.stderr.count("\n") == 1, f"{result}")
    bench.run(bench.omptier, "record", "--", "/etc/passwd", status=126)
    # A launcher that ignores the ends of its children passes that on.
    result = subprocess.run((bench.omptier, "record", "--", "sh", "-c", "exit 9"), cwd=bench.folder, timeout=100,
                            env=bench.environment,
                            preexec_fn=lambda: signal.signal(signal.SIGCHLD, signal.SIG_IGN))
    check(result.returncode == 9, f"{result}")
    bench.run(bench.omptier, "record", "--events", "magic", "--", "true", status=2)
    bench.run(bench.omptier, "record", status=2)
    for wrong, said in ((("recrod",), "no command recrod"), ((), "no command is named"), (("record",), "no program is named"),
                        (("env", "no-such"), "no-such"), (("run", "--plan", "no-such.plan", "--", program), "no-such.plan")):
        result = bench.run(bench.omptier, *wrong, status=127 if wrong[:1] == ("env",) else 2)
        check(result.stderr.count("\n") == 1 and said in result.stderr and not result.stdout, f"{wrong}: {result}")

    bytes_ = (bench.folder / "n.profile").read_bytes()
    (bench.folder / "bad.profile").write_bytes(bytes_[:60] + bytes([bytes_[60] ^ 1]) + bytes_[61:])
    (bench.folder / "cut.profile").write_bytes(bytes_[:-3])
    (bench.folder / "empty.profile").write_bytes(b"")
    for name in "bad.profile", "empty.profile", "a_folder", "absent.profile", program:
        result = bench.run(bench.omptier, "report", name, status=2)
        check(result.stderr.count("\n") == 1 and result.stderr.startswith(f"omptier report: {name}: ") and not result.stdout,
              f"{name}: {result}")
    result = bench.run(bench.omptier, "report", "cut.profile")
    check("cut off here" in result.stderr, f"{result}")


def case_alone(bench):
    """Without the command: the variables alone; an empty pattern; the default name."""
    bench.run(bench.options.program, OMP_TOOL_LIBRARIES=f"{bench.libraries}/libomptier_ompt.so",
              LD_LIBRARY_PATH=bench.libraries)
    logs = list(bench.folder.glob("omptier-*.profile"))
    check(len(logs) == 1, f"{logs}")
    site(bench.report(logs[0].name), "hot_table")


run_case(globals(), "program")
