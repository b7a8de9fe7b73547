#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Real launchers, Open MPI's and MPICH's: mpi_cases.c started by mpirun -n 4, here or in the virtual
# machine. Ranks of a job know their share and count in one ledger, jobs that run at once count apart,
# and what a killed rank held can be had again.
#
# usage: mpi.py CASE openmpi|mpich PROGRAM KIND PIECE_MIB [CAPACITY_MIB]
#        mpi.py record openmpi|mpich PROGRAM OMPTIER -
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import time

from recording import read_report
from trial import fail

case, mpi, program, kind, piece = sys.argv[1:6]
capacity = int(sys.argv[6]) << 20 if len(sys.argv) > 6 else 0
RANKS = 4
MIB = 1 << 20
environment = {name: value for name, value in os.environ.items()
               if not re.match("OMPTIER_|SLURM_|OMPI_|PMIX?_|MPI_", name)}
environment.update(OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1", OMP_WAIT_POLICY="passive")
if capacity:
    environment["OMPTIER_CAPACITY"] = f"{kind}:{capacity >> 20}M"
launcher = {"openmpi": ["mpirun.openmpi", "--oversubscribe"], "mpich": ["mpirun.mpich"]}[mpi]


class Job:
    """One mpirun in a session of its own, as a batch system or a terminal would start it."""

    def __init__(self, folder, *more, options=(), new_session=True, **variables):
        self.folder = pathlib.Path(tempfile.mkdtemp(dir=folder))  # Open MPI's too: two that begin at once quarrel in /tmp
        self.process = subprocess.Popen(
            [*launcher, *options, "-n", str(RANKS), program, kind, piece, self.folder, *more],
            env=dict(environment, TMPDIR=self.folder, **variables), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
            stderr=subprocess.PIPE, text=True, start_new_session=new_session)

    def wait_until_ready(self):
        end = time.monotonic() + 150
        while not list(self.folder.glob("ready-*")):
            if self.process.poll() is not None or time.monotonic() > end:
                self.process.kill()
                fail(f"job is not ready: {self.process.communicate()}")
            time.sleep(0.01)
        return self

    def go(self, may_fail=False):
        processes = self.processes()
        (self.folder / "go").touch()
        self.output, errors = self.process.communicate(timeout=150)
        self.wait_until_gone(processes)
        if (self.process.returncode != 0 and not may_fail) or "FAILED" in errors:
            fail(f"status {self.process.returncode}\n{self.output}{errors}")
        pattern = r"rank (\d+) taken (\d+) limit (\d+) own (\d+) granted (\d+) processes (\d+) share (\d+) (\S+) job (\S+)"
        self.ranks = [dict(taken=int(taken), limit=int(limit), own=int(own), granted=int(granted), processes=int(processes),
                           share=int(share), by=by, job=job)
                      for _, taken, limit, own, granted, processes, share, by, job in re.findall(pattern, self.output)]
        if len(self.ranks) != RANKS:
            fail(f"{len(self.ranks)} ranks\n{self.output}{errors}")
        return self

    def processes(self):
        def is_one(process):
            try:
                return str(self.folder).encode() in (process / "cmdline").read_bytes()
            except OSError:
                return False
        return [process for process in pathlib.Path("/proc").glob("[0-9]*") if is_one(process)]

    def wait_until_gone(self, processes):
        """A killed rank may outlive its launcher for a moment, and its threads outlive its command line: they hold files."""
        def holds_files(process):
            for thread in process.glob("task/*/stat"):
                try:
                    if thread.read_text().rsplit(")", 1)[1].split()[0] not in "ZX":
                        return True
                except OSError:
                    pass
            return False
        end = time.monotonic() + 20
        while any(holds_files(process) for process in processes):
            if time.monotonic() > end:
                fail("a rank is still there 20 s after its launcher's end")
            time.sleep(0.01)

    def all(self, name):
        return [rank[name] for rank in self.ranks]

    def ledger(self):
        if len(set(self.all("job"))) != 1:
            fail(f"several ledgers in one job: {self.all('job')}")
        return self.ranks[0]["job"]


def expect_alone(job):
    """The ledger holds this job's ranks, and nothing else."""
    own = sum(job.all("own"))
    if set(job.all("processes")) != {RANKS} or set(job.all("granted")) != {own}:
        fail(f"{job.ledger()}: {job.all('processes')} processes, {job.all('granted')} bytes; the ranks hold {own}")
    for rank in job.ranks:
        if not rank["taken"] <= rank["own"] <= rank["taken"] + 16 * MIB:
            fail(f"{rank['own']} bytes in the ledger for {rank['taken']}")


def case_share(folder):
    """Each rank is told a quarter, by the launcher's variables."""
    job = Job(folder).wait_until_ready().go()
    expect_alone(job)
    variable = {"openmpi": "OMPI_COMM_WORLD_LOCAL_SIZE", "mpich": "MPI_LOCALNRANKS"}[mpi]
    if set(job.all("share")) != {RANKS} or set(job.all("by")) != {variable}:
        fail(f"shares 1/{job.all('share')} by {job.all('by')}")
    taken = job.all("taken")
    # OMPTIER_CAPACITY, else the share. Where the shares together are more than the kernel has left, some
    # rank gets less.
    limit = job.ranks[0]["limit"]
    if set(job.all("limit")) != {limit} or min(taken) < 0.75 * limit or max(taken) > limit or \
            (capacity and limit != capacity):
        fail(f"taken {taken} of {job.all('limit')}")
    print(f"{[bytes // MIB for bytes in taken]} MiB of {kind} in {job.ledger()}")


def case_jobs(folder):
    """Two jobs at once: apart by session or by the scheduler's number."""
    for variables in ({}, {}), ({"SLURM_JOB_ID": "4711"}, {"SLURM_JOB_ID": "4712"}):
        jobs = [Job(folder, **more) for more in variables]
        for job in jobs:
            job.wait_until_ready()
        for job in jobs:
            expect_alone(job.go())
        if jobs[0].ledger() == jobs[1].ledger():
            fail(f"two jobs count in {jobs[0].ledger()}")
        if variables[0] and not jobs[0].ledger().endswith("-slurm-4711"):
            fail(f"{jobs[0].ledger()} for {variables[0]}")
        print(f"apart: {jobs[0].ledger()} and {jobs[1].ledger()}")


def case_killed_job(folder):
    """A killed rank leaves its slot of the ledger to the next who looks, of another job with the same one."""
    name = f"test-{os.getpid()}"
    dying, other = (Job(folder, *more, OMPTIER_JOB=name) for more in (("dies",), ()))
    for job in dying, other:
        job.wait_until_ready()
    dying.go(may_fail=True)
    if set(dying.all("processes")) != {2 * RANKS} or set(dying.all("granted")) <= {sum(dying.all("own"))}:
        fail(f"not together: {dying.ranks}")
    if dying.process.returncode == 0:
        fail("a job with a killed rank ended well")
    expect_alone(other.go())
    print(f"together: {other.ledger()}, and left by {dying.all('own')} bytes when a rank was killed")


def case_killed_rank(folder):
    """Open MPI lets the others go on: the first of them takes what the killed one had.

    With a limit for each process it can only have back the piece that it gave up itself."""
    job = Job(folder, piece if capacity else "all", options=["--enable-recovery"], OMPTIER_SHARE="off",
              OMPTIER_DECAY="0").wait_until_ready().go(may_fail=True)
    expect_alone(job)
    then = re.search(r"killed (\d+) then taken (\d+) own (\d+) granted (\d+) processes (\d+)", job.output)
    if not then:
        fail(f"the first rank said nothing more\n{job.output}")
    victim, taken, own, granted, processes = map(int, then.groups())
    left = sum(job.all("own")) - job.ranks[victim]["own"] - job.ranks[0]["own"] + own
    if processes != RANKS - 1 or granted != left:
        fail(f"{processes} processes hold {granted} bytes, not {left}")
    if taken < (int(piece) * MIB if capacity else job.ranks[victim]["taken"]):
        fail(f"{taken} bytes taken again of {job.all('taken')}")
    print(f"{job.all('taken')} bytes of {kind}, then the first rank {taken} more")


def expect_ranks(omptier, folder, logs):
    """One log a rank, and a report that says which rank has most of what."""
    if len(logs) != RANKS:
        fail(f"{len(logs)} logs: {os.listdir(folder)}")
    report = read_report(omptier, *logs)
    if [rank["rank"] for rank in report["ranks"]] != list(range(RANKS)):
        fail(f"ranks {report['ranks']}")
    sites = {site["label"].split()[0]: number for number, site in enumerate(report["sites"])}
    held = {name: [rank["sites"][number]["bytes_peak"] for rank in report["ranks"]]
            for name, number in sites.items()}
    if held.get("uneven") != [(rank + 1) * MIB for rank in range(RANKS)] or held.get("even") != [MIB] * RANKS:
        fail(f"bytes by rank {held}")
    if report["samples"] < 20:
        fail(f"{report['samples']} samples")
    weights = [rank["weight"] for rank in report["ranks"]]
    if weights[3] != max(weights) or weights[3] < 2 * weights[0]:
        fail(f"rank 3 works most, not: {weights}")
    text = subprocess.run([omptier, "report", *logs], capture_output=True, text=True, timeout=100).stdout
    if not re.search(r"1\.60 rank 3 +uneven", text) or not re.search(r"^ +3 .* " + os.uname().nodename, text, re.M):
        fail(f"no imbalance in\n{text}")


def case_record(folder):
    """mpirun omptier record works; so does the plain program after eval "$(omptier env)"."""
    omptier, run = kind, " ".join([*launcher, "-n", str(RANKS)])
    here = dict(environment, OMP_NUM_THREADS="1")
    plain = subprocess.run(f"{run} {program}", shell=True, cwd=folder, env=here, capture_output=True, text=True)
    for script, pattern in ((f"{run} {omptier} record --rate 250 -- {program}", "omptier-*.profile"),
                            (f'eval "$({omptier} env --rate 250 -o "it\'s.profile")" && {run} {program}',
                             "it's-?.profile")):
        done = subprocess.run(script, shell=True, cwd=folder, env=here, stdin=subprocess.DEVNULL,
                              capture_output=True, text=True, timeout=100)
        if done.returncode != 0 or sorted(done.stdout.splitlines()) != sorted(plain.stdout.splitlines()):
            fail(f"{script}: status {done.returncode}\n{done.stdout}{done.stderr}")
        logs = sorted(map(str, pathlib.Path(folder).glob(pattern)))
        expect_ranks(omptier, folder, logs)
        print(f"{script}: {len(logs)} logs")


with tempfile.TemporaryDirectory() as folder:
    globals()[f"case_{case}"](folder)
