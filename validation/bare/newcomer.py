#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Does what README.md and docs/ tell, on a bare machine: a minimal Debian root with nothing but apt, into
which the sources are copied; there every command that the pages show is run as it is written.

    newcomer.py [--work FOLDER] [--keep] [12 | 13 | no-apt]…   (none named: all of them)

12, 13: that Debian; each command is printed with its seconds, then the totals that are promised. no-apt: a
root that has the compilers and libraries, but neither apt nor dpkg, and a user without rights, as on a
cluster. Needs root and mmdebstrap. Everything lies in FOLDER (default build/bare) and is removed at
the end unless --keep says otherwise; logs stay.

A time over what is promised fails only where nobody else used the processors; 15 minutes to the first
recommendation fail anywhere. Exit status: 0 all done; 1 something
failed; 77 no root can be made here.
"""
import argparse
import copy
import os
import re
import resource
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

sys.dont_write_bytecode = True
import root  # noqa: E402
from page import Page  # noqa: E402
from root import SOURCE, Failure  # noqa: E402

HOME = "/root/omptier"  # the newcomer's clone
PROMISED = 240  # seconds from the bare root, each of the two totals
SLOWEST = 900  # seconds to the first recommendation, however slow the network and busy the processors
QUIET = 0.1  # of the processors' time may go to others where a time is judged


def processors_used():
    """Seconds of all processors: used by anybody, used by us, passed."""
    fields = [int(field) for field in Path("/proc/stat").read_text().splitlines()[0].split()[1:9]]
    user, nice, system, _, _, interrupt, soft, steal = fields
    ours = resource.getrusage(resource.RUSAGE_CHILDREN)
    return (user + nice + system + interrupt + soft + steal) / os.sysconf("SC_CLK_TCK"), ours.ru_utime + ours.ru_stime


class Span:
    """From its begin: seconds, and the share of the processors' time that others took."""

    def __init__(self):
        self.begin, self.used = time.monotonic(), processors_used()

    def seconds(self):
        return time.monotonic() - self.begin

    def others(self):
        everybody, ours = (now - before for now, before in zip(processors_used(), self.used))
        return max(0.0, everybody - ours) / (self.seconds() * os.cpu_count())


class Newcomer:
    def __init__(self, name, options):
        self.name, self.options = name, options
        self.folder = options.work / name
        self.root = self.folder / "root"
        root.remove(self.root)
        self.folder.mkdir(parents=True, exist_ok=True)
        self.log = open(self.folder / "log", "w+", encoding="utf-8", errors="replace")
        self.wrong = []

    def run(self, command, folder=HOME, status=0, says=(), **environment):
        """Runs a command, prints its time; what it prints must match each of `says`."""
        begin, before = self.log.seek(0, os.SEEK_END), time.monotonic()
        self.log.write(f"\n$ {command}\n")
        self.log.flush()
        got = root.run(self.root, folder, command, self.log, environment)
        print(f"  {time.monotonic() - before:7.1f} s  {command}", flush=True)
        self.log.seek(begin)
        printed = self.log.read()
        for pattern in says:
            if not re.search(pattern, printed):
                self.wrong.append(f"{command}: prints nothing like '{pattern}'")
        if got != status:
            print(printed[-2500:])
            raise Failure(f"{command}: status {got}, not {status}; all it said is in {self.folder / 'log'}")
        return printed

    def promise(self, what, span, slowest=None):
        """slowest: seconds that fail on a busy machine, too."""
        seconds, others = span.seconds(), span.others()
        busy = others > QUIET
        note = f"; others took {others:.0%} of the processors, so not judged" if busy else ""
        print(f"  {seconds:7.1f} s  {what} (promised: {PROMISED} s on 2 cores{note}; "
              f"load {os.getloadavg()[0]:.1f})", flush=True)
        if seconds > PROMISED and not busy:
            self.wrong.append(f"{what}: {seconds:.0f} s, promised are {PROMISED}")
        elif slowest and seconds > slowest:
            self.wrong.append(f"{what}: {seconds:.0f} s, more than {slowest} whoever else is at work")

    def put(self, path, text):
        target = self.root / path.lstrip("/")
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text)

    def twin(self):
        """A root as this one is now; what runs there is in the same log."""
        other = copy.copy(self)
        other.root = self.folder / "twin"
        root.remove(other.root)
        subprocess.run(["cp", "-a", self.root, other.root], check=True)
        return other

    def bare(self, release, packages=()):
        span = Span()
        root.make(release, self.root, self.log, packages)
        print(f"  {span.seconds():7.1f} s  (the root: Debian {release}, {root.RELEASES[release]})", flush=True)


def own_program(job, pages):
    """A program of one's own: neutron_lookup, compiled by the line that its page gives."""
    line = pages["examples/README.md"].command("clang++-19")
    job.run(f"cd examples && {line} && mv ../neutron_lookup ../my_program")


def record_to_run(job, page):
    job.run(page.command("build/release/bin/omptier record"))
    job.run(page.command("build/release/bin/omptier report"), says=["nuclide"])
    advise = page.command("build/release/bin/omptier advise")
    # Here is one kind of memory: the tool asks for the machine, as README says it does.
    job.run(advise, status=2, says=["name the machine to place on: --machine"])
    options = page.inline("advise my.profile --machine").split("my.profile ")[1]
    job.run(f"{advise} {options}", says=["nuclide", "Plan written to my.plan"])


def files_of(folder):
    """Every name in the root but apt's caches, dpkg's own files, and the user's."""
    own = ("var/cache/", "var/lib/apt/", "var/lib/dpkg/", "var/log/", "root/", "tmp/", "proc/", "sys/", "dev/", "run/")
    names = set()
    for path, folders, files in os.walk(folder):
        inside = os.path.relpath(path, folder) + "/"
        names |= {name for name in (f"{inside}{file}".removeprefix("./") for file in folders + files)
                  if not f"{name}/".startswith(own)}
    return names


def compile_against(job, page, where=""):
    """Somebody else's project, by CMake and by pkg-config, by clang and by gcc."""
    downstream = f"{HOME}/validation/conformance/install"
    for compilers in ("-DCMAKE_C_COMPILER=clang-19 -DCMAKE_CXX_COMPILER=clang++-19", ""):
        job.run(f"rm -rf /tmp/project && cmake -S {downstream} -B /tmp/project -DFORTRAN=OFF {compilers} {where} "
                "&& cmake --build /tmp/project && /tmp/project/downstream && /tmp/project/downstream_cxx")
    line = page.inline("clang-19 -fopenmp $(pkg-config")
    for compiler in ("clang-19", "gcc"):
        variable = f"PKG_CONFIG_PATH={where.split('=')[1]}/lib/pkgconfig; export PKG_CONFIG_PATH; " if where else ""
        job.run(variable + line.replace("clang-19", compiler).replace("traits.c", f"{HOME}/examples/starter/traits.c")
                + " -o /tmp/traits && /tmp/traits", says=[r"sum \d+"])


def packages(job, bare, page):
    """The packages in a root that has nothing else: installed, used, removed without a trace. Then omptier-dev
    beside the compilers."""
    job.run(page.command("cmake --build build/release --target package"))
    span = Span()
    built = "build/release/packages"
    clone = bare.root / HOME.lstrip("/")
    (clone / built).mkdir(parents=True)
    for package in (job.root / HOME.lstrip("/") / built).glob("*.deb"):
        shutil.copy(package, clone / built)
    shutil.copy(job.root / HOME.lstrip("/") / "my_program", clone)
    shutil.copytree(job.root / "var/lib/apt/lists", bare.root / "var/lib/apt/lists", dirs_exist_ok=True)
    shutil.copytree(job.root / "var/cache/apt/archives", bare.root / "var/cache/apt/archives", dirs_exist_ok=True)
    bare.run("apt-get -qy install --no-install-recommends groff-base")  # reads the man pages
    before = files_of(bare.root)
    install = page.command("apt-get install")
    bare.run(install.replace("install", "-qy install --no-install-recommends", 1))
    installed = files_of(bare.root)
    ours = {line[1:] for line in bare.run("dpkg -L omptier omptier-dev omptier-machine").splitlines()
            if line.startswith("/usr/")}
    bare.run("omptier check ./my_program",
             says=["OMPTier runtime +in /usr/lib/omptier", "libomp.so.5, which OMPTier provides"])
    bare.run("omptier record -o my.profile -- ./my_program")
    options = page.inline("advise my.profile --machine").split("my.profile ")[1]
    bare.run(f"omptier advise my.profile -o my.plan {options}", says=["nuclide", "Plan written to my.plan"])
    bare.run("omptier run --plan my.plan -- ./my_program", says=["checksum"])
    bare.run("omptier help traits", says=["# Traits"])
    said = bare.run("groff -man -Tutf8 -ww -z /usr/share/man/man1/omptier*.1")
    if len(said.splitlines()) > 2:  # the command itself is in the log
        bare.wrong.append("groff warns of a man page")
    bare.run("omptier sandbox --machine dram-hbm-nvm -- omptier --version", says=[r"\nomptier \d"])
    remove = re.search(r"apt-get purge '[^']*'", page.text).group()
    bare.run(remove.replace("purge", "-qy purge --autoremove"))
    after = files_of(bare.root)  # what packages of Debian's leave is not ours
    left = after - installed | (ours - before) & after | {name for name in after if re.search("omptier|ompx", name)}
    left |= {path.name for path in (bare.root / "var/lib/dpkg/info").glob("omptier*")}
    if len(ours) < 50 or left or before - after:
        bare.wrong.append(f"purging {len(ours)} files leaves {sorted(left)[:5]}, takes {sorted(before - after)[:5]}")
    job.run("rm -r /opt/omptier && apt-get -qy install --no-install-recommends "
            f"./{built}/omptier_*.deb ./{built}/omptier-dev_*.deb")
    compile_against(job, page)
    print(f"  {span.seconds():7.1f} s  the packages, installed, used and removed", flush=True)


def debian(job, pages):
    page = pages["README.md"]
    job.bare(job.name)
    bare = job.twin()
    root.copy_sources(job.root, HOME)
    first = Span()
    job.run(page.command("./bootstrap tools"), says=["build/release/bin/omptier is ready"])
    own_program(job, pages)
    record_to_run(job, page)
    job.promise("from the first command to the first recommendation", first, SLOWEST)
    # A root that does not reach PyPI has nothing that draws; the command says what to do.
    draws = (job.root / HOME.lstrip("/") / "build/release/share/omptier/pictures/vega.js").exists()
    job.run(page.command("build/release/bin/omptier report --html"), status=0 if draws else 2,
            says=["report.html written" if draws else "build again where the network is reachable"])
    job.run(page.command("build/release/bin/omptier run --plan my.plan -- ./my_program"), says=["checksum"])
    print(f"  {first.seconds():7.1f} s  from the first command to a program of one's own, placed", flush=True)

    tools = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
    for beginning in ("omptier record", "omptier report"):
        job.run(pages["docs/profiling.md"].command(beginning), PATH=f"{HOME}/build/release/bin:{tools}")

    traits = pages["docs/traits.md"]
    job.put(f"{HOME}/examples/starter/traits.c", traits.block("c"))  # what the page shows is what is compiled
    job.run(traits.command("clang-19 -O2 -fopenmp -I include"), says=[r"sum \d+"])

    install = page.inline("cmake --install").replace("FOLDER", "/opt/omptier")
    job.run(install)
    compile_against(job, page, "-DCMAKE_PREFIX_PATH=/opt/omptier")

    demo = Span()
    job.run(page.command("./demo"), says=["with the plan .*x", "everything in DRAM"])
    job.promise("./demo after ./bootstrap tools, to its last table", demo)

    packages(job, bare, page)

    # A stranger's program, and a picture for it.
    job.run("apt-get -qy install --no-install-recommends graphicsmagick && gm convert -size 640x480 "
            "gradient:red-blue in.png")
    job.run(page.command("build/release/bin/omptier sites"))
    job.run(page.command("build/release/bin/omptier run --plan my.plan --runtime own"))
    page.command("./test")  # is what runs this


def no_apt(job, pages):
    """As on a cluster: what the build needs is there, apt and dpkg are not, nor rights to install."""
    page = pages["docs/building.md"]
    packages = [line.split()[0] for line in os.popen(f"{SOURCE}/bootstrap list tools").read().splitlines()]
    job.bare("13", [name for name in packages if name != "dpkg-dev"])
    root.copy_sources(job.root, HOME.replace("/root", "/home/user"))
    home = "/home/user/omptier"
    source = os.popen(f"{SOURCE}/openmp-ext/libomp/build-runtime source").read().strip()
    shutil.copytree(source, job.root / "home/user/llvm")
    job.run("mkdir /hidden && mv /usr/bin/apt* /usr/bin/dpkg* /hidden && chown -R 1000:1000 /home/user", folder="/")
    user = "setpriv --reuid 1000 --regid 1000 --clear-groups "
    said = job.run(user + "./bootstrap tools", folder=home, status=1, HOME="/home/user", says=["docs/building.md"])
    # What bootstrap says is to be done is what building.md says.
    first, second = page.command("./bootstrap tools"), page.command("cmake -S")
    for line in (first, second):
        if line not in " ".join(said.replace("\\", "").split()):
            job.wrong.append(f"./bootstrap does not say what docs/building.md says: {line}")
    job.run(user + "sh -c '" + first.replace("FOLDER", "/home/user/llvm") + "'", folder=home, HOME="/home/user",
            says=["build/release/bin/omptier is ready"])
    other = second.replace("FOLDER", "/home/user/llvm").replace("build/release", "/home/user/build")
    job.run(user + f"sh -c '{other}'", folder=home, HOME="/home/user")
    job.run(user + page.command("cmake --build").replace("build/release", "/home/user/build --target libomp"),
            folder=home, HOME="/home/user")
    job.run("clang-19 -O2 -fopenmp -I include examples/starter/traits.c -o traits && "
            + user + "build/release/bin/omptier run -- ./traits", folder=home, says=[r"sum \d+"])


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("cases", nargs="*", metavar="12|13|no-apt")
    parser.add_argument("--work", type=Path, default=SOURCE / "build/bare", help="folder of roots and logs")
    parser.add_argument("--keep", action="store_true", help="leave the roots")
    options = parser.parse_args()
    cases = options.cases or ["12", "13", "no-apt"]
    for name in cases:
        if name not in ("12", "13", "no-apt"):
            parser.error(f"{name} is none of 12, 13, no-apt")
    reason = root.why_not()
    if reason:
        print(f"newcomer: {reason}", file=sys.stderr)
        return 77
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # ends the command that runs, and what it mounted
    wrong = []
    for name in cases:
        print(f"{name if name == 'no-apt' else 'Debian ' + name} (load {os.getloadavg()[0]:.1f})", flush=True)
        pages = {path: Page(SOURCE / path) for path in ("README.md", "examples/README.md", "docs/profiling.md",
                                                        "docs/building.md", "docs/traits.md")}
        job = Newcomer(name, options)
        try:
            (no_apt if name == "no-apt" else debian)(job, pages)
            left = pages["docs/building.md" if name == "no-apt" else "README.md"].left
            job.wrong += [f"a command that nobody runs here: {line}" for line in left]
        except (Failure, LookupError) as failure:
            job.wrong.append(str(failure))
        finally:
            if not options.keep:
                root.remove(job.root)
                root.remove(job.folder / "twin")
        wrong += [f"{name}: {line}" for line in job.wrong]
    for line in wrong:
        print(f"newcomer: {line}", file=sys.stderr)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
