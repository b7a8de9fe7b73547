#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# pasted.py c|cpp|fortran --omptier PATH --compilers CC,CC [--module ompx_memory.f90]: the source that omptier advise
# prints, pasted into the program that it was made from where advise says, compiles without a warning, and asks for each
# array in the kind of memory that the plan names.
import json
import pathlib

from recording import Recorder, check, run_case

C = """
#include <stdio.h>
#include <stdlib.h>
#ifdef PASTED
#include <ompx_memory.h>
#include "pasted"
#define allocated(name) omp_alloc(sizeof *name * cells, name##_alloc)
#define freed(name) omp_free(name, name##_alloc)
static int kind_of(void *block) {
  ompx_placement_t where = {.struct_size = sizeof where};
  return ompx_get_placement(block, 0, &where) == ompx_success ? where.wanted_kind : -2;
}
#else
#define allocated(name) malloc(sizeof *name * cells)
#define freed(name) free(name)
static int kind_of(void *block) { return block == NULL; }
#endif
enum { cells = 1 << 20 };
int main(void) {
  double *field = allocated(field);
  double *table = allocated(table);
  unsigned long at = 1;
  for (int i = 0; i < cells; ++i)
    field[i] = table[i] = i;
  for (int round = 0; round < 30; ++round)
    for (int i = 0; i < cells; ++i)
      field[i] += table[(at = at * 6364136223846793005u + 1442695040888963407u) >> 44];
  printf("field %d\\ntable %d\\nsum %g\\n", kind_of(field), kind_of(table), field[1]);
  freed(field);
  freed(table);
  return 0;
}
"""
CPP = """
#include <cstdio>
#include <vector>
#ifdef PASTED
#include <ompx_memory.hpp>
#include "pasted"
using array = std::vector<double, ompx::allocator<double>>;
#define allocator_of(name) , name##_alloc
static int kind_of(array &a) {
  ompx_placement_t where{};
  where.struct_size = sizeof where;
  return ompx_get_placement(a.data(), 0, &where) == ompx_success ? where.wanted_kind : -2;
}
#else
using array = std::vector<double>;
#define allocator_of(name)
static int kind_of(array &a) { return a.empty(); }
#endif
int main() {
  constexpr int cells = 1 << 20;
  array field(cells allocator_of(field));
  array table(cells allocator_of(table));
  unsigned long at = 1;
  for (int round = 0; round < 30; ++round)
    for (int i = 0; i < cells; ++i)
      field[i] += table[(at = at * 6364136223846793005u + 1442695040888963407u) >> 44];
  std::printf("field %d\\ntable %d\\nsum %g\\n", kind_of(field), kind_of(table), field[1]);
}
"""
FORTRAN = """
program lookups
#ifdef PASTED
  use ompx_memory
  use advised_allocators
#else
  use, intrinsic :: iso_fortran_env, only: int64, real64
#endif
  implicit none
  integer, parameter :: cells = 2**20
  integer :: i, round
  integer(int64) :: at = 1
#ifdef PASTED
  real(real64), pointer :: field(:), table(:)
  call make_advised_allocators()
  call ompx_allocate(field, [cells], field_alloc)
  call ompx_allocate(table, [cells], table_alloc)
#else
  real(real64), allocatable :: field(:), table(:)
  allocate (field(cells))
  allocate (table(cells))
#endif
  do i = 1, cells
    field(i) = i
    table(i) = i
  end do
  do round = 1, 30
    do i = 1, cells
      at = iand(at * 1103515245_int64 + 12345_int64, 2147483647_int64)
      field(i) = field(i) + table(1 + ishft(at, -11))
    end do
  end do
#ifdef PASTED
  print '(a, i0)', 'field ', kind_of(field), 'table ', kind_of(table)
  call ompx_deallocate(field)
  call ompx_deallocate(table)
contains
  integer function kind_of(a)
    use, intrinsic :: iso_c_binding, only: c_loc
    real(real64), pointer, intent(in) :: a(:)
    type(ompx_placement) :: where
    kind_of = -2
    if (ompx_get_placement(c_loc(a), 0_c_size_t, where) == ompx_success) kind_of = where%wanted_kind
  end function
#else
  print '(a, f0.1)', 'sum ', field(1)
#endif
end program
"""
KINDS = ("dram", "hbm", "nvm", "cxl")  # ompx_kind_*
ROOM = ("--machine", "dram-hbm-nvm", "--threads", "2", "--capacity", "dram:9M,hbm:0,nvm:1G")


class Bench(Recorder):
    def built(self, name, compiler, source, ending, flags=(), more=()):
        (self.folder / f"{name}{ending}").write_text(source)
        self.run(*compiler.split(), "-O1", "-g", *flags, *more, f"{name}{ending}", "-o", name,
                 *(["-lomptier"] if "-DPASTED" in flags else []))
        return f"./{name}"

    def advised(self, program):
        """What is to be pasted, and each array's kind in the plan."""
        self.record(program, options=("--rate", "1000"))
        text = self.run(self.omptier, "advise", "p.profile", *ROOM, "-o", "p.plan").stdout
        entries = json.loads((self.folder / "p.plan").read_text())["entries"]
        kinds = {entry["label"].split()[0]: entry["kinds"][0] for entry in entries}
        check({"field", "table"} <= kinds.keys(), f"{kinds}")
        check(" source, for file scope" in text or " Fortran module" in text, text)
        pasted = text.split("allocators:\n", 1)[1].split("\n\n", 1)[1].split("\nPlan written to", 1)[0]
        return pasted, kinds

    def asks_as_planned(self, program, kinds):
        wanted = dict(line.split() for line in self.run(self.omptier, "run", "--", program).stdout.splitlines())
        for name in "field", "table":
            check(KINDS[int(wanted[name])] == kinds[name], f"{name}: {wanted[name]}, planned {kinds[name]}")

    def tried(self, source, ending, strict, module=()):
        """By each compiler in turn, itself recorded. module: what a pasted Fortran module is compiled with."""
        include = pathlib.Path(__file__).resolve().parents[2] / "include"
        for number, compiler in enumerate(self.options.compilers.split(",")):
            plain = self.built(f"plain{number}", compiler, source, ending, strict)
            pasted, kinds = self.advised(plain)
            (self.folder / ("pasted.f90" if module else "pasted")).write_text(pasted)
            flags = [*strict, "-fopenmp", "-DPASTED", f"-I{include}",
                     f"-I{pathlib.Path(self.libraries).parent / 'include-omp'}", f"-L{self.libraries}",
                     f"-Wl,-rpath,{self.libraries}", *module]
            program = self.built(f"pasted{number}", compiler, source, ending, flags, ["pasted.f90"] if module else [])
            self.asks_as_planned(program, kinds)
            print(f"{compiler}: {kinds}")


def case_c(bench):
    bench.tried(C, ".c", ["-std=gnu11", "-Wall", "-Wextra", "-Werror"])


def case_cpp(bench):
    bench.tried(CPP, ".cpp", ["-std=c++17", "-Wall", "-Wextra", "-Werror"])


def case_fortran(bench):
    bench.tried(FORTRAN, ".F90", [], [bench.options.module])


run_case(globals(), "compilers", recorder=Bench, optional=["module"])
