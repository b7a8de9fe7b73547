#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Configures a set of ./bootstrap where only the packages of that set, and what they depend on, can be seen.

    hidden.py tools|demo --folder FOLDER

A bare root costs a minute to make; this takes seconds, for it hides instead: over the root file system lies an
overlay, in a namespace of mounts of its own, in which every file of the other packages is deleted, and all
of /usr/local and /opt. What a build needs is thus found missing from the list of packages on machines, too, on
which everything was installed once. The sources lie under an overlay of their own, without their build folders.
Exit status: 0 it configures; 1 it does not; 77 no namespace or overlay can be made here.
"""
import argparse
import os
import re
import shutil
import stat
import subprocess
import sys
from pathlib import Path

SOURCE = Path(__file__).resolve().parents[2]
# A larger set that cannot be configured does not spoil the smaller one.
SMALLER_AGAIN = """
if ./bootstrap configure demo --no-packages -DOMPTIER_QEMU_SOURCE=/nowhere >/dev/null 2>&1; then
  echo "hidden: the demo was configured with a QEMU that is not there"; exit 1
fi
./bootstrap configure tools --no-packages && ninja -C build/release build.ninja"""
MERGED = ("bin", "sbin", "lib", "lib32", "lib64", "libx32")  # links into /usr


def installed():
    """{package: (names it stands for, [[alternatives] …])}, and the names of those that every root has."""
    form = "${Package}\t${Essential}\t${Priority}\t${Provides}\t${Pre-Depends}, ${Depends}\t${Status}\n"
    packages, always = {}, set()
    for line in subprocess.run(["dpkg-query", "-W", "-f", form], capture_output=True, text=True,
                               check=True).stdout.splitlines():
        name, essential, priority, provides, depends, status = line.split("\t")
        if not status.endswith(" installed"):
            continue
        bare = [[re.sub(r"[\s(:].*", "", one.strip()) for one in group.split("|")] for group in depends.split(",")]
        packages[name] = ({re.sub(r"[\s(].*", "", one.strip()) for one in provides.split(",")}, bare)
        if essential == "yes" or priority == "required":
            always.add(name)
    return packages, always | {"apt"}


def closure(wanted):
    """The packages, and what each depends on: of alternatives the first that is installed, as apt takes it."""
    packages, always = installed()
    providers = {}
    for name, (provides, _) in packages.items():
        for virtual in provides:
            providers.setdefault(virtual, name)
    found, open_ones = set(), [*wanted, *always]
    while open_ones:
        name = open_ones.pop()
        name = name if name in packages else providers.get(name)
        if name is None or name in found:
            continue
        found.add(name)
        for alternatives in packages[name][1]:
            chosen = next((one for one in alternatives if one in packages or one in providers), None)
            if chosen:
                open_ones.append(chosen)
    return found, set(packages)


def files_of(packages):
    paths = set()
    for file in Path("/var/lib/dpkg/info").glob("*.list"):
        if file.name[:-len(".list")].split(":")[0] in packages:
            paths.update(file.read_text(errors="replace").splitlines())
    return {"/usr" + path if path.split("/")[1] in MERGED else path for path in paths if path.count("/") > 1}


def hide(upper, wanted):
    """Deletes, in the overlay's upper folder, what only other packages brought. Returns how much."""
    seen, everything = closure(wanted)
    shown, others = files_of(seen), files_of(everything - seen)
    folders = {os.path.dirname(path) for path in others}
    hidden = sorted(path for path in others - shown - folders if path.startswith("/usr/")) + ["/usr/local", "/opt"]
    made = {""}
    for path in hidden:
        if not os.path.lexists(path):
            continue
        if stat.S_ISDIR(os.lstat(path).st_mode) and path not in ("/usr/local", "/opt"):
            continue
        folder = os.path.dirname(path)
        if folder not in made:
            os.makedirs(upper + folder, exist_ok=True)
            made.add(folder)
        os.mknod(upper + path, stat.S_IFCHR | 0o000, os.makedev(0, 0))
    return len(hidden)


def mount(*arguments, refused=1):
    done = subprocess.run(["mount", *arguments], capture_output=True, text=True)
    if done.returncode != 0:
        print(f"hidden: mount {' '.join(map(str, arguments))}: {done.stderr.strip()}")
        sys.exit(refused)


def inside(chosen):
    """In the namespace: makes the view and configures in it."""
    mount("-t", "tmpfs", "tmpfs", chosen.folder, refused=77)
    view, sources = chosen.folder / "view", chosen.folder / "sources"
    names = subprocess.run([SOURCE / "bootstrap", "list", chosen.set], capture_output=True, text=True,
                           check=True).stdout.split()
    # Before the mount: a change below a mounted overlay need not be seen.
    (view / "upper").mkdir(parents=True)
    (sources / "upper").mkdir(parents=True)
    try:
        count = hide(str(view / "upper"), names)
        os.mknod(sources / "upper/build", stat.S_IFCHR | 0o000, os.makedev(0, 0))
    except PermissionError as error:
        print(f"hidden: {error}")
        return 77
    for folder in (view, sources):
        (folder / "work").mkdir()
        (folder / "merged").mkdir()
    for lower, folder in (("/", view), (SOURCE, sources)):
        mount("-t", "overlay", "overlay", "-o",
              f"lowerdir={lower},upperdir={folder}/upper,workdir={folder}/work", folder / "merged", refused=77)
    seen = view / "merged"
    for name in ("source", "cache"):
        (seen / "mnt" / name).mkdir(parents=True)
    mount("--bind", sources / "merged", seen / "mnt/source")
    cache = os.environ.get("OMPTIER_CACHE") or os.environ.get("XDG_CACHE_HOME", os.path.expanduser("~/.cache")) + "/omptier"
    mount("--bind", cache, seen / "mnt/cache")
    mount("--rbind", "/proc", seen / "proc")
    mount("--rbind", "/dev", seen / "dev")
    print(f"{len(names)} packages of the set {chosen.set}; {count} files of others hidden", flush=True)
    environment = {"HOME": "/mnt", "OMPTIER_CACHE": "/mnt/cache", "LANG": "C.UTF-8",
                   "PATH": "/usr/sbin:/usr/bin:/sbin:/bin"}
    script = f"cd /mnt/source && ./bootstrap configure {chosen.set} || {{ cat build/bootstrap.log; exit 1; }}"
    if chosen.set == "tools":
        script += SMALLER_AGAIN
    return subprocess.run(["chroot", seen, "sh", "-c", script], env=environment, stdin=subprocess.DEVNULL).returncode


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("set", choices=["tools", "demo"])
    parser.add_argument("--folder", type=Path, required=True, help="where the view is mounted while this runs")
    parser.add_argument("--inside", action="store_true", help=argparse.SUPPRESS)
    chosen = parser.parse_args()
    if chosen.inside:
        return inside(chosen)
    if shutil.which("dpkg-query") is None or shutil.which("unshare") is None:
        print("hidden: no dpkg-query or unshare here")
        return 77
    chosen.folder.mkdir(parents=True, exist_ok=True)
    own = ["unshare", "--mount", "--propagation", "private", *([] if os.geteuid() == 0 else ["--map-root-user"])]
    if subprocess.run([*own, "true"], capture_output=True).returncode != 0:
        print("hidden: no namespace of mounts can be made here")
        return 77
    done = subprocess.run([*own, sys.executable, __file__, chosen.set, "--folder", chosen.folder.resolve(), "--inside"])
    return done.returncode if done.returncode in (0, 77) else 1


if __name__ == "__main__":
    sys.exit(main())
