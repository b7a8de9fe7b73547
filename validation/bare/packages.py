#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Which packages ./bootstrap names on a machine that has none of them, where the archive has them all or lacks some.
dpkg-query and apt-cache are made up, so the machine's own packages do not matter."""
import os
import subprocess
import sys
import tempfile
from pathlib import Path

SOURCE = Path(__file__).resolve().parents[2]


def named(archive_lacks):
    with tempfile.TemporaryDirectory() as folder:
        for name, text in (("dpkg-query", "exit 1"),
                           ("apt-cache", f'case " {archive_lacks} " in *" $2 "*) exit 100 ;; esac')):
            program = Path(folder) / name
            program.write_text(f"#!/bin/sh\n{text}\n")
            program.chmod(0o755)
        environment = dict(os.environ, PATH=f"{folder}:{os.environ['PATH']}")
        run = subprocess.run([SOURCE / "bootstrap", "list", "test"], capture_output=True, text=True, env=environment)
        assert run.returncode == 0, run.stderr
        return run.stdout.split()


def main():
    text = (SOURCE / "bootstrap").read_text()
    listed = [line.split()[0] for line in text.split("cat <<LIST\n")[1].split("\nLIST\n")[0].splitlines() if len(line.split()) > 1]
    chosen = [name for name in listed if "|" in name]
    assert chosen, "no package of the list has a choice"
    everything = named("")
    for name in chosen:
        first = name.split("|")[0]
        assert first in everything, f"{first} is not named where the archive has it"
        lacking = named(first)
        assert first not in lacking or name.endswith(first), f"{first} is named where the archive lacks it"
        second = name.split("|")[1]
        assert second == "-" or second in lacking, f"{second} is not named in place of {first}"
    assert all(name in everything for name in listed if "|" not in name)
    print(f"{len(listed)} packages, {len(chosen)} with a choice: {', '.join(chosen)}")


if __name__ == "__main__":
    sys.exit(main())
