# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Shared by benchmarks that run a program in the virtual machine: commands in the sandbox with their
# stderr kept, and conditions that are printed as met or not met.
import pathlib
import subprocess
import sys

KINDS = ("dram", "hbm", "nvm", "cxl")
MIB = 1 << 20


class Failure(Exception):
    pass


class GuestJob:
    """Runs commands in the machine, with the files of all runs in one folder.

    timed: the option of `omptier sandbox` that times are measured with.
    """

    def __init__(self, arguments, timed="--timed"):
        self.bin = pathlib.Path(arguments.build).resolve() / "bin"
        self.folder = pathlib.Path(arguments.folder).resolve()
        self.folder.mkdir(parents=True, exist_ok=True)
        self.machine, self.timed = arguments.machine, timed

    def sandbox(self, what, *command, timed=True, extra=()):
        """stdout of `omptier COMMAND` in the machine; what names it, and the file of its stderr."""
        line = [str(self.bin / "omptier"), "sandbox", "--machine", self.machine, "--timeout", "300",
                *([self.timed] if timed else []), *extra, "--env", "OMP_PROC_BIND=true",
                "--env", "OMP_WAIT_POLICY=passive", "--", str(self.bin / "omptier"), *command]
        progress(what)
        done = subprocess.run(line, cwd=self.folder, stdin=subprocess.DEVNULL, capture_output=True, text=True)
        (self.folder / f"{file_name(what)}.stderr").write_text(done.stderr)
        if done.returncode != 0:
            raise Failure(f"{what}: status {done.returncode}; {' '.join(line)}\n{done.stdout}{done.stderr}")
        return done.stdout


def file_name(what):
    return what.replace(" ", "-")


def progress(text):
    print(f"  {text} …", file=sys.stderr, flush=True)


def check(condition, text):
    print(("ok      " if condition else "NOT MET ") + text)
    return bool(condition)


def same_results(results):
    """Checksums of all runs must agree: placement changes no result."""
    checksums = {run["checksum"] for runs in results.values() for run in runs}
    if len(checksums) != 1:
        raise Failure(f"the program's results differ between placements: {sorted(checksums)}")


def guarded(name, main):
    """Status of main; 125 and one line when something could not be run."""
    try:
        sys.exit(main())
    except Failure as failure:
        print(f"{name}: {failure}", file=sys.stderr)
        sys.exit(125)
