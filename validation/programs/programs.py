# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# The programs of this folder: how each is built and started, and what it tells of itself (truth.h).
import dataclasses
import json
import os
import pathlib
import subprocess

SOURCES = pathlib.Path(__file__).resolve().parent
MPIRUN = ["mpirun.openmpi", "--oversubscribe", "-n", "2"]
COMPILERS = {".c": {"clang": "clang-19", "gcc": "gcc"}, ".cpp": {"clang": "clang++-19", "gcc": "g++"},
             ".f90": {"gcc": "gfortran"}, ".py": {"python": "/usr/bin/python3"}}
FLAGS = {".c": ["-std=gnu11"], ".cpp": ["-std=c++17"], ".f90": [str(SOURCES / "truth.f90")]}
SMALL = 4096  # bytes: smaller blocks are one row of a report


class Failed(Exception):
    """A command that did not end well, with its output."""


@dataclasses.dataclass(frozen=True)
class Program:
    source: str
    small: tuple  # its arguments for a run of a moment
    openmp: bool = False
    optimized: str = "-O2"
    launcher: tuple = ()

    @property
    def kind(self):
        return pathlib.Path(self.source).suffix

    @property
    def compilers(self):
        return tuple(COMPILERS[self.kind])


PROGRAMS = {
    "cg": Program("cg.cpp", ("24", "5"), openmp=True),
    "heat": Program("heat.f90", ("512", "4")),
    "table": Program("table.cpp", ("40", "80")),
    "halo": Program("halo.c", ("256", "256", "6"), launcher=tuple(MPIRUN)),
    "gather": Program("gather.py", ("200", "4")),
    "phases": Program("phases.cpp", ("200", "2"), openmp=True),
    "phases-serial": Program("phases.cpp", ("200", "2")),
    "eight": Program("eight.c", ("50", "10")),
    "updates": Program("updates.c", ("200", "2")),
    "caches": Program("caches.cpp", ("1",)),
    "rows": Program("rows.cpp", ("24", "5")),
    "kernels": Program("kernels.c", ("2", "4")),
    "kernels-O3": Program("kernels.c", ("2", "4"), optimized="-O3"),
}


class Bench:
    """Programs built in a folder, run alone or by the omptier command given."""

    def __init__(self, omptier, folder):
        self.omptier = str(pathlib.Path(omptier).resolve())
        self.libraries = str(pathlib.Path(self.omptier).parent.parent / "lib")
        self.folder = pathlib.Path(folder)
        left_out = ("OMPTIER_", "OMP_", "KMP_", "LD_", "OMPI_", "PMIX_")
        self.environment = {name: value for name, value in os.environ.items() if not name.startswith(left_out)}
        self.environment.update(OMP_NUM_THREADS="2", LC_ALL="C.UTF-8", OMPI_ALLOW_RUN_AS_ROOT="1",
                                OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1", TMPDIR=str(folder))

    def run(self, command, **variables):
        done = subprocess.run([str(word) for word in command], cwd=self.folder, env=dict(self.environment, **variables),
                              stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=300)
        if done.returncode != 0:
            raise Failed(f"status {done.returncode} of {' '.join(map(str, command))}\n{done.stdout}{done.stderr}")
        return done.stdout

    def build(self, name, compiler):
        """The command that starts the program."""
        program = PROGRAMS[name]
        source, built = SOURCES / program.source, self.folder / f"{name}-{compiler}"
        if program.kind == ".py":
            return [COMPILERS[".py"][compiler], source]
        if not (self.folder / "truth.o").exists():
            self.run(["gcc", "-std=gnu11", "-O2", "-Wall", "-Wextra", "-c", SOURCES / "truth.c"])
        command, variables = [COMPILERS[program.kind][compiler]], {}
        if program.launcher:
            command, variables = ["mpicc.openmpi"], {"OMPI_CC": command[0]}
        if program.openmp:
            command += ["-fopenmp", *([f"-L{self.libraries}"] if compiler == "clang" else [])]
        if not built.exists():
            self.run([*command, program.optimized, "-g", *FLAGS[program.kind], source, "truth.o", "-o", built], **variables)
        return [built]

    def truth(self, name, command, *arguments, alone=True):
        """What the program says of itself, run without a recorder."""
        self.run([*PROGRAMS[name].launcher, *command, *arguments, "--truth", "truth.json",
                  *(["--alone"] if alone else [])], LD_LIBRARY_PATH=self.libraries)
        return json.loads((self.folder / "truth.json").read_text())

    def record(self, name, command, *arguments, events, rate=None):
        """The report of a recorded run, as JSON and as text, and what that run says of itself."""
        for old in self.folder.glob("*.profile"):
            old.unlink()
        profile = "%r.profile" if PROGRAMS[name].launcher else "p.profile"
        record = [self.omptier, "record", "-o", profile, "--events", events, *(["--rate", str(rate)] if rate else [])]
        self.run([*PROGRAMS[name].launcher, *record, "--", *command, *arguments, "--truth", "recorded.json"])
        profiles = sorted(self.folder.glob("*.profile"))
        report = [self.omptier, "report", "--sites", "100", "--width", "0"]
        return (json.loads(self.run([*report, "--json", *profiles])), self.run([*report, *profiles]),
                json.loads((self.folder / "recorded.json").read_text()))


def inconsistencies(truth):
    """What cannot be true of a program's own words."""
    objects = truth["objects"]
    names = [one["name"] for one in objects]
    if len(set(names)) != len(names):
        yield f"names are not unique: {names}"
    for share in "access_share", "time_share":
        values = [one[share] for one in objects]
        if None not in values and abs(sum(values) - 1) > 1e-6:
            yield f"{share} adds up to {sum(values)}"
        if any(value is not None and not 0 <= value <= 1 for value in values):
            yield f"{share}: {values}"
    if not 0 < truth["loop_seconds"] <= truth["processor_seconds"] or truth["seconds"] <= 0:
        yield f"loops take {truth['loop_seconds']} s of {truth['processor_seconds']}"
    for one in objects:
        if one["bytes"] <= 0 or one["blocks"] <= 0 or one["accessed_bytes"] <= 0:
            yield f"no object: {one}"
        if not 0 <= one["write_share"] <= 1:
            yield f"share of writes: {one}"
        if (one["pattern"] == "strided") != ("stride" in one) or (one["pattern"] == "indirect") != ("through" in one):
            yield f"pattern: {one}"
        if one.get("through", names[0]) not in names:
            yield f"through nothing: {one}"
