#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""calibrate.py CASE --omptier PATH --folder FOLDER: omptier calibrate on this machine. How fast its memory is and how
busy it is are not known, so figures are only compared with each other and with what is written."""
import json
import os
import signal
import subprocess
import sys
import time

from trial import check, clean_environment, enter_fresh, parser, run

QUICK = ("calibrate", "--quick")
NO_CONFIDENCE = 125  # of a machine that is too busy


class Bench:
    def __init__(self, options):
        self.omptier = options.omptier
        enter_fresh(options.folder)
        self.config = os.path.join(os.getcwd(), "config")

    def run(self, *words, status=0, **variables):
        environment = clean_environment("HWLOC_", **{"XDG_CONFIG_HOME": self.config, **variables})
        return run(self.omptier, *words, status=status, env=environment)

    def topology(self, **variables):
        done = self.run("topology", "--json", **variables)
        return json.loads(done.stdout), done.stderr

    def calibrated(self, *words, **variables):
        """JSON of a quick calibration; None if the machine is too busy for any figure, which must be said."""
        done = self.run(*QUICK, "--json", *words, status=None, **variables)
        if done.returncode == NO_CONFIDENCE and "no figure was measured with confidence" in done.stderr:
            print(f"too busy: {done.stderr}")
            found = json.loads(done.stdout)
            check(found["file"] is None and found["not_used"], f"{found}")
            return None
        check(done.returncode == 0, f"status {done.returncode}: {done.stderr}")
        return json.loads(done.stdout)


def case_measured(bench):
    """What is measured is written, found by topology and check, and can be left out or exported."""
    check(bench.topology()[0]["measured"] is None, "figures before anything was measured")
    found = bench.calibrated("--xml", "machine.xml")
    if found is None:
        return
    file = found["file"]
    check(file.startswith(bench.config + "/omptier/platform-") and not os.path.exists(file + ".part"), f"{file}")
    check(json.load(open(file)) == found["platform"], "the file holds something else")
    by_task = {(one["quantity"], one["node"]): one for one in found["results"] if "value" in one}
    check(by_task, f"nothing was measured: {found}")
    for one in by_task.values():
        check(0 < one["low"] <= one["value"] <= one["high"] and one["repeats"] >= 6, f"{one}")
        check(one["trusted"] == (one["high"] - one["low"] <= 0.1 * one["value"]), f"{one}")
    here, said = bench.topology()
    check(here["measured"] == found["platform"]["measured"] and not said, f"{here['measured']} {said}")
    views = {(node["node"], tuple(view["cpus"])): view for node in here["nodes"] for view in node["from"]}
    for figures in found["platform"]["figures"]:
        numbers = [range(int(part.split("-")[0]), int(part.split("-")[-1]) + 1) for part in figures["cpus"].split(",")]
        view = views[figures["node"], tuple(cpu for part in numbers for cpu in part)]
        for name in ("read_latency", "write_latency", "read_bandwidth", "write_bandwidth"):
            check(name not in figures or view[name] == figures[name], f"{name}: {view} {figures}")
    check("measured on " in bench.run("topology").stdout, "topology does not say where its figures come from")
    check(bench.topology(OMPTIER_PLATFORM="none")[0]["measured"] is None, "OMPTIER_PLATFORM=none uses the file")
    os.rename(file, "moved.json")
    check(bench.topology()[0]["measured"] is None, "a file that is gone is used")
    check(bench.topology(OMPTIER_PLATFORM="moved.json")[0]["measured"], "OMPTIER_PLATFORM is not used")
    exported = json.loads(bench.run("topology", "--json", "--xml", "machine.xml").stdout)
    latency = {one["node"]: one.get("read_latency") for one in found["platform"]["figures"]}
    for node in exported["nodes"]:
        given = [view["read_latency"] for view in node["from"] if view["read_latency"]]
        wanted = latency.get(node["node"])
        check(not wanted or any(abs(one - wanted) <= 0.5 for one in given), f"exported: {node}")


def case_resumed(bench):
    """Interrupted and started again, it measures only what is left."""
    environment = clean_environment("HWLOC_", XDG_CONFIG_HOME=bench.config)
    process = subprocess.Popen([bench.omptier, "calibrate", "--quick", "-o", "m.json"], stdout=subprocess.PIPE,
                               stderr=subprocess.PIPE, text=True, env=environment)
    end = time.monotonic() + 30
    while process.poll() is None and time.monotonic() < end:
        if os.path.exists("m.json.part") and open("m.json.part").read().count("\n") >= 3:
            process.send_signal(signal.SIGINT)
            break
        time.sleep(0.01)
    output, said = process.communicate(timeout=30)
    if process.returncode == 0:
        print("it was done before it could be interrupted")
        return
    check(process.returncode == 128 + signal.SIGINT and "goes on from here" in said and not output,
          f"status {process.returncode}: {said}{output}")
    check(not os.path.exists("m.json"), "a file of a part was written")
    kept = open("m.json.part").read().splitlines()[1:]
    found = bench.run("calibrate", "--quick", "-o", "m.json", "--json", status=None)
    check(f"with {len(kept)} measurements, begun on 2" in found.stderr, f"{found.stderr}")
    if found.returncode == 0:
        results = json.loads(found.stdout)["results"]
        for line in map(json.loads, kept):
            [one] = [one for one in results if all(one[name] == line[name] for name in
                                                   ("quantity", "group", "node", "threads"))]
            visits = one.get("visits", [one.get("value")])
            check(visits[line.get("visit", 0)] == line.get("value"), f"{line} was measured again: {one}")
    check(not os.path.exists("m.json.part"), "what is done is kept")


def write_results_of(bench, values):
    """As if a run had measured this and was interrupted then. values: by quantity; of all processors, node and visit."""
    process = subprocess.Popen([bench.omptier, "calibrate", "--quick", "-o", "m.json"], stderr=subprocess.DEVNULL,
                               stdout=subprocess.DEVNULL, env=clean_environment("HWLOC_", XDG_CONFIG_HOME=bench.config))
    end = time.monotonic() + 30
    while not (os.path.exists("m.json.part") and open("m.json.part").read()) and time.monotonic() < end:
        time.sleep(0.01)
    process.send_signal(signal.SIGINT)
    process.wait(timeout=30)
    head = open("m.json.part").readline()
    nodes = bench.topology()[0]["nodes"]
    groups = [node["cpus"] for node in nodes if set(node["cpus"]) & os.sched_getaffinity(0)]
    with open("m.json.part", "w") as file:
        file.write(head)
        for group, cpus in enumerate(groups):
            for node in nodes:
                for quantity, value in values.items():
                    threads = 1 if quantity.endswith("latency") else len(set(cpus) & os.sched_getaffinity(0))
                    for visit in ({}, {"visit": 1}):
                        file.write(json.dumps({"quantity": quantity, "group": group, "node": node["node"],
                                               "threads": threads, **visit, "value": value, "low": 0.99 * value,
                                               "high": 1.01 * value, "repeats": 6}) + "\n")


def case_kept(bench):
    """What a run has no figure for is kept of the run before, with its date; no failure loses what was measured."""
    values = dict.fromkeys(("read-latency", "write-latency"), 100.0) | dict.fromkeys(
        ("read", "write", "copy", "gather", "gather-4"), 1e10)
    write_results_of(bench, values)
    first = json.loads(bench.run("calibrate", "--quick", "--json", "-o", "m.json").stdout)
    figures = first["platform"]["figures"][0]
    check(figures["read_latency"] == 100 and "earlier" not in figures, f"{figures}")
    cpu = figures["cpus"].split(",")[0].split("-")[0]
    if cpu == figures["cpus"]:
        print("one processor: nothing that the next run does not measure")
        return
    old = {"cpus": cpu, "node": figures["node"], "read_latency": 77.0}
    with open("m.json", "w") as file:
        json.dump({**first["platform"], "measured": "2001-01-01", "figures": [old]}, file)
    write_results_of(bench, values)
    os.mkdir("m.json.new")  # so the file cannot be written
    done = bench.run("calibrate", "--quick", "-o", "m.json", status=125)
    check("m.json.new: cannot be written" in done.stderr, done.stderr)
    check("read lat." in done.stdout and "written to" not in done.stdout, done.stdout)
    check(os.path.exists("m.json.part"), "what was measured is lost")
    os.rmdir("m.json.new")
    done = bench.run("calibrate", "--quick", "-o", "m.json")
    check("goes on where it was interrupted" in done.stderr, done.stderr)
    check(f"OMPTIER_PLATFORM={os.getcwd()}/m.json" in done.stdout, done.stdout)
    check(not os.path.exists("m.json.part"), "what is done is kept")
    before, now = (file["machine"]["nodes"][0]["bytes"] for file in (first["platform"], json.load(open("m.json"))))
    if abs(before - now) > 0.01 * min(before, now):
        print("the machine's memory has changed meanwhile: nothing of before is kept")
        return
    check("1 figure without confidence now is kept as measured before, on 2001-01-01" in done.stderr, done.stderr)
    check({**old, "earlier": {"read_latency": "2001-01-01"}} in json.load(open("m.json"))["figures"], "it is not kept")


def case_refused(bench):
    """Bad input is one line, and a file that cannot be used is named wherever it would count."""
    def refused(*words, status, said, **variables):
        done = bench.run("calibrate", *words, status=status, **variables)
        check(said in done.stderr and done.stderr.count("\n") == 1 and not done.stdout, f"{words}: {done.stderr}")
    refused("--quick", status=2, said="HWLOC_XMLFILE describes another machine", HWLOC_XMLFILE="m.xml")
    refused("--quick", status=2, said="HWLOC_SYNTHETIC describes another machine", HWLOC_SYNTHETIC="node:2 pu:2")
    refused("-o", "-", status=2, said="a platform file is read from a file")
    refused("--time", "nan", status=2, said="must be a number of minutes")
    with open("mine.part", "w") as file:
        file.write("a thesis\n")
    refused("-o", "mine", status=2, said="is no file of omptier calibrate")
    check(open("mine.part").read() == "a thesis\n", "a file of the user's was changed")
    refused("-o", "/nonexistent/m.json", status=2, said="there is no folder")
    refused("-o", ".", status=2, said="this is a folder")
    refused("--xml", "/nonexistent/m.xml", "-o", "m.json", status=2, said="there is no folder")
    refused("--quick", status=2, said="names a folder", XDG_CONFIG_HOME="", HOME="")
    refused("-o", "x", "--system", status=2, said="excludes")
    refused("--time", "0", status=2, said="--time")
    for text, why in (("{", "no platform file"), ("{}", "lacks"),
                      (json.dumps({"omptier_platform": 1, "made_by": "", "measured": "", "figures": [], "machine": {
                          "processor": "none", "nodes": [{"node": 0, "cpus": "", "bytes": 1}]}}), "another machine")):
        with open("bad.json", "w") as file:
            file.write(text)
        here, said = bench.topology(OMPTIER_PLATFORM="bad.json")
        check(here["measured"] is None and said.startswith("omptier topology: bad.json: ") and why in said and
              "omptier calibrate" in said and said.count("\n") == 1, f"{text}: {said}")
        checked = json.loads(bench.run("check", "--json", status=None, OMPTIER_PLATFORM="bad.json").stdout)
        check(any(why in one["what"] for one in checked["findings"] if one["feature"] == "memory figures"), f"{text}")
    done = bench.run("topology", "--json", OMPTIER_PLATFORM="not-there.json")
    check("not-there.json: cannot be read" in done.stderr, done.stderr)


def case_one_processor(bench):
    """On a part of the processors, their bandwidth is not taken for the memory's."""
    allowed = sorted(os.sched_getaffinity(0))
    os.sched_setaffinity(0, allowed[:1])
    node = bench.topology()[0]["nodes"][0]
    done = bench.run(*QUICK, "--json", "-o", "m.json", status=None)
    if done.returncode == NO_CONFIDENCE:
        check("no figure was measured with confidence" in done.stderr, done.stderr)
        return
    found = json.loads(done.stdout)
    if len(node["cpus"]) == 1:
        check("one processor may not reach" in done.stderr, done.stderr)
        return
    check(f"only CPUs {allowed[0]} of " in done.stderr, done.stderr)
    for figures in found["platform"]["figures"]:
        check(not [name for name in figures if name.endswith("bandwidth")], f"{figures}")
    check(any("of " + str(len(node["cpus"])) + " processors" in one["figure"] for one in found["not_used"]),
          f"{found['not_used']}")


def main():
    chosen = parser("omptier", "folder")
    chosen.add_argument("case")
    options = chosen.parse_args()
    globals()["case_" + options.case](Bench(options))


if __name__ == "__main__":
    sys.exit(main())
