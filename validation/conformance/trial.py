# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# What tests that run programs share: the command line, a clean environment, a fresh folder, and runs that must end as
# expected. The first failed check ends the test.
import argparse
import os
import shutil
import subprocess
import sys


def fail(what):
    sys.exit(f"FAILED: {what}")


def check(condition, what):
    if not condition:
        fail(what)


def clean_environment(*more, **variables):
    """The caller's without what changes OpenMP, us or the loader, and names that begin with more; and with variables."""
    left_out = ("OMPTIER_", "OMP_", "KMP_", "LD_", *more)
    kept = {name: value for name, value in os.environ.items() if not name.startswith(left_out)}
    return {**kept, **variables}


def run(*command, status=0, timeout=200, **more):
    """The process of a command that has ended; it must have with that status, None: any."""
    command = [str(word) for word in command]
    done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=timeout, **more)
    check(status in (None, done.returncode),
          f"status {done.returncode} of {' '.join(command)}\n{done.stdout}{done.stderr}")
    return done


def enter_fresh(folder):
    shutil.rmtree(folder, ignore_errors=True)
    os.makedirs(folder)
    os.chdir(folder)


def parser(*required, **types):
    """Options that are all required; types for those that are no text."""
    made = argparse.ArgumentParser()
    for name in (*required, *types):
        made.add_argument("--" + name, required=True, type=types.get(name, str))
    return made
