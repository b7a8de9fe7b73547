#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What libomp says and does when libomptier.so is absent, broken, of another version, or reached by links.

    check_loading.py --program ALLOCATORS.C --compiler clang-19 --runtime FOLDER --counting LIBRARY

In every case the program must run and print what it prints with the library; what differs is one line on
stderr, in libomp's form: none when the library is absent, a warning when it is there and unusable (unless
KMP_WARNINGS is off), a note when OMPTIER_VERBOSE asks for one.
"""

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--program", type=Path, required=True)
    parser.add_argument("--compiler", required=True)
    parser.add_argument("--runtime", type=Path, required=True)
    parser.add_argument("--counting", type=Path, required=True)
    chosen = parser.parse_args()
    wrong = []

    with tempfile.TemporaryDirectory() as name:
        work = Path(name).resolve()
        program = work / "program"
        subprocess.run([chosen.compiler, "-fopenmp", chosen.program, "-o", program], check=True)

        def folder(case, library):
            """A folder with the runtime and, beside it, library: a file to copy, bytes, or nothing."""
            made = work / case
            made.mkdir()
            shutil.copy(chosen.runtime / "libomp.so", made)
            (made / "libomp.so.5").symlink_to("libomp.so")
            if isinstance(library, bytes):
                (made / "libomptier.so").write_bytes(library)
            elif library is not None:
                shutil.copy(library, made / "libomptier.so")
            return made

        def run(path, cwd=work, **variables):
            environment = {key: value for key, value in os.environ.items()
                           if not key.startswith(("OMP", "KMP_", "COUNTING_"))}
            environment.update(variables, LD_LIBRARY_PATH=str(path))
            return subprocess.run([program], env=environment, cwd=cwd, stdout=subprocess.PIPE,
                                  stderr=subprocess.PIPE, text=True)

        log = work / "log"
        whole = folder("whole", chosen.counting)
        expected = run(whole, COUNTING_LOG=str(log))

        def check(case, done, said):
            """said: words that the one line on stderr holds, or None for silence."""
            lines = done.stderr.splitlines()
            if done.returncode != 0 or done.stdout != expected.stdout:
                wrong.append(f"{case}: status {done.returncode}, printed {done.stdout!r}")
            if said is None and lines or said is not None and (
                    len(lines) != 1 or not all(word in lines[0] for word in said)):
                wrong.append(f"{case}: said {lines}, expected {said or 'nothing'}")

        check("present", expected, None)
        if not log.read_text().startswith("attach\n"):
            wrong.append(f"present: the library was not attached: {log.read_text()!r}")

        absent = folder("absent", None)
        check("absent", run(absent), None)
        check("absent, verbose", run(absent, OMPTIER_VERBOSE="1"), ["OMP: Info #5100", "absent/libomptier.so", "not there"])
        check("absent, verbose off", run(absent, OMPTIER_VERBOSE="0"), None)

        broken = folder("broken", b"")
        check("broken", run(broken), ["OMP: Warning #5100", "broken/libomptier.so", "too short"])
        check("broken, warnings off", run(broken, KMP_WARNINGS="off"), None)
        check("another version", run(whole, COUNTING_REFUSES="1"), ["OMP: Warning #5100", "another version"])
        check("no such symbol", run(folder("foreign", chosen.runtime / "libomp.so")), ["OMP: Warning #5100"])

        # Reached by a link from elsewhere, the library is the one beside the real file; by a relative
        # LD_LIBRARY_PATH too.
        for case, make in (("linked", lambda at: (at / "libomp.so.5").symlink_to(whole / "libomp.so")),):
            elsewhere = work / case
            elsewhere.mkdir()
            make(elsewhere)
            log.unlink()
            check(case, run(elsewhere, COUNTING_LOG=str(log)), None)
            if not log.is_file():
                wrong.append(f"{case}: the library beside the real file was not found")
        log.unlink()
        check("relative", run("whole", COUNTING_LOG=str(log)), None)
        if not log.is_file():
            wrong.append("relative: the library was not found")

    for line in wrong:
        print(f"check_loading: {line}", file=sys.stderr)
    return 1 if wrong else 0


sys.exit(main())
