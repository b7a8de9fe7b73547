# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Libraries that bring an OpenMP runtime of their own, as Python's packages do: copies of GCC's under
other names, each seen by its own library only. Every library's constructs go to its own runtime, whether
the program is recorded or the preload library merely stands there, and the regions are in the report.

    private_runtimes.py --omptier PATH --preload LIBRARY --compiler gcc"""
import pathlib

from recording import Recorder, check, parser

options = parser("omptier", "preload", "compiler").parse_args()
bench = Recorder(options)
folder = bench.folder

PLUGIN = """
#include <omp.h>
long sum(long n) {
  long total = 0, threads = 0;
#pragma omp parallel num_threads(3) reduction(+ : total, threads)
  {
    threads += 1;
#pragma omp for schedule(dynamic)
    for (long i = 0; i < n; ++i)
      total += i * (omp_get_num_threads() == 3);
#pragma omp barrier
  }
  return total * 10 + threads;
}
"""
PROGRAM = """
#include <dlfcn.h>
#include <stdio.h>
int main(int count, char** libraries) {
  for (int i = 1; i < count; ++i) {
    void* library = dlopen(libraries[i], RTLD_NOW | RTLD_LOCAL);
    long (*sum)(long) = library != NULL ? (long (*)(long))dlsym(library, "sum") : NULL;
    if (sum == NULL) return 3;
    for (int k = 0; k < 5; ++k)
      printf("%ld\\n", sum(1000));
  }
  return 0;
}
"""


def run(*command, **more):
    return bench.run(*map(str, command), **more).stdout


def library(letter):
    """A library on a copy of libgomp whose name has that letter."""
    original = pathlib.Path(run(options.compiler, "-print-file-name=libgomp.so.1").strip()).resolve()
    data = original.read_bytes()
    assert data.count(b"libgomp.so.1\0") == 1
    (folder / f"libgom{letter}.so.1").write_bytes(data.replace(b"libgomp.so.1\0", b"libgom%c.so.1\0" % ord(letter)))
    name = folder / f"plugin_{letter}.so"
    # -fopenmp when compiling only: the link would add the runtime of that name.
    run(options.compiler, "-O2", "-g", "-fPIC", "-fopenmp", "-c", folder / "plugin.c", "-o", folder / "plugin.o")
    run(options.compiler, "-shared", folder / "plugin.o", folder / f"libgom{letter}.so.1", "-Wl,-rpath,$ORIGIN", "-o", name)
    return name


(folder / "plugin.c").write_text(PLUGIN)
(folder / "program.c").write_text(PROGRAM)
program = folder / "program"
run(options.compiler, "-O2", folder / "program.c", "-o", program, "-ldl")
libraries = [library("a"), library("b")]
bare = run(program, *libraries)
check(bare == "4995003\n" * 10, f"without us: {bare}")
preloaded = run(program, *libraries, LD_PRELOAD=options.preload)
recorded = bench.record(*map(str, [program, *libraries])).stdout
check(bare == preloaded == recorded, f"other results: {preloaded} {recorded}")
regions = bench.report()["regions"]
entries = sorted(region["entries"] for region in regions if region["entries"] > 0 and region.get("threads") == 3)
check(entries == [5, 5], f"entries {entries} of {regions}")
