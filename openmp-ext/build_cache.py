# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# The cache folder, and Python packages from PyPI in an environment of their own in it: nothing of the
# system or the user changes. Made once; a second process waits for the first.
import fcntl
import os
import shutil
import subprocess
import venv
from pathlib import Path


class Failure(Exception):
    """One line for the user: what failed, where, what to do."""


def cache_folder():
    for variable, below in (("OMPTIER_CACHE", ""), ("XDG_CACHE_HOME", "omptier"), ("HOME", ".cache/omptier")):
        if os.environ.get(variable):
            return Path(os.environ[variable]) / below
    raise Failure("no cache folder: neither OMPTIER_CACHE nor XDG_CACHE_HOME nor HOME is set; set OMPTIER_CACHE")


def environment(home, what, *asked):
    """The folder `home`, made with `pip install ASKED` if it is not complete; `what` names the packages."""
    home.parent.mkdir(parents=True, exist_ok=True)
    with open(home.parent / f".lock-{home.name}", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if (home / "complete").exists():
            return home
        shutil.rmtree(home, ignore_errors=True)
        try:
            venv.create(home, with_pip=True)
            done = subprocess.run([home / "bin/python", "-m", "pip", "install", "-q", "--disable-pip-version-check",
                                   "--retries", "2", "--timeout", "30", *map(str, asked)],
                                  stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        except (OSError, subprocess.CalledProcessError) as error:
            raise Failure(f"making {home} failed: {error}; install python3-venv")
        if done.returncode != 0:
            last = (done.stdout.strip().splitlines() or ["it said nothing"])[-1]
            raise Failure(f"pip could not install {what}: {last}; check the network")
        (home / "complete").touch()
    return home
