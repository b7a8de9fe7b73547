# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# The kernels, and how they are built, recorded and reported: shared by all three kinds of shares.
import json
import os
import pathlib
import subprocess
import sys

SOURCES = pathlib.Path(__file__).resolve().parent
# kernel: object -> pattern of the source.
KERNELS = {
    "triad": {"a": "sequential", "b": "sequential", "c": "sequential"},
    "dot": {"x": "sequential", "y": "sequential"},
    "gather": {"data": "random", "index": "sequential"},
    "scatter": {"out": "random", "index": "sequential"},
    "histogram": {"bins": "random", "index": "sequential"},
    "strided": {"in": "strided", "out": "sequential"},
    "tiled": {"from": "tiled", "to": "tiled"},
    "stencil2d": {"in": "sequential", "out": "sequential"},
    "stencil3d": {"in": "sequential", "out": "sequential"},
    "dgemm": {"a": "sequential", "b": "strided", "c": "sequential"},
    "chase": {"nodes": "pointer chase"},
    "spmv": {"values": "sequential", "columns": "sequential", "rows": "sequential", "x": "random",
             "y": "sequential"},
    "hash": {"keys": "sequential", "table": "random"},
    "graph": {"offsets": "sequential", "edges": "sequential", "rank": "random",
              "next": "sequential"},
    "copy": {"from": "sequential", "to": "sequential"},
}
# Kernels that were not used to develop the rules for patterns.
HELD_OUT = {
    "transpose": {"from": "strided", "to": "sequential"},
    "buckets": {"keys": "sequential", "heads": "random", "entries": "pointer chase"},
    "banded": {"x": "sequential", "band": "sequential", "right": "sequential"},
    "structures": {"moving": "sequential", "still": "strided"},
    # From here on also not used to develop the rule for streams' time (analysis/streams.hpp).
    "update": {"y": "sequential", "x": "sequential"},
    "widen": {"to": "sequential", "from": "sequential"},
    "matvec": {"y": "sequential", "matrix": "sequential", "x": "sequential"},
    "permute": {"out": "sequential", "data": "random", "index": "sequential"},
}
KERNELS.update(HELD_OUT)
SHORT = ("triad", "gather", "chase")
MINOR = 0.01  # objects below this share have too few accesses for a pattern


class Bench:
    def __init__(self, options, folder):
        self.build, self.folder = pathlib.Path(options.build).resolve(), folder
        self.march, self.rate, self.guest = options.march, options.rate, options.guest
        self.seconds, self.scale = options.seconds, options.scale
        self.omptier = str(self.build / "bin" / "omptier")

    def run(self, command, threads=1):
        environment = {name: value for name, value in os.environ.items()
                       if not name.startswith(("OMPTIER_", "OMP_"))}
        environment.update(OMP_NUM_THREADS=str(threads), OMP_WAIT_POLICY="passive",
                           LD_LIBRARY_PATH=str(self.build / "lib"))
        result = subprocess.run(command, cwd=self.folder, env=environment, text=True,
                                capture_output=True, timeout=500)
        if result.returncode != 0:
            sys.exit(f"accuracy.py: {' '.join(command)}: status {result.returncode}\n{result.stderr}")
        return result.stdout

    def compile(self, compiler, scale_bits=0):
        """The kernels by clang -O3, gcc -O2 or, counting, omptier-cc -O3."""
        program = str(pathlib.Path(self.folder, f"{compiler}-{scale_bits}"))
        if os.path.exists(program):
            return program
        command, level = {"clang": ("clang-19", "-O3"), "gcc": ("gcc", "-O2"),
                          "exact": (str(self.build / "bin" / "omptier-cc"), "-O3")}[compiler]
        flags = ["-std=gnu11", level, f"-march={self.march}", "-ffast-math", "-g", "-fopenmp",
                 f"-I{self.build}/include-omp", f"-DSCALE_BITS={scale_bits}"]
        filled = program + "-fill.o"
        self.run(["clang-19", "-O2", "-c", str(SOURCES / "fill.c"), "-o", filled])
        self.run([command, *flags, str(SOURCES / "kernels.c"), filled, f"-L{self.build}/lib", "-o",
                  program])
        return program

    def sandbox(self, threads, *options):
        return [self.omptier, "sandbox", "--machine", "dram-hbm-nvm", "--timeout", "240", *options,
                *(f"--env={setting}" for setting in (
                    f"OMP_NUM_THREADS={threads}", "OMP_WAIT_POLICY=passive", "OMP_PROC_BIND=true")),
                "--"]

    def record(self, command, threads, *options, within=()):
        """The run's report, its arrays by name, and its output."""
        log = str(pathlib.Path(self.folder, "p.profile"))
        printed = self.run([*within, self.omptier, "record", "-o", log, *options, "--", *command],
                           threads)
        report = json.loads(self.run([self.omptier, "report", "--json", log]))
        objects = {site["label"].split()[0]: site for site in report["sites"]}
        kernel = command[1]
        missing = set(KERNELS[kernel]) - set(objects)
        if missing:
            sys.exit(f"accuracy.py: {kernel}: no object {missing} in {sorted(objects)}")
        return report, {name: objects[name] for name in KERNELS[kernel]}, printed
