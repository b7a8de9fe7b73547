#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""How fetch-debian-source and build-runtime behave when things go wrong, without any network.

    check_fetch.py --extension openmp-ext --builder "COMMAND..."

Each failure must be one line on stderr that names what is wrong, with the status their headers promise,
and must leave nothing half-made in the cache.
"""

import argparse
import hashlib
import os
import platform
import re
import shlex
import shutil
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path

wrong = []


def expect(case, done, status, *words, out=None):
    lines = [line for line in done.stderr.splitlines() if not line.startswith("-- ")]
    if done.returncode != status:
        wrong.append(f"{case}: status {done.returncode}, expected {status}: {done.stderr}")
    elif status == 0 and (out is not None and done.stdout.strip() != str(out)):
        wrong.append(f"{case}: printed {done.stdout!r}, expected {out}")
    elif status == 125 and (len(lines) != 1 or not all(word in lines[0] for word in words)):
        wrong.append(f"{case}: said {lines}, expected one line with {words}")


def archive_with_three_suites(folder, thing):
    """A package archive in a folder: the installed suite has nothing, the suite "newer" the package thing, and a
    later version of it whose files are not there, the suite "left" that version alone. Returns the name of the
    installed suite."""
    installed = platform.freedesktop_os_release()["VERSION_CODENAME"]
    (folder / "pool").mkdir(parents=True)
    shutil.copy(thing, folder / "pool")

    def described(path):
        content = path.read_bytes()
        return f" {hashlib.sha256(content).hexdigest()} {len(content)}"

    def entry(version, pool):
        return (f"Package: thing\nBinary: thing\nVersion: {version}\nArchitecture: any\nFormat: 3.0 (quilt)\n"
                f"Directory: {pool}\nChecksums-Sha256:\n{described(thing)} {thing.name}\n\n")

    gone = entry("1.0-2", "gone")
    for suite, content in ((installed, ""), ("left", gone), ("newer", gone + entry("1.0-1", "pool"))):
        sources = folder / "dists" / suite / "main/source/Sources"
        sources.parent.mkdir(parents=True)
        sources.write_text(content)
        (sources.parents[2] / "Release").write_text(
            f"Suite: {suite}\nCodename: {suite}\nComponents: main\nArchitectures: amd64\n"
            f"Date: Thu, 01 Jan 2026 00:00:00 UTC\nSHA256:\n{described(sources)} main/source/Sources\n")
    return installed


def check_suites(work, run, fetch, command, cache):
    """What the installed suite lacks, or names without having it any more, is found in another suite of the same
    archive, whichever way the sources are written down, and without --suites or in a suite that lacks it too it is
    not."""
    archive = Path(work / command[2])
    installed = archive_with_three_suites(work / "archive", archive)
    written = {
        "one.list": f"deb [ trusted=yes ] file:{work}/archive {installed} main\n",
        "one.sources": f"Types: deb\nURIs: file:{work}/archive\nSuites: {installed} {installed}-more\n"
                       "Components: main\nTrusted: yes\n",
    }
    for name, text in written.items():
        parts = work / f"sources-{name}"
        parts.mkdir()
        (parts / name).write_text(text)
        conf = work / f"{name}.conf"
        conf.write_text(f'Dir::Etc::sourcelist "{parts}/none";\nDir::Etc::sourceparts "{parts}";\n')
        variables = {"APT_CONFIG": str(conf), "OMPTIER_CACHE": str(cache / name)}
        expect(f"not in the installed suite, {name}", run(command, **variables), 125, archive.name, "none of the system")
        expect(f"not in the other suite, {name}", run([fetch, "--suites", "older", *command[1:]], **variables), 125,
               "nor in older")
        expect(f"named, but gone, {name}", run([fetch, "--suites", "left older", *command[1:]], **variables), 125,
               "downloading", archive.name)
        found = run([fetch, "--suites", "left older newer", *command[1:]], **variables)
        expect(f"in the other suite, {name}", found, 0)
        if found.returncode == 0 and not (Path(found.stdout.strip()) / "wanted/file").is_file():
            wrong.append(f"{name}: the other suite's archive was not unpacked")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--extension", type=Path, required=True)
    parser.add_argument("--builder", required=True)
    chosen = parser.parse_args()
    fetch = chosen.extension / "base/fetch-debian-source"
    with tempfile.TemporaryDirectory() as name:
        work = Path(name)
        cache, empty = work / "cache", work / "no-sources"
        (cache / "downloads").mkdir(parents=True)
        empty.mkdir()
        # apt that knows no sources: what is not at hand cannot be fetched.
        (work / "apt.conf").write_text(f'Dir::Etc::sourcelist "{empty}/none";\nDir::Etc::sourceparts "{empty}";\n')

        def run(command, **variables):
            environment = dict(os.environ, OMPTIER_CACHE=str(cache), APT_CONFIG=str(work / "apt.conf"))
            environment.update(variables)
            environment = {key: value for key, value in environment.items() if value is not None}
            return subprocess.run(command, env=environment, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE)

        # An archive of our own in the place the header names for use without a network.
        inner = work / "thing-1.0"
        (inner / "wanted").mkdir(parents=True)
        (inner / "wanted/file").write_text("content\n")
        (inner / "unwanted").write_text("no\n")
        archive = work / "thing_1.0.orig.tar.xz"
        with tarfile.open(archive, "w:xz") as tar:
            tar.add(inner, "thing-1.0")
        content = archive.read_bytes()
        digest, size = hashlib.sha256(content).hexdigest(), str(len(content))
        command = [fetch, "thing", archive.name, size, digest, "*/wanted/*"]

        expect("usage", run([fetch, "thing"]), 2)
        expect("no source of it", run(command), 125, archive.name, "downloads")
        expect("no cache folder", run(command, OMPTIER_CACHE=None, XDG_CACHE_HOME=None, HOME=None), 125, "OMPTIER_CACHE")
        (work / "file").touch()
        expect("cache under a file", run(command, OMPTIER_CACHE=str(work / "file/cache")), 125, "OMPTIER_CACHE")
        at_hand = cache / "downloads" / archive.name
        at_hand.write_bytes(content[:-10])
        expect("archive cut off", run(command), 125, archive.name)
        at_hand.write_bytes(content)
        expect("nothing matches", run([*command[:-1], "*/absent/*"]), 125, "unpacking")
        if list((cache / "sources").iterdir()):
            wrong.append("a failure left a folder in the cache")

        both = [subprocess.Popen(command, env=dict(os.environ, OMPTIER_CACHE=str(cache)), text=True,
                                 stdout=subprocess.PIPE, stderr=subprocess.PIPE) for _ in range(2)]
        answers = {process.communicate()[0].strip() for process in both}
        folder = Path(answers.pop())
        if answers or any(process.returncode for process in both):
            wrong.append("two fetches at once did not agree")
        if (folder / "wanted/file").read_text() != "content\n" or (folder / "unwanted").exists():
            wrong.append("what was unpacked is not what was asked for")
        expect("again", run(command), 0, out=folder)
        leftovers = [path.name for path in (cache / "downloads").iterdir() if not path.name.startswith(".lock")]
        if leftovers:
            wrong.append(f"left in downloads: {leftovers}")

        check_suites(work, run, fetch, command, work / "caches")

        builder = shlex.split(chosen.builder)
        expect("not a source", run([*builder, "patched", "--source", empty]), 125, str(empty), "llvm-project")
        source = Path(subprocess.run([*builder, "source"], stdout=subprocess.PIPE, text=True).stdout.strip())
        other = work / "other"
        for part in ("openmp/runtime/src", "openmp/runtime/cmake", "openmp/cmake", "cmake"):
            shutil.copytree(source / part, other / part)
        with open(other / "openmp/runtime/src/kmp_barrier.cpp", "a") as changed:
            changed.write("// another version\n")
        expect("another version", run([*builder, "patched", "--source", other / "openmp"]), 125, "kmp_barrier.cpp")
        version = other / "cmake/Modules/LLVMVersion.cmake"
        version.write_text(re.sub(r"(MAJOR) \d+", r"\1 18", version.read_text()))
        expect("an LLVM without places", run([*builder, "stock", "--source", other]), 125, "LLVM 18", "19.1.7")
        built = subprocess.run([*builder, "version"], stdout=subprocess.PIPE, text=True).stdout.strip()
        asked = "21" if built != "21" else "22"
        expect("another LLVM than asked for", run([*builder, "version", "--source", source, "--llvm", asked]), 125, str(source),
               f"asked for is {asked}")
        expect("no compiler", run([*builder, "stock", "--source", source, "--compiler", "no-such-clang"]), 125, "no-such-clang")
        if list((cache / "libomp").iterdir()):
            wrong.append(f"left in the cache: {list((cache / 'libomp').iterdir())}")

    for line in wrong:
        print(f"check_fetch: {line}", file=sys.stderr)
    return 1 if wrong else 0


sys.exit(main())
