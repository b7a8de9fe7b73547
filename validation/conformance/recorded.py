#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Programs from the distribution's packages, recorded as they are: they must end and print as without
# us, and what the report says of them must add up. One row of the table below a program.
#
# usage: recorded.py --omptier PATH [--markdown] NAME…      (all: every row)
import os
import pathlib
import random
import re
import shutil
import subprocess
import sys
import tempfile

from recording import read_report
from trial import check, clean_environment, parser

TURN = "-size 800x600 gradient:red-blue -wave 20x100 -blur 0x1 -rotate 7 out.ppm"
NUMPY = "import numpy as n; a = n.arange(360000.).reshape(600, 600) % 7; print((a @ a @ a).sum(), n.fft.fft2(a).real.sum())"
WORDS = "import json, sys; d = {}\nfor w in open('data'): d.setdefault(w[:3], []).append(w)\nprint(len(json.dumps(d)))"
FORKS = """import multiprocessing as m, numpy as n
def f(i): a = n.arange(160000.).reshape(400, 400) % (i + 3); return float((a @ a).sum())
with m.get_context("fork").Pool(3) as p: print(p.map(f, range(12)))"""
MPI = {"hpcc": ["mpirun.openmpi", "--oversubscribe", "-n", "2"], "clustalo-mpich": ["mpirun.mpich", "-outfile-pattern", "out.%r", "-n", "2"]}
FILM = "testsrc=size=640x480:rate=25:duration=6"
PROFILES = {"gcc": 3, "numpy-forks": 4, "clustalo-mpich": 2, "hpcc": 2}  # of others one; driver, compiler and assembler
TOO_SHORT = ("fails", "fftw")  # for samples
CHILDREN = {"7z": ["--children", "all"], "gcc": ["--children", "all"]}  # a script; a driver
PROTEINS = str(pathlib.Path(__file__).parent / "preload_proteins.fa")
# name: package, command, file it writes, lines that are the same in every run (of it, or of its output)
PROGRAMS = {
    "xz": ("xz-utils", ["xz", "-T2", "-2", "-c", "data"], None, None),
    "zstd": ("zstd", ["zstd", "-q", "-T2", "-12", "-c", "data"], None, None),
    "pigz": ("pigz", ["pigz", "-p2", "-n", "-c", "data"], None, None),
    "7z": ("p7zip-full", ["7z", "a", "-mmt=2", "-mx=3", "-bd", "out.7z", "data"], "out.7z", None),
    "sort": ("coreutils", ["sort", "--parallel=2", "-S", "16M", "data"], None, None),
    "gcc": ("gcc-12", ["gcc-12", "-O2", "-c", "program.c", "-o", "program.o"], "program.o", None),
    "clang": ("clang-19", ["clang-19", "-O2", "-c", "program.c", "-o", "program.o"], "program.o", None),
    "python3": ("python3", ["/usr/bin/python3", "-c", WORDS], None, None),
    "numpy": ("python3-numpy, libopenblas0-openmp", ["/usr/bin/python3", "-c", NUMPY], None, None),
    "numpy-forks": ("python3-numpy, libopenblas0-openmp", ["/usr/bin/python3", "-c", FORKS], None, None),
    "fftw": ("libfftw3-bin", ["fftw-wisdom", "-e", "-n", "-T", "2", "-o", "wisdom", "rof512x512"], "wisdom", None),
    "gm": ("graphicsmagick", ["gm", "convert", *TURN.split()], "out.ppm", None),
    "clustalo": ("clustalo", ["clustalo", "-i", PROTEINS, "--threads", "2", "--force", "-o", "out.fa"], "out.fa", None),
    "clustalo-mpich": ("clustalo, mpich", ["clustalo", "-i", PROTEINS, "--threads", "1", "--seqtype", "Protein"], "out.1", None),
    "hpcc": ("hpcc, openmpi-bin", ["hpcc"], "hpccoutf.txt", r"Success=\d|(PASSED|FAILED)$|^\w+_Failures=|Errors?=0"),
    "ffmpeg": ("ffmpeg", ["ffmpeg", "-nostdin", "-loglevel", "error", "-f", "lavfi", "-i", FILM, "-threads", "2", "-c:v", "mpeg4",
                          "-bitexact", "-f", "avi", "out.avi"], "out.avi", None),
    "x264": ("x264", ["x264", "--quiet", "--no-progress", "--threads", "2", "--preset", "fast", "--input-res", "352x288",
                      "--frames", "60", "-o", "out.264", "film.yuv"], "out.264", None),
    "fails": ("coreutils", ["ls", "no-such-file"], None, None),
}


def make_inputs(folder):
    numbers = random.Random(1)
    words = ["%x" % numbers.getrandbits(numbers.choice((16, 24, 40))) for _ in range(20000)]
    (folder / "data").write_text("\n".join(numbers.choice(words) for _ in range(250000)) + "\n")
    os.utime(folder / "data", (1e9, 1e9))  # archives hold it
    lines = ["int f%d(int *a, int n) { int s = 0; for (int i = 0; i < n; ++i) s += a[i] %% %d; return s; }" %
             (i, i + 2) for i in range(150)]
    (folder / "program.c").write_text("\n".join(lines) + "\n")
    (folder / "film.yuv").write_bytes(b"".join(numbers.randbytes(352) * 432 for _ in range(60)))  # stripes
    sample = pathlib.Path("/usr/share/doc/hpcc/examples/_hpccinf.txt")
    if sample.exists():
        small = {"Ns": "240 Ns", "NBs": "40 NBs", "Ps": "1 Ps", "Qs": "2 Qs"}
        text = [small.get(" ".join(line.split()[1:]), line) for line in
                sample.read_text(errors="replace").splitlines()]
        (folder / "hpccinf.txt").write_text("\n".join(text) + "\n")


def run(command, folder, written, stable):
    """Exit status, what must not change, and the lines on stderr."""
    if written and (folder / written).exists():
        (folder / written).unlink()
    environment = clean_environment(OMP_NUM_THREADS="2", OMP_WAIT_POLICY="passive", OMPI_ALLOW_RUN_AS_ROOT="1",
                                    OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1", LC_ALL="C.UTF-8")
    done = subprocess.run(command, cwd=folder, env=environment, stdin=subprocess.DEVNULL, capture_output=True,
                          timeout=200)
    output = done.stdout if not written or not stable else b""
    output += (folder / written).read_bytes() if written and (folder / written).exists() else b""
    if stable:
        text = output.decode(errors="replace")
        output = "\n".join(line for line in text.splitlines() if re.search(stable, line)).encode()
        check(output, f"nothing matches {stable}\n{text}{done.stderr.decode(errors='replace')}")
    ours, theirs = [], []
    for line in done.stderr.decode(errors="replace").splitlines():
        (ours if re.match(r"omptier: |omptier record: names are being|OMP: Info.*OMPTier", line) else theirs).append(re.sub(r"[\d.]+ fps", "", line))
    return done.returncode, output, theirs, ours


def record(omptier, folder, name):
    package, command, written, stable = PROGRAMS[name]
    check(shutil.which(command[0]), f"{command[0]} is not here: apt-get install {package}")
    folder.mkdir()
    make_inputs(folder)
    launcher = MPI.get(name, [])
    plain = run([*launcher, *command], folder, written, stable)
    recorded = run([*launcher, omptier, "record", "--rate", "2000", *CHILDREN.get(name, []), "--", *command], folder, written, stable)
    for what, one, other in zip(("exit status", "output", "standard error"), plain, recorded):
        check(one == other, f"another {what}: {str(other)[:2000]} instead of {str(one)[:2000]}\n{recorded[3]}")
    for line in recorded[3]:
        check(line.startswith(("omptier: recorded ", "omptier record: names are being")), f"unexpected: {line}")
    logs = sorted(str(log) for log in folder.glob("*.profile"))
    check(not list(folder.glob("*.profile.*")), "a process began two profiles")
    check(len(logs) == PROFILES.get(name, 1), f"{len(logs)} profiles, not {PROFILES.get(name, 1)}: {logs}\n{recorded[3]}")
    summary = read_report(omptier, "--force", *logs)  # a driver and its compiler are two programs
    row = dict(status=plain[0], logs=len(logs), samples=summary["samples"],
               objects=sum(site["objects"] for site in summary["sites"]),
               attributed=sum(site["share"] for site in summary["sites"]))
    check(row["objects"] > 0, f"no objects: {row}")
    check(name in TOO_SHORT or (row["samples"] >= 50 and row["attributed"] >= 0.2), f"too few samples in objects: {row}")
    check(not launcher or len(summary["ranks"]) == 2, f"{len(summary['ranks'])} ranks in {logs}")
    return row


arguments = parser("omptier")
arguments.add_argument("--markdown", action="store_true")
arguments.add_argument("names", nargs="+")
options = arguments.parse_args()
scratch = tempfile.TemporaryDirectory()
failed = 0
for name in PROGRAMS if options.names == ["all"] else options.names:
    try:
        row = record(options.omptier, pathlib.Path(scratch.name, name), name)
        shown = " ".join((MPI.get(name, []) + PROGRAMS[name][1]))[:60].split("\n")[0]
        if options.markdown:
            print(f"| {name} | {PROGRAMS[name][0]} | {row['status']} | {row['logs']} | {row['samples']} | "
                  f"{row['objects']} | {100 * row['attributed']:.0f} % |")
        else:
            print(f"{name}: {shown}: {row}")
    except SystemExit as failure:  # a failed check; the next program is recorded all the same
        failed += 1
        print(f"{name}: {failure}")
sys.exit(1 if failed else 0)
