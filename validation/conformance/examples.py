#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Tests of the example programs; one test a run: examples.py TEST --bin … --source … --runtime …

Every test prints what it compared, and ends with status 1 at the first difference.
"""

import argparse
import json
import os
import pathlib
import re
import subprocess
import tempfile

import trial
from trial import fail

MIB = 1 << 20


def run(program, *arguments, environment=None, status=0):
    """Runs a program; the status must be as given. Returns (stdout, stderr)."""
    result = trial.run(program, *arguments, status=status, env={**os.environ, **(environment or {})})
    return result.stdout, result.stderr


def facts(text):
    """The "name value" lines of a report."""
    return dict(line.split()[:2] for line in text.splitlines() if line and line[0] != "#")


def same(what, results):
    """results: what was run -> value. All must be equal."""
    if len(set(results.values())) != 1:
        fail(f"{what} differs: {results}")
    print(f"{what}: {len(results)} runs, all {next(iter(results.values()))}")


def checksum_of_lookups(options):
    results = {}
    for program in ("neutron_lookup", "neutron_lookup-gcc"):
        for threads in ("1", "2", "4"):
            for schedule in ("static", "dynamic,7", "guided"):
                out, _ = run(options.bin / program, "--size", "tiny", "--threads", threads,
                             environment={"OMP_SCHEDULE": schedule})
                results[program, threads, schedule] = facts(out)["checksum"]
        variants = [["--reverse-order"], ["--mark"], ["--verify"]]
        if options.runtime == "extended":
            variants += [["--allocator", "extended"], ["--place", "nuclide=hbm,index=nvm"],
                         ["--place", "unionized=cxl,nuclide=auto,index=dram", "--reverse-order"]]
        for variant in variants:
            out, _ = run(options.bin / program, "--size", "tiny", *variant)
            results[program, *variant] = facts(out)["checksum"]
            if "--verify" in variant and facts(out)["verified"] != "yes":
                fail(f"{program} does not verify")
    same("neutron_lookup checksum", results)
    other = facts(run(options.bin / "neutron_lookup", "--size", "tiny", "--seed", "2")[0])
    if other["checksum"] in results.values():
        fail("another seed gives the same checksum")


def checksum_of_alternating(options):
    for pattern in ("random", "stream"):
        results = {}
        for program in ("alternating", "alternating-gcc"):
            for threads in ("1", "2", "4"):
                out, _ = run(options.bin / program, "--bytes", "1M", "--pattern", pattern,
                             "--threads", threads)
                results[program, threads] = facts(out)["checksum"]
            out, _ = run(options.bin / program, "--bytes", "1M", "--pattern", pattern, "--barriers")
            results[program, "barriers"] = facts(out)["checksum"]
        same(f"alternating {pattern} checksum", results)


def test_checksum(options):
    checksum_of_lookups(options)
    checksum_of_alternating(options)


REFUSED = {
    "neutron_lookup": [
        ["--frobnicate"], ["extra"], ["--size"], ["--size", "huge"], ["--bytes", "1x"],
        ["--bytes", "-1"], ["--bytes", "1K"], ["--bytes", ""], ["--bytes", "99999999999999999999"],
        ["--bytes", "60T"], ["--nuclides", "36"], ["--nuclides", "4097"], ["--gridpoints", "1"],
        ["--lookups", "0"], ["--threads", "0"], ["--threads", "two"], ["--seed", "-1"],
        ["--allocator", "other"], ["--place", "nuclide"], ["--place", "nuclide=ram"],
        ["--place", "grid=hbm"], ["--place", ""], ["--place", "nuclide=hbm,,index=nvm"],
        ["--try", "nuclide"], ["--try", "grid=hbm"],
        ["--bytes", "8M", "--gridpoints", "9"], ["--allocator", "plain", "--place", "index=dram"],
    ],
    "alternating": [
        ["--frobnicate", "1"], ["--bytes"], ["--bytes", "1K"], ["--bytes", "1x"],
        ["--bytes", "40T"], ["--rounds", "0"], ["--rounds", "4K"], ["--sweeps", "-1"],
        ["--pattern", "other"], ["--threads", "x"], ["--barriers", "--compute", "1"],
    ],
}


def test_options(options):
    count = 0
    for program, cases in REFUSED.items():
        for variant in (program, program + "-gcc"):
            for arguments in cases:
                out, err = run(options.bin / variant, *arguments, status=2)
                if out or len(err.splitlines()) != 1 or not err.startswith(program + ": "):
                    fail(f"{variant} {arguments}: not one line on stderr: {out!r} {err!r}")
                count += 1
            out, err = run(options.bin / variant, "--help")
            if err or not out.startswith("usage: " + program):
                fail(f"{variant} --help")
    print(f"{count} bad command lines refused, one line each, status 2")


def test_sizes(options):
    """Bytes as promised; the nuclide grid is 6 to 9 % of them, as the placement proofs assume."""
    for arguments, least, most in ((["--size", "tiny"], 7, 9), (["--size", "small"], 72, 80),
                                   (["--bytes", "64M"], 62, 64), (["--bytes", "100M"], 98, 100)):
        out, _ = run(options.bin / "neutron_lookup", *arguments, "--lookups", "100")
        found = {name: int(value) for name, value in facts(out).items() if name[:6] == "bytes_"}
        parts = [found[f"bytes_{array}_grid"] for array in ("index", "unionized", "nuclide")]
        if sum(parts) != found["bytes_total"]:
            fail(f"{arguments}: parts do not add up: {found}")
        if not least * MIB <= found["bytes_total"] <= most * MIB:
            fail(f"{arguments}: {found['bytes_total']} bytes, expected {least} to {most} MiB")
        share = found["bytes_nuclide_grid"] / found["bytes_total"]
        if not 0.06 <= share <= 0.09:
            fail(f"{arguments}: nuclide grid is {share:.3f} of all bytes")
        print(f"{' '.join(arguments)}: {found['bytes_total']} bytes, nuclide grid {share:.1%}")
    small = facts(run(options.bin / "neutron_lookup", "--lookups", "1")[0])
    if int(small["bytes_nuclide_grid"]) < 4 * MIB:
        fail("the default nuclide grid is under 4 times the virtual machine's last-level cache")


def test_json(options):
    """JSON says what the lines say."""
    arguments = ["--size", "tiny", "--verify", "--where"]
    lines = facts(run(options.bin / "neutron_lookup", *arguments)[0])
    found = json.loads(run(options.bin / "neutron_lookup", *arguments, "--json")[0])
    if list(found) != list(lines):
        fail(f"names differ: {list(found)} and {list(lines)}")
    for name, value in found.items():
        if not name.endswith(("_seconds", "_per_second")) and not name.startswith("range_") and str(value) not in (
                lines[name], str(float(lines[name])) if "." in lines[name] else ""):
            fail(f"{name}: {value} and {lines[name]}")
    print(f"{len(found)} facts agree")


def test_alone(options):
    """The compile lines of examples/README.md work in a folder of their own, and the programs run."""
    readme = (options.source / "examples" / "README.md").read_text()
    lines = re.findall(r"^    ((?:clang|gcc|g\+\+|gfortran)\S* .*)$", readme, re.MULTILINE)
    if len(lines) < 4:
        fail(f"README.md has only {len(lines)} compile lines")
    libraries = {**os.environ, "LIBRARY_PATH": str(options.bin.resolve().parent / "lib")}
    if options.runtime != "extended":
        lines = [line for line in lines if "-lomptier" not in line]
    with tempfile.TemporaryDirectory() as folder:
        for line in lines:
            program = re.search(r"-o \.\./(\S+)", line).group(1)  # beside examples/, which has folders of these names
            target = pathlib.Path(folder) / program
            command = line.replace(f"-o ../{program}", f"-o {target}")
            if line.startswith("gfortran"):
                command += f" -J {folder}"
            result = subprocess.run(command, shell=True, cwd=options.source / "examples",
                                    env=libraries if "-lomptier" in line else None,
                                    capture_output=True, text=True, timeout=240)
            if result.returncode != 0:
                fail(f"{line}\n{result.stderr}")
            print(f"built: {line}")
            if program == "neutron_lookup":
                run(target, "--size", "tiny", "--verify", environment={"LD_LIBRARY_PATH": ""})


def test_interfaces(options):
    """The examples of the C, C++ and Fortran interfaces run, and say what their README promises."""
    if options.runtime != "extended":
        fail("these examples need OMPTier's runtime")
    for program in ("declare", "declare-gcc"):
        out, _ = run(options.bin / program, "8")
        if "3 of 3 as wished" not in out or "decided at ompx_commit" not in out:
            fail(f"{program}:\n{out}")
        run(options.bin / program, "1", status=2)
    for program in ("containers", "containers-gcc"):
        out, _ = run(options.bin / program)
        if "50021 keys" not in out or "DRAM: preferred, ompx_auto_mem_space" not in out:
            fail(f"{program}:\n{out}")
    for program in ("chunked", "chunked-gcc"):
        for loop in (["multiply", "--size", "100", "--chunk", "33"],
                     ["stencil", "--size", "24", "--sweeps", "2", "--chunk", "5"]):
            out, _ = run(options.bin / program, *loop, "--check")
            if "check passed" not in out:
                fail(f"{program}:\n{out}")
        run(options.bin / program, "multiply", "--chunk", "0", status=2)
    out, _ = run(options.bin / "stencil")
    if "heat left: 62001" not in out:
        fail(f"stencil:\n{out}")
    print("declare, containers, chunked, stencil: as promised")


def main():
    tests = {name[5:]: value for name, value in globals().items() if name.startswith("test_")}
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("test", choices=sorted(tests))
    parser.add_argument("--bin", type=pathlib.Path, required=True)
    parser.add_argument("--source", type=pathlib.Path, required=True)
    parser.add_argument("--runtime", choices=("stock", "extended"), required=True)
    options = parser.parse_args()
    tests[options.test](options)


if __name__ == "__main__":
    main()
