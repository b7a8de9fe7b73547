#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What ./bootstrap does and says on machines that are not as it wishes: no right to install, a release that lacks a
package, tools missing, a clone that was moved, a cache folder with files of others. It runs on a copy, with made-up
programs before the machine's own."""
import subprocess
import sys
import tempfile
from pathlib import Path

SOURCE = Path(__file__).resolve().parents[2]
# Nothing is installed, nobody is root; cmake only says how it was called.
PROGRAMS = {"dpkg-query": "exit 1", "apt-get": "exit 0", "id": "echo 1000", "sudo": '[ "$1" = -v ] || exec "$@"',
            "apt-cache": 'shift; for name in "$@"; do echo "Package: $name"; done', "ninja": "exit 0",
            "cmake": 'mkdir -p build/release && echo "$@" >>calls'}


class Machine:
    """A copy of bootstrap, with made-up programs; None for one: it is not there."""

    def __init__(self, folder, **programs):
        self.clone, self.bin = folder / "clone", folder / "bin"
        self.clone.mkdir(parents=True)
        self.bin.mkdir()
        (self.clone / "bootstrap").write_text((SOURCE / "bootstrap").read_text())
        chosen = PROGRAMS | {name.replace("_", "-"): text for name, text in programs.items()}
        for name in ("sh", "sed", "awk", "tr", "wc", "date", "tail", "cut", "sort", "cat", "rm", "rmdir", "mkdir",
                     "dirname", "grep", "sleep", "env", "stty"):
            if name not in chosen:
                (self.bin / name).symlink_to(subprocess.check_output(["which", name], text=True).strip())
        for name, text in chosen.items():
            if text is not None:
                (self.bin / name).write_text(f"#!/bin/sh\n{text}\n")
                (self.bin / name).chmod(0o755)

    def bootstrap(self, *arguments, status=0, **environment):
        run = subprocess.run(["sh", "bootstrap", *arguments], capture_output=True, text=True, cwd=self.clone,
                             env={"PATH": str(self.bin), "HOME": str(self.clone.parent), **environment})
        assert run.returncode == status, (arguments, run.returncode, run.stdout, run.stderr)
        return run.stdout + run.stderr

    def calls(self):
        return (self.clone / "calls").read_text()


def no_right_to_install(folder):
    for refusal in ({"sudo": "exit 1"}, {"sudo": None}):
        said = Machine(folder / str(len(refusal["sudo"] or "")), **refusal).bootstrap("tools", status=1)
        assert "apt-get install clang-19 g++" in said and "./bootstrap tools --no-packages" in said, said


def release_that_lacks_a_package(folder):
    lacks = 'shift; for name in "$@"; do [ $name = clang-19 ] || echo "Package: $name"; done'
    said = Machine(folder, apt_cache=lacks).bootstrap("tools", status=1)
    assert "lists have no clang-19 (" in said and "docs/building.md" in said, said


def packages_are_noted_before_apt_fails(folder):
    fails = 'case " $* " in *" install "*) exit 100 ;; esac'
    machine = Machine(folder, apt_get=fails)
    machine.bootstrap("tools", status=1)
    assert "clang-19\n" in (machine.clone / "build/installed-packages").read_text()
    machine.bin.joinpath("dpkg-query").write_text("#!/bin/sh\n[ $4 != ninja-build ] || echo ok installed\n")
    said = machine.bootstrap("--clean", OMPTIER_CACHE=str(folder / "cache"))
    assert said.endswith("apt-get purge ninja-build\n"), said


def tools_are_missing(folder):
    for name, package in (("cmake", "cmake"), ("ninja", "ninja-build")):
        said = Machine(folder / name, **{name: None}).bootstrap("tools", "--no-packages", status=1)
        assert f"bootstrap: {name} is missing; install it (Debian: {package})" in said, said


def moved_clone(folder):
    machine = Machine(folder)
    machine.bootstrap("tools", "--no-packages")
    tree = machine.clone / "build/release"
    tree.joinpath("CMakeCache.txt").write_text(f"CMAKE_HOME_DIRECTORY:INTERNAL={machine.clone}\n")
    before = machine.calls()
    machine.bootstrap("tools", "--no-packages")
    assert "--preset release" in before and "--fresh" not in machine.calls(), machine.calls()
    machine.clone = machine.clone.rename(folder / "elsewhere")
    said = machine.bootstrap("tools", "--no-packages")
    assert "was moved or copied" in said and "--preset release --fresh" in machine.calls(), machine.calls()


def cache_with_files_of_others(folder):
    machine = Machine(folder)
    cache = folder / "cache"
    ours = ["downloads/.lock-qemu", "guest/linux-image-6-amd64_6/about", "guest/lock", "libomp/stock-1/lib/libomp.so",
            "snapshots/xeon-1.state", "snapshots/xeon-1.state.lock", "sources/qemu-1/include/a.h"]
    others = ["downloads/mine.txt", "notes.txt"]
    for files in (ours + others, ours):
        for file in files:
            (cache / file).parent.mkdir(parents=True, exist_ok=True)
            (cache / file).write_text("")
        said = machine.bootstrap("--clean", OMPTIER_CACHE=str(cache))
        left = sorted(str(path.relative_to(cache)) for path in cache.rglob("*") if path.is_file())
        assert str(cache) in said and left == [file for file in others if file in files], (said, left)
        for file in left:
            (cache / file).unlink()
    assert not cache.exists(), list(cache.rglob("*"))


def main():
    cases = (no_right_to_install, release_that_lacks_a_package, packages_are_noted_before_apt_fails, tools_are_missing,
             moved_clone, cache_with_files_of_others)
    for case in cases:
        with tempfile.TemporaryDirectory() as folder:
            case(Path(folder))
    print(f"{len(cases)} cases")


if __name__ == "__main__":
    sys.exit(main())
