#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What a program's start opens: the runtime, what it is linked with, and nothing else.

    start.py --omptier COMMAND --program start_cases --traces FOLDER --folder FOLDER

FOLDER with traces has libraries that leave a trace when they are loaded: a libmemkind.so, which libomp
looks for when libomptier.so is not beside it, and plug-ins/hwloc_trace.so, which hwloc opens with the
process's first topology. That they can be found is shown first.
"""

import re
import shutil
import sys
from pathlib import Path

from trial import clean_environment, parser, run

# The program, the C library, the loader, libomp, hwloc with what it is linked with, and ours.
MOST_OBJECTS = 14
FOREIGN = re.compile(r"X11|xcb|OpenCL|xml|icu|crypto|memkind|numa|hwloc_")


def main():
    chosen = parser(omptier=Path, program=Path, traces=Path, folder=Path).parse_args()
    chosen.folder.mkdir(parents=True, exist_ok=True)
    lib = chosen.omptier.parent.parent / "lib"
    trace = chosen.folder / "trace"
    wrong = []

    def start(case, command, libraries, **variables):
        """The libraries that the last process of the command loaded, and the traces that were left."""
        for old in [trace, *chosen.folder.glob("loader.*")]:
            old.unlink(missing_ok=True)
        environment = clean_environment("HWLOC_", **variables, START_TRACE=str(trace), LD_DEBUG="files",
                                        LD_DEBUG_OUTPUT=str(chosen.folder / "loader"),
                                        HWLOC_PLUGINS_PATH=str(chosen.traces / "plug-ins"),
                                        LD_LIBRARY_PATH=":".join(map(str, [*libraries, chosen.traces])))
        done = run(*command, status=None, env=environment)
        if done.returncode != 0:
            wrong.append(f"{case}: status {done.returncode}: {done.stderr.strip()[-300:]}")
        loaded = set()
        for log in chosen.folder.glob("loader.*"):
            text = log.read_text(errors="replace")
            if f"initialize program: {chosen.program}" in text:
                loaded.update(re.findall(r"calling init: (\S+)", text))
        return loaded, set(trace.read_text().split()) if trace.exists() else set()

    def needs_little(case, command, libraries=(), **variables):
        loaded, traces = start(case, command, libraries, **variables)
        names = sorted(Path(path).name for path in loaded)
        print(f"{case}: {len(names)} libraries")
        if not any("libomp" in name for name in names):
            wrong.append(f"{case}: the loader's log names no runtime: {names}")
        if len(names) > MOST_OBJECTS or any(FOREIGN.search(name) for name in names):
            wrong.append(f"{case}: loaded {names}")
        if traces:
            wrong.append(f"{case}: opened {sorted(traces)}")

    program, omptier = chosen.program, chosen.omptier
    plan = chosen.folder / "none.plan"
    plan.write_text('{"version": 1, "modules": [], "entries": []}\n')

    alone = chosen.folder / "alone"
    alone.mkdir(exist_ok=True)
    shutil.copy(lib / "libomp.so", alone / "libomp.so")
    if "memkind" not in start("alone", [program], [alone])[1]:
        wrong.append("libomp alone does not look for libmemkind.so: the test sees nothing")
    if start("hwloc", [program, "hwloc"], [lib])[1] != {"hwloc_trace"}:
        wrong.append("the program's own use of hwloc finds no plug-in after ours")

    needs_little("hello", [program], [lib])
    needs_little("space", [program, "space"], [lib])
    needs_little("run", [omptier, "run", "--", program, "space"])
    needs_little("run --plan", [omptier, "run", "--plan", plan, "--", program, "space"])
    needs_little("record", [omptier, "record", "-o", chosen.folder / "start.profile", "--", program, "space"])

    for line in wrong:
        print(f"start: {line}", file=sys.stderr)
    return 1 if wrong else 0


sys.exit(main())
