# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Roots to run commands in: minimal Debian ones, made through the machine's own package sources, and
what every command gets in them. Mounts live in a namespace of the command alone and go with it."""
import os
import shutil
import subprocess
from pathlib import Path

RELEASES = {"12": "bookworm", "13": "trixie"}
SOURCE = Path(__file__).resolve().parents[2]

# enter ROOT FOLDER COMMAND: in namespaces of mounts and processes that are its own.
ENTER = r"""
set -e
mount --bind "$1" "$1"
mount -t proc proc "$1/proc"
mount --rbind /dev "$1/dev"
mount -t tmpfs tmpfs "$1/dev/shm"
mount --rbind /sys "$1/sys"
cat /etc/resolv.conf > "$1/etc/resolv.conf"
exec chroot "$1" sh -c 'cd "$1" && exec sh -c "$2"' sh "$2" "$3"
"""


# A command's own namespaces: what it mounts and starts ends with it.
APART = ["unshare", "--mount", "--propagation", "private", "--pid", "--fork", "--kill-child"]


class Failure(Exception):
    """One line: what failed, where, what to do."""


def why_not():
    """Why no root can be made here; None: it can."""
    if os.geteuid() != 0:
        return "making a root needs root"
    if shutil.which("mmdebstrap") is None:
        return "mmdebstrap is missing (apt-get install mmdebstrap)"
    done = subprocess.run([*APART, "true"], capture_output=True, text=True)
    return None if done.returncode == 0 else f"no namespaces here ({done.stderr.strip()})"


def mirrors():
    """The machine's own sources: URI of Debian's packages, URI of its security updates or None."""
    lines = subprocess.run(["apt-get", "indextargets", "--format", "$(REPO_URI) $(RELEASE) $(CODENAME)",
                            "Created-By: Packages"], capture_output=True, text=True).stdout.splitlines()
    found = [line.split() for line in lines]
    known = set(RELEASES.values())
    main = next((uri for uri, *names in found if known & set(names)), None)
    security = next((uri for uri, *names in found if any(name.endswith("-security") for name in names)), None)
    if main is None:
        raise Failure("the machine's apt sources name no Debian of " + ", ".join(sorted(known)) + "; add one")
    return main, security


def remove(folder):
    """Never through a mount."""
    folder = Path(folder).resolve()
    for line in Path("/proc/self/mountinfo").read_text().splitlines():
        if Path(line.split()[4]).is_relative_to(folder):
            raise Failure(f"something is mounted at {line.split()[4]}; umount it, then remove {folder}")
    shutil.rmtree(folder, ignore_errors=True)


def make(release, folder, log, packages=()):
    """A root of Debian's essential packages and apt, and of the packages named."""
    suite, (main, security) = RELEASES[release], mirrors()
    lines = [f"deb {main} {suite} main", f"deb {main} {suite}-updates main"]
    if security:
        lines.append(f"deb {security} {suite}-security main")
    command = [*APART, "--mount-proc", "mmdebstrap", "--variant=minbase", suite, folder, *lines]
    if packages:
        command.append("--include=" + ",".join(packages))
    if subprocess.run(command, stdout=log, stderr=log).returncode != 0:
        raise Failure(f"no root of Debian {release}: mmdebstrap failed; see {log.name}")


def copy_sources(root, to):
    """What git knows of, as a clone brings it."""
    target = Path(root) / to.lstrip("/")
    target.mkdir(parents=True)
    names = subprocess.run(["git", "-C", SOURCE, "ls-files", "-z"], capture_output=True, check=True).stdout
    packed = subprocess.Popen(["tar", "-C", SOURCE, "--null", "-T", "-", "-cf", "-"], stdin=subprocess.PIPE,
                              stdout=subprocess.PIPE)
    unpacked = subprocess.Popen(["tar", "-C", target, "--no-same-owner", "-xf", "-"], stdin=packed.stdout)
    packed.stdout.close()
    packed.stdin.write(names)
    packed.stdin.close()
    if unpacked.wait() | packed.wait():
        raise Failure(f"the sources could not be copied to {target}")


def run(root, folder, command, log, environment=None):
    """Exit status of the command in that folder of the root."""
    clean = {"HOME": "/root", "LANG": "C.UTF-8", "TERM": "dumb",
             "PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", **(environment or {})}
    line = [*APART, "sh", "-c", ENTER, "enter", str(root), folder, command]
    return subprocess.run(line, stdin=subprocess.DEVNULL, stdout=log, stderr=log, env=clean).returncode
