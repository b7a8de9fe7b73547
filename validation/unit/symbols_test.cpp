// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Names of frames: this test's own functions, inlined ones too, the ordinal of a call and back, and
// what a source line assigns to.
#include "objects_calls.hpp"

#include "objects/modules.hpp"
#include "symbols/elf_calls.hpp"
#include "symbols/functions.hpp"
#include "symbols/source_line.hpp"
#include "symbols/symbols.hpp"

#include <cstring>
#include <gtest/gtest.h>

using namespace omptier;

namespace {

ModuleInfo as_info(const LoadedModule& module) {
  return {identity_of(module), module.name, module.path, module.bias, module.system};
}

Frame frame_of(ReturnAddress address, ModuleInfo& info) {
  const LoadedModule* module = nullptr;
  Frame frame;
  EXPECT_TRUE(identify(address, module, frame.offset));
  info = as_info(*module);
  return frame;
}

} // namespace

TEST(Symbols, FunctionLineAndOrdinalAndBack) {
  calls::Stack first, second;
  calls::wrapper_twice(first, second);
  Symbols symbols;
  ModuleInfo info;
  const Frame one = frame_of(first[1], info), two = frame_of(second[1], info);
  const ResolvedFrame a = symbols.resolve(info, one.offset), b = symbols.resolve(info, two.offset);
  ASSERT_TRUE(a.known);
  EXPECT_EQ(a.portable.function.rfind("calls::wrapper_twice(", 0), 0u) << a.portable.function;
  EXPECT_EQ(a.portable.function, b.portable.function);
  EXPECT_EQ(a.portable.callee, "calls::wrapper()");
  EXPECT_EQ(a.portable.calls, 2u);
  EXPECT_EQ(a.portable.ordinal, 0u);
  EXPECT_EQ(b.portable.ordinal, 1u);
  EXPECT_EQ(a.portable.variable, "first");
  EXPECT_EQ(b.portable.variable, "second");
  EXPECT_EQ(a.portable.file, "objects_calls.cpp");
  EXPECT_GT(a.portable.line, 0u);
  EXPECT_LT(a.portable.line, b.portable.line);
  EXPECT_EQ(symbols.find_call(info, a.portable)->offset, one.offset);
  EXPECT_EQ(symbols.find_call(info, b.portable)->offset, two.offset);
  EXPECT_TRUE(symbols.problems().empty());
}

TEST(Symbols, CallOfAnotherBuildIsFoundByWhatIsSureAndElseToldWhyNot) {
  calls::Stack first, second;
  calls::wrapper_twice(first, second);
  Symbols symbols;
  ModuleInfo info;
  const Frame one = frame_of(first[1], info), two = frame_of(second[1], info);
  const PortableFrame known = symbols.resolve(info, two.offset).portable;
  const auto find = [&](auto change) {
    PortableFrame frame = known;
    change(frame);
    const auto found = symbols.find_call(info, frame);
    return found ? found->offset == one.offset   ? std::string("first")
                   : found->offset == two.offset ? std::string("second")
                                                 : std::string("another")
                 : found.error();
  };
  const std::string name = known.function;
  // The variable decides, wherever the call stands now.
  EXPECT_EQ(find([](PortableFrame& f) { f.ordinal = 0; }), "second");
  EXPECT_EQ(find([](PortableFrame& f) { f.ordinal = 7, f.calls = 9; }), "second");
  EXPECT_EQ(find([](PortableFrame& f) { f.variable = "first"; }), "first");
  EXPECT_EQ(find([](PortableFrame& f) { f.variable = "renamed"; }),
            "call 2 of calls::wrapper() in " + name + " is no longer assigned to renamed");
  // Without it the place does, if the number of calls is the same.
  EXPECT_EQ(find([](PortableFrame& f) { f.variable = ""; }), "second");
  EXPECT_EQ(find([](PortableFrame& f) { f.variable = "", f.calls = 3; }),
            name + " makes 2 calls of calls::wrapper() now, not 3");
  EXPECT_EQ(find([](PortableFrame& f) { f.variable = "", f.calls = 0, f.ordinal = 2; }),
            name + " makes only 2 calls of calls::wrapper() now");
  EXPECT_EQ(find([](PortableFrame& f) { f.variable = "", f.calls = 0; }), "second");
  EXPECT_EQ(find([](PortableFrame& f) { f.callee = "free"; }), name + " makes no call of free now");
  EXPECT_EQ(find([](PortableFrame& f) { f.function = "no_such_function"; }),
            "there is no function no_such_function now");
  EXPECT_EQ(find([](PortableFrame& f) { f.callee = "", f.calls = 0; }),
            "the plan does not say which call it is");
}

TEST(Symbols, FortranNamesAreAsPeopleWriteThem) {
  EXPECT_EQ(demangle("__solver_MOD_setup"), "solver::setup");
  EXPECT_EQ(demangle("__solver_MOD_sweep._omp_fn.0"), "solver::sweep._omp_fn.0");
  EXPECT_EQ(demangle("_QMsolverPsetup"), "solver::setup");
  EXPECT_EQ(demangle("_QMsolverFsetupPinner"), "solver::setup::inner");
  EXPECT_EQ(demangle("solver_mp_setup_"), "solver::setup");
  EXPECT_EQ(demangle("_ZN6solver5setupEv"), "solver::setup()");
  EXPECT_EQ(demangle("f"), "f"); // the name of a type where names are mangled
  for (const char* other : {"setup_", "__MOD_", "__solver_MOD_", "_mp_x_", "x_mp__", "_QM", "main"})
    EXPECT_EQ(demangle(other), other);
}

TEST(Symbols, SuffixesOfPartsAndCopies) {
  EXPECT_EQ(without_suffixes("make"), "make");
  EXPECT_EQ(without_suffixes("make.cold"), "make");
  EXPECT_EQ(without_suffixes("make.part.0.cold"), "make");
  EXPECT_EQ(without_suffixes("_Z4makei.constprop.12.isra.0"), "_Z4makei");
  EXPECT_EQ(without_suffixes("make.llvm.14467"), "make");
  EXPECT_EQ(without_suffixes("omp_alloc@OMP_5.0"), "omp_alloc");
  // Functions of their own.
  EXPECT_EQ(without_suffixes("main._omp_fn.0"), "main._omp_fn.0");
  EXPECT_EQ(without_suffixes("main._omp_fn.0.cold"), "main._omp_fn.0");
  EXPECT_EQ(without_suffixes("main.omp_outlined.1"), "main.omp_outlined.1");
  EXPECT_EQ(without_suffixes(".cold"), ".cold");
  EXPECT_EQ(without_suffixes("a.7"), "a.7");
  EXPECT_EQ(without_suffixes("7"), "7");
  EXPECT_EQ(without_suffixes(""), "");
}

TEST(Symbols, WhereCallsAndStubsGo) {
  // call +0x10; call *0x20(%rip); call *%rax; call *8(%rax); nop
  const std::uint8_t code[] = {0xe8, 0x10, 0,    0,    0,    0xff, 0x15, 0x20, 0,
                               0,    0,    0xff, 0xd0, 0xff, 0x50, 0x08, 0x90};
  const auto calls = calls_in(code, 0x1000);
  ASSERT_EQ(calls.size(), 4u);
  EXPECT_EQ(calls[0].behind, 0x1005u);
  EXPECT_EQ(calls[0].goes, Call::Goes::to_address);
  EXPECT_EQ(calls[0].target, 0x1015u);
  EXPECT_EQ(calls[1].goes, Call::Goes::through_slot);
  EXPECT_EQ(calls[1].target, 0x102bu);
  EXPECT_EQ(calls[2].goes, Call::Goes::elsewhere);
  EXPECT_EQ(calls[3].goes, Call::Goes::elsewhere);
  // endbr64; bnd jmp *0x100(%rip)
  const std::uint8_t stub[] = {0xf3, 0x0f, 0x1e, 0xfa, 0xf2, 0xff, 0x25, 0, 1, 0, 0};
  EXPECT_EQ(slot_of_stub(stub, 0x2000), 0x210bu);
  EXPECT_FALSE(slot_of_stub(code, 0x1000));
  EXPECT_FALSE(slot_of_stub({}, 0x1000));
}

TEST(Symbols, OtherBuildIsSaidNotGuessed) {
  Symbols symbols;
  refresh_modules();
  ModuleInfo info = as_info(module_at(0));
  EXPECT_EQ(identity_of_file(info.path), info.identity);
  info.identity = "build-id:00";
  EXPECT_FALSE(symbols.resolve(info, 0x1000).known);
  ASSERT_EQ(symbols.problems().size(), 1u);
  EXPECT_NE(symbols.problems()[0].find("built anew"), std::string::npos);
  EXPECT_EQ(label_of_site(symbols, {info}, {{0, 0x1000}}), info.name + "+0x1000");
  EXPECT_EQ(label_of_region(symbols, {info}, {}), "outside of regions");
  EXPECT_EQ(identity_of_file("/etc/passwd"), "");
}

TEST(Symbols, AssignedNames) {
  EXPECT_EQ(variable_of_line("  double* grid = (double*)omp_alloc(n, h);"), "grid");
  EXPECT_EQ(variable_of_line("  grids->nuclide[i + 1] = omp_alloc(n,"), "nuclide");
  EXPECT_EQ(variable_of_line("  this->values_ = static_cast<T*>(omp_alloc(n, h));"), "values_");
  EXPECT_EQ(variable_of_line("#pragma omp allocate(table) allocator(h)"), "table");
  EXPECT_EQ(variable_of_line("  return omp_alloc(n, h);"), "");
  EXPECT_EQ(variable_of_line("  if ((p = omp_alloc(n, h)) == NULL)"), "");
  EXPECT_EQ(variable_of_line("  if (a == b)"), "");
  EXPECT_EQ(variable_of_line("  total += f(omp_alloc(n, h));"), "");
  EXPECT_EQ(variable_of_line("  // x = omp_alloc"), "");
  const std::string both = "a = make(n); b = make(n);";
  EXPECT_EQ(variable_of_line(both, 5), "a");
  EXPECT_EQ(variable_of_line(both, 18), "b");
  EXPECT_EQ(variable_of_line("", 7), "");
  EXPECT_EQ(variable_of_line("  long sum = 0, *table = omp_alloc(n, h);"), "table");
}

// column: of the name or the parenthesis that a compiler points at.
std::string variable_at(const std::string& line, const char* pointed_at) {
  return variable_of_line(line, static_cast<std::uint32_t>(line.find(pointed_at) + 1));
}

TEST(Symbols, VariablesOfContainersAndOfArgumentsAreFound) {
  EXPECT_EQ(variable_of_line("  std::vector<double> grid(n, 1.0);"), "grid");
  EXPECT_EQ(variable_at("  std::vector<double> grid(n, 1.0);", "grid"), "grid");
  EXPECT_EQ(variable_at("  std::vector<double> grid(n, 1.0);", ");"), "grid");
  EXPECT_EQ(variable_at("  std::vector<double> a(n), b(n);", "b("), "b");
  EXPECT_EQ(variable_at("  std::vector<std::vector<int>> rows{n};", "rows"), "rows");
  for (const char* one : {"x(n)", "b(f(n), 1)", "r (n)", "p{n}"}) { // gcc points at the end
    const std::string line = "  std::vector<double> x(n), b(f(n), 1), r (n), p{n};";
    const auto column = line.find(one) + std::strlen(one);
    EXPECT_EQ(variable_of_line(line, static_cast<std::uint32_t>(column)), std::string(one, 1));
  }
  EXPECT_EQ(variable_at("  explicit Field(int n) : cells(n), rows(n) {}", "), rows"), "cells");
  EXPECT_EQ(variable_at("  explicit Field(int n);", "Field"), "");
  EXPECT_EQ(variable_at("  run(make(n), make(m));", ");"), "");
  EXPECT_EQ(variable_at("  Solver solver(n);", "solver("), "solver");
  EXPECT_EQ(variable_at("  Solver(int n) : count(n), grid(n) {}", "grid("), "grid");
  EXPECT_EQ(variable_at("  Solver(int n) : grid(n) {}", "grid("), "grid");
  EXPECT_EQ(variable_at("  run(); field.density.resize(n);", "resize"), "density");
  EXPECT_EQ(variable_at("  field->rows[i].assign(n, 0); a.resize(2);", "(n"), "rows");
  EXPECT_EQ(variable_at("  owner.reset(new double[n]);", "new"), "owner");
  EXPECT_EQ(variable_of_line("  int error = posix_memalign((void **)&grid, 64, n);"), "grid");
  EXPECT_EQ(variable_of_line("  if (posix_memalign(&s->grid, 64, n) != 0) return 1;"), "grid");
  EXPECT_EQ(variable_of_line("  cudaMallocManaged(&grid, n);"), "grid");
  EXPECT_EQ(variable_of_line("  allocate(grid(n, m), stat=error)"), "grid");
  EXPECT_EQ(variable_of_line("  ALLOCATE( self%field%grid(0:n) )"), "grid");
  EXPECT_EQ(variable_of_line("  allocate(real(8) :: grid(n))"), "grid");
  for (const char* says_nothing :
       {"  allocate(a(n), b(n))", "  deallocate(grid)", "  return make(n);", "  call setup(n)",
        "  run(grid, n);", "  std::sort(a.begin(), a.end());", "  throw Error(n);", "  }"})
    EXPECT_EQ(variable_of_line(says_nothing), "") << says_nothing;
  EXPECT_EQ(variable_of_line(std::string(100000, '(')), "");
}

TEST(FortranStatement, GoesOverContinuationLines) {
  const std::vector<std::string> free_form = {"  n = 5",
                                              "  allocate(grid(n, m), & ! '&' the grid",
                                              "    & field%rho(n), &",
                                              "    stat=error)",
                                              "  print *, 'a!b&'",
                                              "  x = 1"};
  for (const std::size_t line : {1, 2, 3})
    EXPECT_EQ(fortran_statement(free_form, line, FortranForm::free),
              "allocate(grid(n, m), field%rho(n), stat=error)");
  EXPECT_EQ(fortran_statement(free_form, 4, FortranForm::free), "print *, 'a!b&'");
  EXPECT_EQ(fortran_statement(free_form, 9, FortranForm::free), "");
  const std::vector<std::string> fixed = {"C     comment", "      allocate(grid(n),",
                                          "     &  rho(n))", "      x = 1"};
  EXPECT_EQ(fortran_statement(fixed, 2, FortranForm::fixed), "allocate(grid(n), rho(n))");
  EXPECT_EQ(fortran_statement(fixed, 3, FortranForm::fixed), "x = 1");
  EXPECT_EQ(fortran_form("/a.b/solver.F90"), FortranForm::free);
  EXPECT_EQ(fortran_form("solver.f"), FortranForm::fixed);
  EXPECT_EQ(fortran_form("solver.c"), FortranForm::none);
}

TEST(FortranStatement, NamesAllArraysItAllocates) {
  EXPECT_EQ(arrays_allocated("allocate(grid(n, m), field%rho(n), stat=error)"), "grid, rho");
  EXPECT_EQ(arrays_allocated("allocate(a(n), b(n), c(n), d(n))"), "a, b, c, …");
  EXPECT_EQ(arrays_allocated("allocate(grid(n))"), "");
  EXPECT_EQ(arrays_allocated("allocate(a(n), b(n)); allocate(c(n), d(n))"), "");
  EXPECT_EQ(arrays_allocated("deallocate(a, b)"), "");
  EXPECT_EQ(variable_of_line("allocate(a(n)); allocate(b(n))"), "");
}
