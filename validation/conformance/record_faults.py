#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# omptier record of a program (record_faults.c) that forks, execs, handles signals, or in a world that refuses
# files, /proc, perf. The program prints and ends as without us; whatever log there is can be read.
# record_faults.py <case> --omptier PATH --programs FOLDER
import os
import pathlib
import shutil
import subprocess
import time

from recording import Recorder, check, run_case


class Faults(Recorder):
    def __init__(self, options):
        super().__init__(options)
        programs = pathlib.Path(options.programs)
        self.plain, self.openmp, self.own_tool, self.shim = (
            str(programs / name) for name in ("plain", "openmp", "own-tool", "shim.so"))

    def record(self, *command, options=(), output=None, **more):
        """Records; the program's output must be its last argument's and 'done', or what is given."""
        result = super().record(*command, options=("--rate", "1000", *options), **more)
        wanted = f"{output} done\n" if output is not None else ""
        check(result.stdout == wanted, f"printed {result.stdout!r} instead of {wanted!r}; {result.stderr}")
        return result

    def logs(self):
        return sorted(path.name for path in self.folder.glob("*.profile*"))

    def sites(self, report, function):
        return [site for site in self.allocated(report) if site["frames"][0].get("function") == function]

    def allocated(self, report):
        return [site for site in report["sites"] if site["kind"] == "allocation" and site["frames"]]

    def worked(self, *logs, regions=None):
        """The log has samples, most of them on work's block; and so many entries of regions."""
        report = self.report(*logs)
        share = sum(site["share"] for site in self.sites(report, "work"))
        check(report["samples"] > 10 and share > 0.4, f"{logs}: {report['samples']} samples, {share} of them in work")
        entries = sum(region["entries"] for region in report["regions"])
        check(regions is None or entries == regions, f"{logs}: {entries} regions, not {regions}")
        return report


def case_children(bench):
    """200 children at once: those that compute have logs of their own, those that exec leave nothing."""
    for program, regions in (bench.plain, 0), (bench.openmp, 1):
        result = bench.record(program, "children", "200", output="children")
        check(result.stderr.count("\n") == 1, f"more than one line: {result.stderr[:2000]}")
        logs = bench.logs()
        check(len(logs) == 101, f"{len(logs)} logs of {program}: {logs[:5]}")
        bench.worked("p.profile", regions=2 * regions)
        children = [log for log in logs if log != "p.profile"]
        for log in children[:3]:
            report = bench.report(log)
            check(len(bench.sites(report, "work")) == len(bench.allocated(report)) == 1, f"{log}: {report['sites']}")
            check(sum(region["entries"] for region in report["regions"]) == regions, f"{log}: {report['regions']}")
        for log in logs:
            (bench.folder / log).unlink()


def case_children_named(bench):
    """With %p in its name, each process writes under its own; and a child that works long is sampled."""
    bench.run(bench.omptier, "record", "-o", "q-%p.profile", "--", bench.plain, "children", "2")
    check(len(bench.logs()) == 2 and all(log.count(".") == 1 for log in bench.logs()), f"{bench.logs()}")


def case_children_chosen(bench):
    """--children no: neither forked ones nor programs started; all: also those without OpenMP."""
    bench.record(bench.openmp, "children", "4", options=("--children", "no"), output="children")
    check(bench.logs() == ["p.profile"], f"forked children: {bench.logs()}")
    bench.worked("p.profile", regions=2)
    for choice, inner, logs in (("no", bench.openmp, 1), ("yes", bench.openmp, 2), ("yes", bench.plain, 1),
                                ("all", bench.plain, 2)):
        for log in bench.logs():
            (bench.folder / log).unlink()
        outer = bench.openmp if inner == bench.plain else bench.plain
        result = bench.run(bench.omptier, "record", "-o", "p-%p.profile", "--children", choice, "--", outer,
                           "exec", inner, "work")
        check(result.stdout == "work done\nexec done\n", f"{result}")
        check(len(bench.logs()) == logs, f"--children {choice}, {inner}: {bench.logs()}")
    # A launcher on the way is none of them.
    (bench.folder / bench.logs()[0]).unlink()
    bench.record("env", "true", options=("--children", "no"))
    bench.record("sh", "-c", f"{bench.openmp} work", options=("--children", "no"), output="work")
    bench.worked("p.profile", regions=2)


def case_execs(bench):
    """A program that starts another: each has its log; the same name is not written twice."""
    result = bench.run(bench.omptier, "record", "-o", "p.profile", "--rate", "1000", "--", bench.openmp, "exec", bench.openmp, "work")
    check(result.stdout == "work done\nexec done\n" and len(bench.logs()) == 2, f"{result} {bench.logs()}")
    for log in bench.logs():
        bench.worked(log, regions=2)


def case_unseen(bench):
    """A child made by the system call itself, past fork's handlers, harms neither itself nor the log."""
    bench.record(bench.plain, "unseen", output="unseen")  # libomp itself hangs at such a child's end
    check(bench.logs() == ["p.profile"], f"{bench.logs()}")
    bench.worked("p.profile")


def case_daemon(bench):
    """A child that outlives its parent writes beside the parent's log, not over it."""
    bench.run(bench.omptier, "record", "-o", "p.profile", "--rate", "1000", "--", bench.plain, "daemon")
    end = time.monotonic() + 20
    while not (bench.folder / "done").exists() and time.monotonic() < end:
        time.sleep(0.02)
    time.sleep(0.1)
    check(len(bench.logs()) == 2, f"{bench.logs()}")
    for log in bench.logs():
        bench.worked(log)


def case_killed(bench):
    """SIGKILL: everything up to the last tenth of a second is there."""
    bench.record(bench.plain, "kill", status=128 + 9)
    report = bench.worked("p.profile")
    # 0.35 s of work at 250 to 1000 samples a second.
    check(report["samples"] > 0.3 * 250 * 0.5, f"{report['samples']} samples")


def case_full(bench):
    """The disk fills up: one line, the program goes on, the log can be read as far as it got."""
    result = bench.record(bench.plain, "library", "600", bench.shim, output="library", options=("--no-names",),
                          LD_PRELOAD=bench.shim, FAULT="full")
    check(result.stderr.count("\n") == 1 and "No space left on device" in result.stderr, f"{result.stderr}")
    check(0 < (bench.folder / "p.profile").stat().st_size <= 8192, "the log's size")
    check(bench.report("p.profile")["sites"], "nothing in the log")


def case_folder(bench):
    """The log's folder goes away: while the program runs, and before it begins."""
    (bench.folder / "logs").mkdir()
    program = subprocess.Popen((bench.omptier, "record", "-o", "logs/p.profile", "--", bench.plain, "spin", "1"),
                               cwd=bench.folder, env=bench.environment, text=True, stdout=subprocess.PIPE,
                               stderr=subprocess.PIPE)
    end = time.monotonic() + 20
    while not (bench.folder / "logs/p.profile").exists() and time.monotonic() < end:
        time.sleep(0.01)
    shutil.rmtree(bench.folder / "logs")
    output, errors = program.communicate(timeout=60)
    check(program.returncode == 0 and output == "spin done\n", f"{program.returncode} {output} {errors}")
    check(errors.count("\n") == 1 and "p.profile" in errors and "removed" in errors, f"{errors}")
    gone = bench.folder / "gone"
    gone.mkdir()
    result = bench.run("sh", "-c", f"cd {gone} && rmdir {gone} && {bench.omptier} record -- {bench.plain} work")
    check(result.stdout == "work done\n" and "cannot create profile" in result.stderr, f"{result}")


def case_proc(bench):
    """No /proc: recorded all the same."""
    # libomp itself aborts then, when its process has the number of one that was killed before (known issues).
    for left in pathlib.Path("/dev/shm").glob("__KMP_REGISTERED_LIB_*"):
        if not pathlib.Path("/proc", left.name.split("_")[-2]).exists():
            left.unlink(missing_ok=True)
    for program in bench.plain, bench.openmp:
        bench.record(program, "work", output="work", LD_PRELOAD=bench.shim, FAULT="proc")
        bench.worked("p.profile")


def case_perf(bench):
    """perf refused: timers, and the report says so."""
    bench.record(bench.plain, "spin", "1", output="spin", LD_PRELOAD=bench.shim, FAULT="perf")
    report = bench.worked("p.profile")
    check(report["runs"][0]["source"] == "timer", f"{report['runs'][0]}")


def case_threads(bench):
    """10,000 threads one after the other, each by each source."""
    for source in "perf", "timer":
        bench.record(bench.plain, "threads", "5000", output="threads", options=("--events", source))
        report = bench.worked("p.profile")
        blocks = sum(site["objects"] for site in bench.sites(report, "short_thread"))
        check(blocks == 5000, f"{source}: {blocks} blocks of threads")


def case_library(bench):
    """A library that allocates is loaded and unloaded 300 times."""
    bench.record(bench.plain, "library", "300", bench.shim, output="library")
    report = bench.worked("p.profile")
    taken = sum(site["objects"] for site in bench.sites(report, "take_in_library"))
    check(taken == 300, f"{taken} blocks of the library: {report['sites']}")


def case_privileged(bench):
    """A program with more rights than its user: nothing is loaded, and that is said."""
    program = bench.folder / "privileged"
    shutil.copy(bench.plain, program)
    if os.geteuid() == 0:
        os.chown(program, 65534, -1)
        program.chmod(0o4755)
    else:  # anybody's: setuid root, with an output of its own
        program = pathlib.Path(shutil.which("mount"))
    arguments = ["work"] if os.geteuid() == 0 else ["--version"]
    bench.folder.chmod(0o777)
    alone = bench.run(str(program), *arguments)
    result = bench.run(bench.omptier, "record", "-o", "p.profile", "--", str(program), *arguments)
    check(result.stdout == alone.stdout, f"{result}")
    said = [line for line in result.stderr.splitlines() if line.startswith("omptier record: ")]
    check(len(said) == 1 and "more rights than its user" in said[0] and "nothing is recorded" in said[0], f"{result}")
    check(not bench.logs(), f"{bench.logs()}")


def case_debugger(bench):
    """Under gdb the program is recorded, and gdb sees no signal of ours."""
    for source, seconds in ("perf", "0.4"), ("timer", "1"):  # of a stopped thread's ticks most are lost
        result = bench.run(bench.omptier, "record", "-o", "p.profile", "--rate", "1000", "--events", source, "--", "gdb", "-nx", "-batch",
                           "-ex", "set debuginfod enabled off", "-ex", "run", "--args", bench.openmp, "spin", seconds)
        check("spin done" in result.stdout and "exited normally" in result.stdout, f"{result}")
        check("received signal" not in result.stdout, f"{result.stdout}")
        bench.worked("p.profile", regions=2)


def case_timeout(bench):
    """`timeout` inside and outside: its status, and the log of what was done until then."""
    bench.record("timeout", "1", bench.openmp, "spin", "60", status=124)
    bench.worked("p.profile")
    bench.run("timeout", "1", bench.omptier, "record", "-o", "q.profile", "--rate", "1000", "--", bench.plain, "spin", "60", status=124)
    bench.worked("q.profile")


def case_signals(bench):
    """Handlers, masks and signal stack are the program's own, whichever source there is."""
    for source in "perf", "timer":
        for program in bench.plain, bench.openmp:
            result = bench.record(program, "signals", options=("--events", source), output="signals")
            check(result.stderr.count("\n") == 1, f"{result.stderr}")
            # 1 s of work, most of it after the program has taken its signals; on a busy machine most ticks are others'.
            samples = bench.worked("p.profile")["samples"]
            check(samples > 50, f"{source}: samples ended: {samples}")


def case_mapping_signals(bench):
    """A handler that maps and unmaps interrupts regions' begins and ends, where the recorder holds its locks."""
    bench.record(bench.openmp, "mapping-signals", output="mapping-signals", timeout=60)
    bench.worked("p.profile")


def case_asking_signals(bench):
    """Handlers that ask for the timers' signal and take it, while threads end, are answered at once."""
    bench.record(bench.plain, "asking-signals", options=("--events", "timer"), output="asking-signals", timeout=60)
    bench.worked("p.profile")


def case_own_tool(bench):
    """A program linked with a tool of its own: said once, unless that tool declines."""
    result = bench.record(bench.own_tool, "work", output="work")
    said = [line for line in result.stderr.splitlines() if "regions are not recorded" in line]
    check(len(said) == 1, f"{result.stderr}")
    bench.worked("p.profile", regions=0)
    result = bench.record(bench.own_tool, "work", output="work", TOOL_DECLINES="1")
    check("regions are not recorded" not in result.stderr, f"{result.stderr}")
    bench.worked("p.profile", regions=2)


run_case(globals(), "programs", recorder=Faults)
