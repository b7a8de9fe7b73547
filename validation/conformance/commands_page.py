#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# commands_page.py --omptier PATH --program neutron_lookup-malloc: docs/commands.md has a section for each subcommand,
# in which it is run; what the page shows runs here in its order, and most lines that it prints begin as on the page.
import os
import pathlib
import re
import shutil
import sys
import tempfile

from trial import check, clean_environment, parser, run

SOURCE = pathlib.Path(__file__).resolve().parents[2]
sys.dont_write_bytecode = True
sys.path.insert(0, str(SOURCE / "validation/bare"))
from page import Page  # noqa: E402

# tune: where there is one kind of memory; calibrate: no figure has confidence after so short a time.
STATUS = {"tune": {0, 1}, "calibrate": {0, 125}}
SHORTER = {"calibrate": ["--time", "0.001"]}
WORDS = 2  # of a line, that must be as on the page
ENOUGH = 0.5  # of the lines


def beginnings(text):
    """Of each line, its first words without figures; lines that are left out or that begin with a figure have none."""
    lines = (re.sub(r"[#*█▉▊▋▌▍▎▏…]|\S*\d\S*", " ", line).split()[:WORDS] for line in text.splitlines())
    return [tuple(words) for words in lines if len(words) == WORDS]


def sections(page):
    """Name -> text, in the page's order."""
    parts = re.split(r"^## (\S+)$", page.text, flags=re.M)
    return dict(zip(parts[1::2], parts[2::2]))


def commands_of(omptier):
    listed = run(omptier, "help").stdout.split("\nCommands:\n")[1]
    return {line.split()[0] for line in listed.splitlines() if line.strip()}


def run_as_shown(words, command, folder, environment):
    name = words[1]
    split = words.index("--") if "--" in words else len(words)
    words = words[:split] + SHORTER.get(name, []) + words[split:]
    done = run(*words, status=None, cwd=folder, env=environment)
    check(done.returncode in STATUS.get(name, {0}), f"{command}: status {done.returncode}\n{done.stdout}{done.stderr}")
    print(f"{command}: {len(done.stdout)} characters")
    return done.stdout + done.stderr


def check_section(name, text, folder, environment):
    shown = [line for line in Page.shown_in(text) if line.startswith("omptier ")]
    check(any(line.split()[1] == name for line in shown), f"the section of {name} does not run it")
    printed = "".join(run_as_shown(line.split(), line, folder, environment) for line in shown)
    blocks = re.findall(r"^```text\n(.*?)^```", text, flags=re.M | re.S)
    wanted, got = [line for block in blocks for line in beginnings(block)], set(beginnings(printed))
    missing = [" ".join(line) for line in wanted if line not in got]
    check(len(missing) <= (1 - ENOUGH) * len(wanted),
          f"{name} prints no lines that begin as on the page: {missing}\n{printed}")


def main():
    options = parser("omptier", "program").parse_args()
    page = Page(SOURCE / "docs/commands.md")
    found, there = sections(page), commands_of(options.omptier)
    check(found.keys() == there,
          f"sections without a command {found.keys() - there}, commands without {there - found.keys()}")
    with tempfile.TemporaryDirectory() as folder:
        shutil.copy(options.program, pathlib.Path(folder) / "my_program")
        path = f"{pathlib.Path(options.omptier).parent}:{os.environ['PATH']}"
        environment = clean_environment(PATH=path, XDG_CONFIG_HOME=folder, OMP_NUM_THREADS="2", LC_ALL="C.UTF-8")
        for name, text in found.items():
            check_section(name, text, folder, environment)


main()
