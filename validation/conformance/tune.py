#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# tune.py <case> --omptier PATH --gcc CC: omptier tune on a program whose time depends on its plan alone
# (tune_cases.c), so that the best placement is known. The second kind of memory is a captured machine's:
# plans are made and handed over as there, and that the runtime cannot place by them here is said.
import json
import pathlib
import re
import signal
import subprocess
import time

from recording import Recorder, check, run_case

HERE = pathlib.Path(__file__).resolve().parent
NVDIMM = str(HERE.parent / "fixtures/machines/nvdimm.xml")
METRIC = ("--metric", "Time: *([0-9.]+)")
ROOM = ("--capacity", "dram:64M,nvm:1G")


class Bench(Recorder):
    def __init__(self, options):
        super().__init__(options)
        self.run(options.gcc, "-O1", "-g", str(HERE / "tune_cases.c"), "-o", "one")
        self.record("./one", "300", options=("--rate", "1000"))
        self.starts()

    def starts(self):
        """How often the program was started since this was last asked."""
        file = self.folder / "starts"
        count = file.stat().st_size if file.exists() else 0
        file.unlink(missing_ok=True)
        return count

    def tune(self, *options, mode="", status=0, where=NVDIMM, **more):
        return self.run(self.omptier, "tune", "p.profile", *ROOM, *options, "--", "./one", "1", mode, status=status,
                        HWLOC_XMLFILE=where, **more)

    def result(self, *options, **more):
        done = self.tune(*METRIC, "--json", *options, **more)
        result = json.loads(done.stdout)
        result["kinds"] = {group["label"].split()[0]: group["kind"] for group in result["groups"]}
        result["tried"] = {group["label"].split()[0]: group["tried"] for group in result["groups"]}
        return result, done.stderr

    def lines(self, file):
        """The head and the runs."""
        lines = [json.loads(line) for line in (self.folder / file).read_text().splitlines()]
        return [line for line in lines if "learned" not in line]

    def learns(self):
        """As if all had lain as planned. No model has an array that is faster in NVM; whether factors come much nearer
        depends on this computer, as does whether a placement without the program's other data was among them."""
        head, *runs = self.lines("a.tune")
        for run in runs:
            run["not_placed"] = ""
        (self.folder / "lay.tune").write_text("".join(json.dumps(line) + "\n" for line in (head, *runs)))
        self.starts()
        _, said = self.result("--runs", "lay.tune")
        found = re.search(r"runs of [34] placements (leave the model as it is|correct the model from ([0-9.]+) to ([0-9.]+) % off)", said)
        check(found and (not found[2] or float(found[3]) < float(found[2])) and self.starts() == 0, said)
        for other in (("--keep", "first=dram"), ("--threads", "7"), ("--machine", "xeon-max-flat")):
            done = self.run(self.omptier, "advise", "p.profile", *other, "--tuned", "lay.tune", HWLOC_XMLFILE=NVDIMM)
            check("lay.tune: " in done.stderr and re.search("[34] placements", done.stderr), done.stderr)

    def refused(self, *command, status, said):
        done = self.run(self.omptier, "tune", *command, status=status, HWLOC_XMLFILE=NVDIMM)
        lines = [line for line in done.stderr.splitlines() if ": run " not in line and "OMP: " not in line]
        check(len(lines) == 1 and said in lines[0] and not done.stdout, f"{command}: {done.stderr}{done.stdout}")


def case_best(bench):
    """It finds the known best placement, says by how much, and writes it as a plan with what was measured."""
    result, said = bench.result("-o", "best.plan", "--runs", "a.tune")
    check(result["kinds"] == {"first": "dram", "second": "nvm"} and result["finished"], f"{result}")
    check(abs(result["best"] - 70) < 0.1 and abs(result["advised"] - 100) < 0.1 and abs(result["all_slow"] - 150) < 0.1, f"{result}")
    check(abs(result["best_over_advised"]["value"] - 0.7) < 0.001 and result["best_over_advised"]["high"] < 1, f"{result}")
    check(result["tried"]["second"]["kind"] == "dram" and result["tried"]["first"]["kind"] == "nvm", f"{result['tried']}")
    check(result["tried"]["first"]["times_as_long"]["low"] > 1.5, f"{result['tried']}")
    check(bench.starts() == result["runs"] <= 12, f"{result['runs']} runs")
    check("Time: " in said and "run 1: as advised" in said and "min left at most" in said, said)
    check("#5028" in said and "not all lay where the plan wanted it" in said, f"not placed, and not said: {said}")
    plan = json.loads((bench.folder / "best.plan").read_text())
    placed = {entry["label"].split()[0]: (entry["kinds"][0], entry["reason"]) for entry in plan["entries"]}
    check(placed["second"][0] == "nvm" and placed["first"][0] == "dram", f"{placed}")
    check(all(reason.startswith("measured: ") and " slower in " in reason for _, reason in placed.values()), f"{placed}")
    bench.run(bench.omptier, "run", "--plan", "best.plan", "--", "./one")
    done = bench.tune(*METRIC, mode="limit")
    check(done.stdout.count("limit dram:64M,nvm:1G") == done.stdout.count("Time: ") >= 5, done.stdout)
    check("best plan" in done.stdout and "all in NVM" in done.stdout and "±" in done.stdout, done.stdout)
    advice = (bench.omptier, "advise", "p.profile", *ROOM, "--json")
    learned = bench.run(*advice, "--tuned", "a.tune", HWLOC_XMLFILE=NVDIMM)
    check("a.tune: one placement was measured only" in learned.stderr, f"the others are not possible here, but: {learned.stderr}")
    said = json.loads(learned.stdout)["learned"]
    check(said["placements"] == 1 and said["runs"] > 0 and said["accesses"] == [] and said["work"] == 1, f"{said}")
    check(json.loads(bench.run(*advice, HWLOC_XMLFILE=NVDIMM).stdout)["learned"] is None, "learned of nothing")
    for file, why in (("none.tune", "cannot be read"), (".", "cannot be read"), ("", "needs the file"), ("one", "holds no runs")):
        refused = bench.run(*advice, "--tuned", file, status=2, HWLOC_XMLFILE=NVDIMM)
        check(why in refused.stderr and len(refused.stderr.splitlines()) == 1, refused.stderr)
    bench.learns()
    kept, _ = bench.result("--keep", "second=dram", "--runs", "b.tune")
    check(kept["kinds"] == {"first": "dram"}, f"{kept['kinds']}")
    one, _ = bench.result("--groups", "1", "--runs", "c.tune")
    check(len(one["groups"]) == 1, f"{one['groups']}")
    (bench.folder / "input").write_text("a\nb\n")
    with open(bench.folder / "input") as file:
        done = subprocess.run([bench.omptier, "tune", "p.profile", *ROOM, *METRIC, "--json", "--", "./one", "1", "input"], stdin=file,
                              capture_output=True, text=True, cwd=bench.folder, env=dict(bench.environment, HWLOC_XMLFILE=NVDIMM))
    check(done.returncode == 0 and json.loads(done.stdout)["best"] < 71, f"not each run had the input: {done.stderr}")


def case_again(bench):
    """Runs that are in the file are not repeated: the same command runs nothing, one that was cut off goes on."""
    whole, _ = bench.result()
    file = bench.folder / "p.tune"
    check(bench.starts() == whole["runs"] and len(bench.lines(file)) == whole["runs"] + 1, "not one line a run")
    again, said = bench.result()
    check(bench.starts() == 0 and again == whole and said.count("(from the runs' file)") == whole["runs"], said)
    lines = file.read_text().splitlines(keepends=True)
    file.write_text("".join(lines[:5]) + lines[5][:10])
    bench.result()
    check(bench.starts() == whole["runs"] - 4, "another number of runs than were missing")
    bench.result(mode="other arguments")
    check(bench.starts() > 0, "runs with other arguments were taken")
    bench.result(OMP_NUM_THREADS="1")
    check(bench.starts() > 0, "runs with other threads were taken")
    before = file.read_text()
    (bench.folder / "two").write_bytes((bench.folder / "one").read_bytes())
    (bench.folder / "two").chmod(0o755)
    bench.refused("p.profile", *ROOM, "--", "./two", status=2, said="its runs are of one, not of two")
    bench.record("./one", "300", options=("--rate", "1000"), log="q.profile")
    bench.refused("q.profile", *ROOM, "--runs", "p.tune", "--", "./one", status=2, said="from another profile")
    check(file.read_text() == before, "a refused file was changed")


def case_failures(bench):
    """Placements under which the program fails are reported and never taken, however fast; a hanging run is killed."""
    for mode, why in (("fail", "ended with status 3"), ("signal", "ended by signal 6"), ("silent", "--metric matches no line")):
        result, said = bench.result(mode=mode)
        check(result["kinds"] == {"first": "dram", "second": "dram"}, f"{mode}: {result}")
        check(why in result["tried"]["second"]["failure"] and result["tried"]["second"]["times_as_long"] is None, f"{result['tried']}")
        check(f"does not count: {why}" in said and result["all_slow"] is None, said)
        check(why in bench.tune(*METRIC, mode=mode).stdout, "not in the table")
    begin = time.monotonic()
    result, said = bench.result("--keep", "first=dram", mode="wait-hang")
    check("killed after " in result["tried"]["second"]["failure"] and time.monotonic() - begin < 40, f"{result}")
    for mode, why in (("all-fail", "ended with status 3"), ("all-silent", "--metric matches no line"), ("all-vary", "varies by 200 %")):
        bench.starts()  # which runs vary follows from their number
        done = bench.tune(*METRIC, mode=mode, status=1)
        check(why in done.stderr and "best plan" not in done.stdout, f"{mode}: {done.stderr}{done.stdout}")
    check("varies by" in done.stderr and "OMP_PROC_BIND" in done.stderr, done.stderr)


def case_refusals(bench):
    """What cannot be tuned is one line with what to do, before the program runs."""
    one_node = str(HERE.parent / "fixtures/machines/one-node.xml")
    for room, status, said in (("dram:1G", 1, "one kind of memory (DRAM"), ("dram:1G,nvm:1G", 2, "has no NVM, but DRAM")):
        done = bench.run(bench.omptier, "tune", "p.profile", "--capacity", room, "--", "./one", status=status, HWLOC_XMLFILE=one_node)
        check(said in done.stderr and len(done.stderr.splitlines()) == 1, done.stderr)
    one = ("--", "./one", "1")
    bench.refused("p.profile", "--capacity", "dram:64M,nvm:0", *one, status=1, said="let --capacity leave two")
    bench.refused("p.profile", "--machine", "xeon-max-flat", *one, status=1, said="this machine has no HBM")
    bench.refused("p.profile", *ROOM, "--keep", "first=dram", "--keep", "second=nvm", *one, status=1, said="no group to try")
    for command, said in ((("no.profile", *one), "no.profile"), (one, "./one"), (("p.profile",), "no program is named: omptier tune my.profile -- "),
                          ((), "no profile is named: omptier tune my.profile -- "),
                          (("p.profile", *ROOM, "--", "./none"), "is no program that can be run"),
                          (("p.profile", "--metric", "Time", *one), "has no group"),
                          (("p.profile", "--metric", "(", *one), "is no regular expression"),
                          (("p.profile", "--repeats", "1", *one), "--repeats"), (("p.profile", "--worth", "0", *one), "--worth"),
                          (("p.profile", "--time", "0", *one), "--time"), (("p.profile", "--groups", "0", *one), "--groups"),
                          (("p.profile", "-o", "no/f", *one), "there is no folder"), (("p.profile", "-o", "-", *one), "name a file"),
                          (("p.profile", "--runs", "no/f", *one), "there is no folder"),
                          (("p.profile", "--runs", "p.profile", *ROOM, *one), "holds no runs of omptier tune"),
                          (("p.profile", "--capacity", "dram", *one), "--capacity"), (("p.profile", *ROOM, "--", "true"), "record that program")):
        bench.refused(*command, status=2, said=said)
    check(bench.starts() == 0, "the program was run")
    bench.tune("--repeats", "2", mode="wait", status=None)  # by time; then its first run is said to have been shorter
    file = bench.folder / "p.tune"
    lines = bench.lines(file)
    check(all(run["figure"] == run["seconds"] > 0.1 for run in lines[1:]), f"{lines}")
    lines[1]["figure"] = lines[1]["seconds"] = 0.005
    file.write_text("".join(json.dumps(line) + "\n" for line in lines))
    check("too soon to tell" in bench.tune(mode="wait", status=1).stderr, "a program of 5 ms was timed")


def case_interrupted(bench):
    """SIGINT ends the search behind the run, with the table so far; what was measured is kept."""
    command = [bench.omptier, "tune", "p.profile", *ROOM, *METRIC, "--", "./one", "1", "wait"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=bench.folder,
                               env=dict(bench.environment, HWLOC_XMLFILE=NVDIMM))
    begun = ""
    for line in process.stderr:
        begun += line
        if "run 3: as advised" in line:
            process.send_signal(signal.SIGINT)
            break
    out, said = process.communicate(timeout=60)
    check(process.returncode == 130 and "Ended: interrupted; 3 runs" in out, f"{process.returncode} {out} {begun}{said}")
    check(out.count("Time: ") == 3 and bench.starts() == 3, f"the run was cut off: {out}")
    check(len(bench.lines("p.tune")) == 4, "not kept")
    done = bench.tune(*METRIC, "--time", "0.01", mode="wait")
    check("the time is up (--time 0.01)" in done.stdout and bench.starts() < 8, done.stdout)


run_case(globals(), "gcc", recorder=Bench)
