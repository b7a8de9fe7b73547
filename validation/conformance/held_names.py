#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Profiles hold their names. moved: report and advice are the same to the byte when program and source were changed and
# built anew, when they are gone, and for two profiles joined; not with --no-names, nor by --resolve. ends: forked
# children, and a program that was killed. full: where names cannot be written, the profile stays as it was.
# held_names.py CASE --omptier PATH --compiler CC --source FILE
import difflib
import pathlib
import resource
import shutil

from recording import check, run_case


def build(bench, change=""):
    """The program from a copy of its source, in which everything lies a line below per line of change."""
    source = bench.folder / pathlib.Path(bench.options.source).name
    source.write_text(change + pathlib.Path(bench.options.source).read_text())
    program = bench.folder / "held"
    bench.run(bench.options.compiler, "-g", "-O2", "-fopenmp", f"-L{bench.libraries}", source, "-o", program)
    return source, program


def said(bench, *profiles, options=()):
    """All that report and advise say of the profiles."""
    advise = [bench.omptier, "advise", *profiles, "--machine", "xeon-max-flat", "--capacity", "hbm:2M,dram:1G",
              "--threads", "2", *options]
    commands = [[bench.omptier, "report", *profiles, *options], [bench.omptier, "report", "--json", *profiles, *options],
                [bench.omptier, "report", "--blocks", "--csv", *profiles, *options],
                [bench.omptier, "report", "--object", "held_names", *profiles, *options], advise + ["--json"],
                advise + ["-o", "plan.json"]]
    done = [bench.run(*command, status=None) for command in commands]
    return [one.stdout + one.stderr for one in done] + [(bench.folder / "plan.json").read_text()]


def same(one, other, when):
    lines = difflib.unified_diff("\n".join(one).split("\n"), "\n".join(other).split("\n"), lineterm="", n=0)
    check(one == other, when + ":\n" + "\n".join(lines))


def case_moved(bench):
    source, program = build(bench)
    bench.record(program, options=("--rate", "500"))
    bench.record(program, options=("--rate", "500"), log="again.profile")
    bench.record(program, options=("--rate", "500", "--no-names"), log="without.profile")
    one, joined = said(bench, "p.profile"), said(bench, "p.profile", "again.profile")
    check(f"({source.name}:" in one[0], f"no names of the source:\n{one[0]}")
    same(one, said(bench, "p.profile", options=["--resolve"]), "held names and those of now")
    printed = "as a Fortran module" if source.suffix == ".f90" else "as C source"
    check(printed in one[-2], f"not {printed}, though it is {source.name}:\n{one[-2]}")
    check(one[-2].count("The same as ") == 1, f"in several languages:\n{one[-2]}")
    without = said(bench, "without.profile")
    check(f"({source.name}:" in without[0], f"no names of the source:\n{without[0]}")

    comment = "! \n" if source.suffix == ".f90" else "// \n"
    build(bench, change=3 * comment)
    same(one, said(bench, "p.profile"), "after a rebuild")
    bench.run("strip", program)
    same(one, said(bench, "p.profile"), "after strip")
    now = said(bench, "p.profile", options=["--resolve"])
    check(now != one and "was built anew" in now[0], f"--resolve: {now[0]}")
    source.unlink()
    program.unlink()
    same(one, said(bench, "p.profile"), "without program and source")
    same(joined, said(bench, "p.profile", "again.profile"), "joined, without program and source")
    late = said(bench, "without.profile")
    check("cannot be read" in late[0] and f"({source.name}:" not in late[0], f"--no-names: {late[0]}")


def case_ends(bench):
    source, program = build(bench)
    bench.record(program, "fork", log="%p.profile")
    profiles = sorted(path.name for path in bench.folder.glob("*.profile"))
    check(len(profiles) == 2, f"profiles {profiles}")
    bench.record(program, "killed", log="killed.log", status=137)
    before = [bench.text(log) for log in (*profiles, "killed.log")]
    source.unlink()
    program.unlink()
    for log, text in zip((*profiles, "killed.log"), before):
        check(f"mesh/density ({source.name}:" in text, f"{log}: {text}")
        check(bench.text(log) == text, f"{log}: {bench.text(log)}")


def case_full(bench):
    _, program = build(bench)
    hard = resource.getrlimit(resource.RLIMIT_FSIZE)[1]
    for _ in range(5):
        done = bench.run("prlimit", f"--fsize=1024:{'unlimited' if hard < 0 else hard}", bench.omptier, "record", "-o",
                         "p.profile", "--", program, "unlimited")
        if "limit is reached" not in done.stderr:  # before the program came to lift it
            break
    line = "p.profile holds no names: File too large"
    check(done.stderr.count(line) == 1, f"not said: {done.stderr}")
    size = (bench.folder / "p.profile").stat().st_size
    check("mesh/density" in bench.text(), bench.text())
    shutil.copy(bench.folder / "p.profile", bench.folder / "copy.profile")
    check(size > 1024 and "cut off" not in bench.run(bench.omptier, "report", "copy.profile").stderr, "the profile is cut")


run_case(globals(), "compiler", "source")
