#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""home.py CASE BUILD SOURCE: OMPTier where people work.

man       the man pages are read by groff without a warning, and name every option of every command
values    what each option of every command takes completes as --help says
help      the pages of docs/ offline; an unknown topic; the pager
bash, zsh, fish   the shell itself completes a command line, from the scripts that are installed
module    the modulefile, by Lmod: loaded, used, unloaded without a trace
packages  the Debian packages: what they hold, and that it works unpacked
"""
import os
import pty
import re
import select
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path


def check(right, text):
    if not right:
        raise SystemExit(f"home.py: {text}")


class Bench:
    def __init__(self, build, source, folder):
        self.build, self.source, self.folder = build, source, folder
        self.scripts = source / "openmp-ext/cli/completion"
        for name in ("my.profile", "sp ace.profile", "co:lon.profile"):
            (folder / name).touch()
        (folder / "prog").write_text("#!/bin/sh\n")
        (folder / "prog").chmod(0o755)
        plain = {name: value for name, value in os.environ.items()
                 if not re.match("(OMPTIER_|PAGER|LESS|MANPATH|MODULE|LMOD|PKG_CONFIG)", name)}
        self.environment = {**plain, "PATH": f"{build}/bin:{plain['PATH']}", "HOME": str(folder), "TERM": "dumb",
                            "LC_ALL": "C.UTF-8"}

    def run(self, *command, status=0, **environment):
        done = subprocess.run(command, cwd=self.folder, env={**self.environment, **environment}, text=True,
                              stdin=subprocess.DEVNULL, capture_output=True)
        check(done.returncode == status, f"{command}: status {done.returncode}\n{done.stdout}{done.stderr}")
        return done

    def commands(self):
        text = self.run("omptier", "--help").stdout
        return re.findall(r"^  ([a-z]+) ", text.split("Subcommands:\n")[1].split("\n\n")[0], re.M)


def case_man(bench):
    folder = bench.build / "share/man/man1"
    pages = sorted(folder.glob("*.1"))
    commands = bench.commands()
    check([page.name for page in pages] == sorted(["omptier.1"] + [f"omptier-{name}.1" for name in commands]),
          f"{folder} has other pages than there are commands")
    for page in pages:
        said = bench.run("groff", "-man", "-Tutf8", "-ww", "-z", page)
        check(not said.stdout + said.stderr, f"{page.name}: {said.stderr}")
    for name in commands:
        shown = bench.run("groff", "-man", "-Tascii", "-P-cbou", folder / f"omptier-{name}.1").stdout
        listed = set(re.findall(r"^\s+((?:-\w,)?--[\w-]+)", bench.run("omptier", name, "--help").stdout, re.M))
        check(listed, f"{name} --help lists no option")
        for option in listed:
            check(option.split(",")[-1] in shown, f"omptier-{name}.1 lacks {option}")
    shown = bench.run("groff", "-man", "-Tascii", "-P-cbou", folder / "omptier.1").stdout
    for variable in re.findall(r"^(OMPTIER_\w+)", bench.run("omptier", "check", "--variables").stdout, re.M):
        check(variable in shown, f"omptier.1 lacks {variable}")


def case_values(bench):
    seen = set()
    for name in bench.commands():
        text = bench.run("omptier", name, "--help").stdout
        for option, word in re.findall(r"^  (?:-\w,)?(--[\w-]+) ([A-Z{]\S*)", text, re.M):
            if word in ("Excludes:", "Needs:"):  # a flag
                continue
            offered = bench.run("omptier", "complete", "--", name, option, "").stdout.splitlines()
            choices = re.search(r"{(.*)}", word)
            if choices:
                check(offered == choices.group(1).split(","), f"{name} {option} {word}: offers {offered}")
                word = "{}"
            elif word == "FILE":
                check(offered == [":files"], f"{name} {option} FILE: offers {offered}")
            elif word in ("MACHINE", "COLUMN", "COLUMN,..."):
                check(len(offered) > 3, f"{name} {option} {word}: offers {offered}")
            else:
                check(not offered, f"{name} {option} {word}: offers {offered}")
            seen.add(word)
    check(seen >= {"{}", "FILE", "MACHINE", "COLUMN", "KIND:SIZE,..."}, f"values are of these kinds only: {seen}")
    machines = bench.run("omptier", "complete", "--", "advise", "--machine", "").stdout.split()
    listed = bench.run("omptier", "sandbox", "--list").stdout
    check(all(re.search(rf"^{machine}\b", listed, re.M) for machine in machines), f"{machines}: not in sandbox --list")


def case_help(bench):
    listed = bench.run("omptier", "help").stdout
    for page in [*(bench.source / "docs").glob("*.md"), bench.source / "README.md"]:
        name = page.stem.lower()
        check(re.search(rf"^  {name} +\S", listed, re.M), f"help lists no {name}")
        check(bench.run("omptier", "help", name).stdout == page.read_text(), f"help {name} shows something else")
    for name in bench.commands():
        check(f"Usage: omptier {name}" in bench.run("omptier", "help", name).stdout, f"help {name}")
    said = bench.run("omptier", "help", "trait", status=2).stderr
    check(said.count("\n") == 1 and "near to it are: traits (" in said, said)
    # On a terminal: the user's pager, told to show bold letters if it is less; none at all is no failure.
    for pager, wanted in (("cat >paged", "# MPI"), ("less >paged", "\033[1m# MPI\033[0m"), ("no-such-pager", "")):
        paged = bench.folder / "paged"
        paged.unlink(missing_ok=True)
        shown = on_terminal(bench, ["omptier", "help", "mpi"], b"", 10, PAGER=pager, TERM="xterm")
        if wanted:
            check(paged.read_text().startswith(wanted), f"{pager}: {paged.read_text()[:40]!r}")
        else:
            check("# MPI" in shown, f"without a pager: {shown!r}")


def on_terminal(bench, command, keys, limit, until=None, **environment):
    """What the command prints on a terminal of its own, to its end, or until the predicate holds."""
    there = shutil.which(command[0], path=bench.environment["PATH"])
    check(there, f"{command[0]} is missing (apt-get install {command[0]})")
    child, terminal = pty.fork()
    if child == 0:
        os.chdir(bench.folder)
        os.execvpe(command[0], command, {**bench.environment, **environment})
    os.write(terminal, keys)
    shown, end = b"", time.monotonic() + limit
    while time.monotonic() < end and not (until and until()):
        if not select.select([terminal], [], [], 0.05)[0]:
            continue
        try:
            shown += os.read(terminal, 65536)
        except OSError:  # its end
            break
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    os.close(terminal)
    return shown.decode(errors="replace")


# A command line, and what one tab makes of it.
LINES = {
    "omptier topo": "omptier topology",
    "omptier record --ev": "omptier record --events",
    "omptier record --events mac": "omptier record --events machine",
    "omptier record --events=mac": "omptier record --events=machine",
    "omptier advise --machine xeon-max-f": "omptier advise --machine xeon-max-flat",
    "omptier run --strategy fir": "omptier run --strategy first-come",
    "omptier help plan": "omptier help plan-format",
    "omptier report my": "omptier report my.profile",
    "omptier record --output=my": "omptier record --output=my.profile",
    "omptier record -o x -- ./pr": "omptier record -o x -- ./prog",
    "omptier record -o x -- ls my": "omptier record -o x -- ls my.profile",
}


# The same of paths that are quoted, have a blank or colon, or begin in the home folder.
PATHS = {
    "omptier report sp": "omptier report sp\\ ace.profile",
    "omptier report sp\\ a": "omptier report sp\\ ace.profile",
    "omptier report 'sp a": "omptier report 'sp ace.profile'",
    "omptier record --output=sp\\ a": "omptier record --output=sp\\ ace.profile",
    "omptier report co:l": "omptier report co:lon.profile",
    "omptier report ~/my": "omptier report ~/my.profile",
}


def compare(shell, got, lines=LINES):
    for line, wanted in lines.items():
        check(got.get(line) == wanted, f"{shell}: {line!r} becomes {got.get(line)!r}, not {wanted!r}")


def case_bash(bench):
    """The function by itself, as bash calls it; then with Debian's bash-completion, which cuts no words."""
    script = f"source {bench.scripts}/omptier.bash\n"
    for line in LINES:
        words = [part for word in line.split() for part in re.split("(=)", word) if part]
        script += (f"COMP_LINE='{line}' COMP_POINT={len(line)} COMP_WORDS=({' '.join(words)}) "
                   f"COMP_CWORD={len(words) - 1}; COMPREPLY=(); _omptier; "
                   f"printf '%s\\t' '{line[:-len(words[-1])]}' ${{COMPREPLY[@]+\"${{COMPREPLY[@]}}\"}}; echo\n")
    said = bench.run("bash", "--norc", "-c", script).stdout.splitlines()
    got = {}
    for line, answer in zip(LINES, said):
        before, *replies = answer.rstrip("\t").split("\t")
        got[line] = before + replies[0] if len(set(replies)) == 1 else replies
    compare("bash", got)

    library = Path("/usr/share/bash-completion/bash_completion")
    check(library.exists(), "bash-completion is missing (apt-get install bash-completion)")
    out = bench.folder / "typed"
    # The tab completes; the function behind ^G writes down what the line has become.
    keys = [f"source {library}; source {bench.scripts}/omptier.bash; "
            f"typed() {{ printf '%s\\n' \"$READLINE_LINE\" >>{out}; READLINE_LINE=; }}; bind -x '\"\\C-g\": typed'\n"]
    lines = LINES | PATHS
    lines["omptier report ~/my"] = f"omptier report {bench.folder}/my.profile"
    keys += [line + "\t\007" for line in lines]
    typed(bench, ["bash", "--norc", "--noprofile", "-i"], keys, out, "bash-completion", lines)


def typed(bench, shell, keys, out, name, lines):
    """Each line, a tab, then a key that writes the line to the file."""
    def done():
        return out.exists() and len(out.read_text().splitlines()) >= len(lines)
    on_terminal(bench, shell, "".join(keys).encode(), 20, done)
    written = out.read_text().splitlines() if out.exists() else []
    compare(name, {line: text.rstrip() for line, text in zip(lines, written)}, lines)


def case_zsh(bench):
    out = bench.folder / "typed"
    keys = [f"fpath=({bench.scripts} $fpath); autoload -Uz compinit; compinit -u -D; "
            f"typed() {{ zle complete-word; print -r -- \"$BUFFER\" >>{out}; BUFFER=; }}; "
            "zle -N typed; bindkey '^I' typed\n"]
    lines = LINES | PATHS
    typed(bench, ["zsh", "-f", "-i"], keys + [line + "\t" for line in lines], out, "zsh", lines)


def case_fish(bench):
    check(shutil.which("fish"), "fish is missing (apt-get install fish)")
    got = {}
    def offered(line):
        script = f"source {bench.scripts}/omptier.fish; complete -C $argv[1]"
        said = bench.run("fish", "--no-config", "-c", script, line)
        return [text.split("\t")[0] for text in said.stdout.splitlines()]
    for line in LINES:
        words = offered(line)
        got[line] = f"{line.rsplit(' ', 1)[0]} {words[0]}" if len(words) == 1 else words
    compare("fish", got)
    for line, wanted in PATHS.items():  # fish itself quotes what it is offered
        wanted = wanted.split(maxsplit=2)[2].replace("\\", "").replace("'", "")
        check(offered(line) == [wanted], f"fish: {line!r} offers {offered(line)}, not {wanted!r}")


def installed(bench):
    prefix = bench.folder / "prefix"
    bench.run("cmake", "--install", bench.build, "--prefix", prefix)
    return prefix


def case_module(bench):
    prefix = installed(bench)
    start = Path("/usr/share/lmod/lmod/init/sh")
    check(start.exists(), "Lmod is missing (apt-get install lmod)")
    environment = "env | grep -v -e '^_' -e LMOD -e ModuleTable -e '^BASH_FUNC' | sort"
    script = f"""
. {start}
module use {prefix}/share/omptier/modulefiles
{environment} >before
module load omptier || exit 1
command -v omptier >where; omptier --version >version; pkg-config --variable=includedir omptier >include
man -w omptier-tune >page
module unload omptier
{environment} >after
"""
    bench.run("bash", "--norc", "-c", script, PATH=os.defpath + ":/usr/sbin:/sbin")
    read = {name: (bench.folder / name).read_text() for name in
            ("before", "after", "where", "version", "include", "page")}
    check(read["where"].strip() == f"{prefix}/bin/omptier", read["where"])
    check(read["version"].startswith("omptier "), read["version"])
    check((Path(read["include"].strip()) / "ompx_memory.h").exists(), read["include"])
    check(read["page"].strip() == f"{prefix}/share/man/man1/omptier-tune.1", read["page"])
    check(read["before"] == read["after"], "unloading leaves a trace:\n" + read["after"])


def case_packages(bench):
    (bench.folder / "packages").mkdir()
    earlier = bench.folder / "packages/omptier_0.9.0_amd64.deb"
    earlier.touch()
    bench.run("sh", "-c", 'umask 077 && exec cpack "$@"', "cpack", "-B", bench.folder / "packages", "--config",
              bench.build / "CPackConfig.cmake")
    held, root = {}, bench.folder / "root"
    for package in (bench.folder / "packages").glob("*.deb"):
        name = bench.run("dpkg-deb", "-f", package, "Package").stdout.strip()
        listed = bench.run("dpkg-deb", "-c", package).stdout.splitlines()
        check(all(line.startswith("drwxr-xr-x") for line in listed if line[0] == "d"), f"{package}: a closed folder")
        held[name] = {line.split()[5].removeprefix("./usr/") for line in listed if not line.startswith("d")}
        bench.run("dpkg-deb", "-x", package, root)
    check(not earlier.exists(), "a package of an earlier version is left")
    check(sorted(held) == ["omptier", "omptier-dev", "omptier-machine"], f"packages: {sorted(held)}")
    check(sum(map(len, held.values())) == len(set.union(*held.values())), "a file is in two packages")
    prefix = installed(bench)
    files = {str(path.relative_to(prefix)) for path in prefix.rglob("*") if not path.is_dir()}
    check(set.union(*held.values()) == files, f"not both packed and installed: {files ^ set.union(*held.values())}")
    for name, file in (("omptier", "bin/omptier"), ("omptier-dev", "include/ompx_memory.h"),
                       ("omptier-machine", "lib/omptier/libomptier_timing.so")):
        check(file in held[name], f"{file} is not in {name}")
    # Nothing may lie where the loader or a compiler would take it for every program.
    libraries = {file for file in files if re.search(r"\.so(\.|$)", file)}
    check(libraries and all(file.startswith("lib/omptier/") for file in libraries), f"{libraries}")
    depends = bench.run("dpkg-deb", "-f", *(bench.folder / "packages").glob("omptier_*.deb"), "Depends").stdout
    check("libhwloc15" in depends and "libc6" in depends, depends)
    depends = bench.run("dpkg-deb", "-f", *(bench.folder / "packages").glob("omptier-machine_*.deb"), "Depends").stdout
    check(re.search(r"qemu-system-x86 \(>= 1:\d+\.\d+\), qemu-system-x86 \(<< 1:\d+\)", depends), depends)
    search = (root / "usr/lib/pkgconfig/omptier.pc").read_text()
    check("installed_libdir=/usr/lib/omptier\n" in search, search)
    # Unpacked elsewhere it works.
    said = bench.run(root / "usr/bin/omptier", "run", "--strategy", "first-come", "--", "sh", "-c",
                     "grep -q root/usr/lib/omptier/libomptier_preload.so /proc/self/maps && echo placed")
    check(said.stdout == "placed\n", said.stderr)
    check(bench.run(root / "usr/bin/omptier", "help", "traits").stdout.startswith("# "), "no pages")


def main():
    case, build, source = sys.argv[1], Path(sys.argv[2]), Path(sys.argv[3])
    folder = build / "tests/home" / case
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    globals()[f"case_{case}"](Bench(build, source, folder))
    shutil.rmtree(folder)


if __name__ == "__main__":
    main()
