#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# A plan that names barriers by function and callee is found in the program (omptier run), and moves the arrays of
# barriers_cases.c at these barriers, while the whole team waits: values stay right, and the counts agree.
import os
import re
import shutil

from trial import check, clean_environment, enter_fresh, parser, run

ROUNDS, MIB_OF_ARRAY = 40, 8
options = parser("omptier", "runtime", "made-up", "program", "barrier", "folder").parse_args()
plan = open(os.path.join(os.path.dirname(os.path.abspath(__file__)), "barriers.plan")).read()
enter_fresh(options.folder)
with open("names.plan", "w") as file:
    file.write(plan.replace("__kmpc_barrier", options.barrier))

libraries = os.path.dirname(options.runtime)
said = run(options.omptier, "run", "--plan", "names.plan", "--", options.program, "keep", "found.plan",
           env=clean_environment(LD_LIBRARY_PATH=libraries))
found = open("found.plan").read()
check("build-id:00" not in found and found.count(f'"{options.barrier}"') == 2,
      f"not all entries were found in this build:\n{said.stderr}{found}")

os.mkdir("lib")
shutil.copy(os.path.realpath(options.runtime), "lib/libomp.so")
shutil.copy(options.made_up, "lib/libomptier.so")
for name in ("libomp.so.5", "libgomp.so.1"):
    os.symlink("libomp.so", f"lib/{name}")


def run_with(plan, *, moves):
    """The program's words, and by label of the plan's entries what was moved."""
    done = run(options.program, str(ROUNDS), env=clean_environment(
        LD_LIBRARY_PATH=os.path.abspath("lib"), OMPTIER_PLAN=plan, OMPTIER_VERBOSE="1", OMPTIER_JOB="off"))
    check("values right" in done.stdout, done.stdout)
    check("pages moved while threads worked 0\n" in done.stdout, done.stdout)
    in_place = [int(count) for count in re.search(r"in place (\d+) and (\d+) of", done.stdout).groups()]
    moved = {label: (int(count), int(mib)) for label, count, mib in
             re.findall(r'"([^"]*)": (\d+) moves, (\d+) MiB', done.stderr)}
    check(bool(moved) == moves, f"moved: {moved}\n{done.stderr}")
    return in_place, moved


in_place, moved = run_with("found.plan", moves=True)
print(in_place, moved)
for number, label in enumerate(("first", "second")):
    # A few rounds are compared with memory at home.
    check(in_place[number] >= ROUNDS / 2, f"{label} was in HBM in {in_place[number]} sweeps of {ROUNDS}")
    count, mib = moved[f"{label}, swept"]
    check(mib == count * MIB_OF_ARRAY, f"{label}: {count} moves, {mib} MiB")
    check(abs(count - in_place[number]) <= 1, f"{label}: {count} moves in, in place {in_place[number]} times")

# The same frames, but said to be begins of regions: barriers are not asked.
with open("begins.plan", "w") as file:
    file.write(found.replace(f'"{options.barrier}"', '"GOMP_parallel"'))
in_place, moved = run_with("begins.plan", moves=False)
check(in_place == [0, 0], f"in place without moves: {in_place}")
