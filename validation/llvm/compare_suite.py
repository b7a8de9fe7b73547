#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runs LLVM's own OpenMP tests on the patched runtime and compares each result with the unpatched one's.

    compare_suite.py --builder "COMMAND..." --library {FILE|none} --memkind {visible|hidden}
                     [--jobs N] PART...

PART is a folder or a prefix of test names below openmp/runtime/test ("api", "parallel/bug54082"), or
"." for all of them. COMMAND is build-runtime with its arguments; it finds or makes both runtimes.
--library is what lies beside the patched libomp as libomptier.so. memkind: whether libomp can load
libmemkind.so, which changes its allocator; hidden puts an empty library of that name before it, visible
demands that there is one.

The unpatched results are kept in the cache by everything they depend on: source, compiler and options of
the runtime, number of processors, memkind, tests. A test whose result differs is run again, alone, three
times on each side (some of LLVM's tests measure time, and the machine may be busy): it counts as
different unless the patched runtime then shows nothing that the unpatched one does not.

Exit status: 0 the same, test by test; 1 a difference; 125 could not be run.
"""

import argparse
import collections
import hashlib
import json
import os
import shlex
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

sys.dont_write_bytecode = True
sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "openmp-ext"))
from build_cache import Failure, environment  # noqa: E402

CLANG_BIN_CANDIDATES = ["/usr/lib/llvm-19/bin"]


def say(text):
    print("-- " + text, flush=True)


def llvm_tools():
    """FileCheck and not, of the version that builds the runtime."""
    for folder in CLANG_BIN_CANDIDATES:
        if all((Path(folder) / tool).is_file() for tool in ("FileCheck", "not")):
            return Path(folder)
    raise Failure("FileCheck and not are missing; install llvm-19-tools")


def lit_program(cache):
    """lit from PyPI in an environment of its own; version 20 no longer runs these tests."""
    return environment(cache / "lit-venv", "lit", "lit<20", "psutil") / "bin/lit"


def built(builder, variant):
    done = subprocess.run([*builder, variant], stdout=subprocess.PIPE, text=True)
    if done.returncode != 0:
        raise Failure(f"{builder[-1]} {variant} failed (see above)")
    return Path(done.stdout.strip())


def real_memkind():
    probe = "import ctypes; ctypes.CDLL('libmemkind.so')"
    return subprocess.run([sys.executable, "-c", probe], stderr=subprocess.DEVNULL).returncode == 0


class Runtime:
    """A folder with one runtime under its names, as a test sees it, and lit's configuration for it."""

    def __init__(self, work, result, source, library, memkind, tools):
        self.folder = work
        lib = work / "lib"
        lib.mkdir(parents=True)
        shutil.copy(result / "lib/libomp.so", lib)
        for name in ("libgomp.so", "libiomp5.so", "libomp.so.5", "libgomp.so.1"):
            (lib / name).symlink_to("libomp.so")
        if library is not None:
            shutil.copy(library, lib / "libomptier.so")
        if memkind == "hidden":
            subprocess.run(["cc", "-shared", "-x", "c", "/dev/null", "-o", lib / "libmemkind.so"], check=True)
        settings = json.loads((result / "lit.json").read_text())
        (work / "test").mkdir()
        lines = [f"config.{name} = {value}" for name, value in settings.items()]
        lines += [
            "config.test_c_compiler = 'clang-19'", "config.test_cxx_compiler = 'clang++-19'",
            f"config.test_filecheck = {str(tools / 'FileCheck')!r}", f"config.test_not = {str(tools / 'not')!r}",
            f"config.libomp_obj_root = {str(work / 'test')!r}", f"config.library_dir = {str(lib)!r}",
            f"config.omp_header_directory = {str(result / 'include')!r}",
            # What the files of newer LLVMs ask for beside.
            "config.compiler_frontend_variant = 'GNU'", "config.compiler_simulate_id = ''",
            "config.test_fortran_compiler = ''", f"config.llvm_tools_dir = {str(tools)!r}",
            f"lit_config.load_config(config, {str(source / 'openmp/runtime/test/lit.cfg')!r})",
        ]
        (work / "test/lit.site.cfg").write_text("\n".join(lines) + "\n")

    def results(self, lit, names, jobs):
        """{test: PASS, FAIL, …} of the tests named, or below the prefixes named."""
        output = self.folder / "results.json"
        output.unlink(missing_ok=True)
        environment = {name: value for name, value in os.environ.items()
                       if not name.startswith(("OMP_", "KMP_", "OMPTIER_", "GOMP_", "LD_"))}
        pattern = "|".join("^libomp :: " + name.replace(".", r"\.") for name in names) if names != ["."] else "."
        done = subprocess.run([lit, "-q", f"-j{jobs}", "--timeout", "180", "--output", output,
                               f"--filter={pattern}", self.folder / "test"], env=environment,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        if not output.is_file():
            raise Failure("lit failed: " + (done.stdout.strip().splitlines() or ["no output"])[-1])
        found = {test["name"].removeprefix("libomp :: "): test["code"]
                 for test in json.loads(output.read_text())["tests"]}
        if not found:
            raise Failure(f"no test matches {' '.join(names)}")
        return found


def reference(cache, stock, lit, names, jobs, key_parts):
    """The unpatched results, from the cache or made now."""
    key = hashlib.sha256("\0".join(key_parts + names).encode()).hexdigest()[:16]
    path = cache / "libomp/reference" / f"{key}.json"
    if path.is_file():
        return json.loads(path.read_text())
    say("unpatched results are not in the cache: running the tests on the unpatched runtime")
    found = stock.results(lit, names, jobs)
    path.parent.mkdir(parents=True, exist_ok=True)
    fresh = path.with_suffix(f".{os.getpid()}")
    fresh.write_text(json.dumps(found, indent=1))
    fresh.rename(path)
    return found


def settle(name, expected, found, stock, patched, lit):
    """Whether a difference is the machine's doing: alone, the patched side shows nothing that the
    unpatched side does not show too. Says what was seen."""
    alone = {"unpatched": set(), "patched": set()}
    for _ in range(3):
        for side, runtime in (("unpatched", stock), ("patched", patched)):
            alone[side].add(runtime.results(lit, [name], 1).get(name, "absent"))
    agree = alone["patched"] <= alone["unpatched"]
    say(f"{name}: unpatched {expected}, patched {found}; three times alone: unpatched "
        f"{'/'.join(sorted(alone['unpatched']))}, patched {'/'.join(sorted(alone['patched']))}"
        + (": the same" if agree else ": DIFFERENT"))
    return agree


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--builder", required=True)
    parser.add_argument("--library", required=True)
    parser.add_argument("--memkind", choices=["visible", "hidden"], required=True)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("parts", nargs="+")
    chosen = parser.parse_args()
    library = None if chosen.library == "none" else Path(chosen.library)
    try:
        if library is not None and not library.is_file():
            raise Failure(f"{library} is not there; build it first")
        if chosen.memkind == "visible" and not real_memkind():
            raise Failure("libmemkind.so cannot be loaded here; install libmemkind-dev")
        tools = llvm_tools()
        builder = shlex.split(chosen.builder)
        stock_result, patched_result = built(builder, "stock"), built(builder, "patched")
        source = Path(built(builder, "source"))
        cache = stock_result.parent.parent
        lit = lit_program(cache)
        with tempfile.TemporaryDirectory(prefix="omptier-llvm-") as name:
            stock = Runtime(Path(name) / "stock", stock_result, source, None, chosen.memkind, tools)
            patched = Runtime(Path(name) / "patched", patched_result, source, library, chosen.memkind, tools)
            processors = len(os.sched_getaffinity(0))
            expected = reference(cache, stock, lit, chosen.parts, chosen.jobs,
                                 [stock_result.name, str(processors), chosen.memkind])
            found = patched.results(lit, chosen.parts, chosen.jobs)
            different = [test for test in sorted(expected.keys() | found.keys())
                         if expected.get(test, "absent") != found.get(test, "absent")]
            wrong = [test for test in different
                     if not settle(test, expected.get(test, "absent"), found.get(test, "absent"), stock, patched, lit)]
    except Failure as failure:
        print(f"compare_suite: {failure}", file=sys.stderr)
        return 125
    counts = collections.Counter(found.values())
    say(f"{len(found)} tests, library {'present' if library else 'removed'}, memkind {chosen.memkind}: "
        + ", ".join(f"{count} {code}" for code, count in counts.most_common())
        + f"; {len(found) - len(wrong)} as unpatched, {len(wrong)} different")
    return 1 if wrong else 0


sys.exit(main())
