#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Without any hardware help: neutron_lookup recorded on this machine by timer samples alone, advised
# for the virtual machine's memories with DRAM for a tenth of the bytes. The plan must place as the one
# made from counted misses does: nuclide and unionized grid in DRAM, the large index grid in NVM.
#
# usage: host_plan.py BUILD FIXTURES perf|timer [as-nobody]
import json
import os
import pathlib
import sys
import tempfile

from trial import check, run

build, fixtures, source = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2]), sys.argv[3]
as_nobody = sys.argv[4:] == ["as-nobody"]
omptier = str(build / "bin" / "omptier")
program = [str(build / "bin" / "neutron_lookup"), "--size", "medium", "--lookups", "1500000", "--threads", "2"]
wanted = {"nuclide": "dram", "unionized": "dram", "index": "nvm"}


with tempfile.TemporaryDirectory() as folder:
    user = {}
    if as_nobody and os.geteuid() == 0:  # whoever is not root is an ordinary user already
        os.chmod(folder, 0o777)
        user = {"user": 65534, "group": 65534, "extra_groups": []}
    profile = os.path.join(folder, "host.profile")
    run(omptier, "record", "-o", profile, "--events", source, "--rate", "250", "--", *program, **user)
    report = json.loads(run(omptier, "report", "--json", profile).stdout)
    check(report["measure"] == "time" and report["samples"] >= 200,
          f"{report['samples']} samples of {report['measure']}, expected at least 200 of time")
    plan = os.path.join(folder, "host.plan")
    bytes_in_all = sum(site["bytes_peak"] for site in report["sites"])
    run(omptier, "advise", profile, "--no-traits", "--xml", str(fixtures / "machines" / "dram-hbm-nvm.xml"),
         "--capacity", f"dram:{bytes_in_all // 10},hbm:0", "-o", plan)
    placed = {}
    for entry in json.load(open(plan))["entries"]:
        for array in wanted:
            if f"allocate_{array}_grid" in entry["frames"][0]["function"] and not entry.get("region"):
                placed[array] = entry["kinds"][0]
    shares = {site["label"]: round(site["share"], 3) for site in report["sites"]}
    print(f"{report['samples']} samples by {source}: {shares}; placed {placed}")
    if placed != wanted:
        sys.exit(f"FAILED: placed {placed}, the plan from counted misses places {wanted}")
