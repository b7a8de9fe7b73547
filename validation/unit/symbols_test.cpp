// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Names of frames: this test's own functions, inlined ones too, the ordinal of a call and back, and
// what a source line assigns to.
#include "objects_calls.hpp"

#include "objects/modules.hpp"
#include "symbols/elf_calls.hpp"
#include "symbols/functions.hpp"
#include "symbols/site_name.hpp"
#include "symbols/symbols.hpp"
#include "symbols/variable_in_line.hpp"

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <unistd.h>

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

  // Held by others, they are the same without the module's file.
  Symbols elsewhere;
  elsewhere.hold(symbols.take_answers());
  info.path = "/no such file";
  EXPECT_EQ(elsewhere.resolve(info, two.offset).locations, b.locations);
  EXPECT_EQ(elsewhere.resolve(info, two.offset).portable.variable, "second");
  EXPECT_TRUE(elsewhere.problems().empty());
  EXPECT_FALSE(elsewhere.resolve(info, two.offset + 1).known);
  EXPECT_EQ(elsewhere.problems().size(), 1u);
}

// A copy of this program whose debug information is in a file beside it.
TEST(Symbols, DebugFilesAreLookedForOnThisMachineOnly) {
  char folder[] = "/tmp/symbols-test-XXXXXX";
  ASSERT_NE(mkdtemp(folder), nullptr);
  const std::string copy = folder + std::string("/program"), split = copy + ".debug";
  const std::string self = std::filesystem::read_symlink("/proc/self/exe");
  const std::string no_id = "objcopy --remove-section .note.gnu.build-id ";
  const std::string link = "-g --add-gnu-debuglink=" + split + " ";
  ASSERT_EQ(system((no_id + "--only-keep-debug " + self + " " + split).c_str()), 0);
  ASSERT_EQ(system((no_id + link + self + " " + copy).c_str()), 0);
  calls::Stack first, second;
  calls::wrapper_twice(first, second);
  ModuleInfo info;
  const Frame frame = frame_of(first[1], info);
  info.path = copy;
  info.identity = identity_of_file(copy);
  EXPECT_EQ(Symbols().resolve(info, frame.offset).portable.file, "objects_calls.cpp");
  std::ofstream(split, std::ios::app) << "of another build";
  EXPECT_EQ(Symbols().resolve(info, frame.offset).portable.file, "");
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);)
    EXPECT_EQ(line.find("debuginfod"), line.npos) << line;
  std::filesystem::remove_all(folder);
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

TEST(Symbols, FunctionsFitATable) {
  const std::pair<const char*, const char*> k_names[] = {
      {"main", "main"},
      {"solver::sweep._omp_fn.0", "solver::sweep._omp_fn.0"},
      {"solve(double*) [clone .omp_outlined]", "solve"},
      {"double* make<int>(unsigned long)", "make<int>"},
      {"(anonymous namespace)::Grid::at(int) const", "Grid::at"},
      {"std::_Rb_tree<int, std::pair<int const, long> >::insert(int&&)", "std::_Rb_tree<…>::insert"},
      {"void std::sort<double*, bool (*)(double, double)>(double*, double*)", "std::sort<…>"},
      {"main::{lambda(int, int)#2}::operator()(int, int) const", "main::{lambda#2}::operator()"},
      {"run(int)::Local::step(int) const", "run::Local::step"},
      {"Grid::size() const::{lambda(int)#1}::operator()(int) const",
       "Grid::size::{lambda#1}::operator()"},
      {"bool operator< <int>(Box<int> const&, Box<int> const&)", "operator<<int>"},
      {"std::ostream& operator<< <char>(std::ostream&, char)", "operator<<<char>"},
      {"Grid::operator bool() const", "Grid::operator bool"},
      {"Matrix::operator->()", "Matrix::operator->"},
      {"my_operator(int)", "my_operator"},
      {"broken<a, b, c, d, e", "broken<…>"},
      {"", ""}};
  for (const auto& [whole, in_a_table] : k_names)
    EXPECT_EQ(short_function(whole), in_a_table);
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

// What a call is given stays in a register that other calls preserve, until that is written.
TEST(Symbols, WhatParallelRegionsRun) {
  const std::uint8_t code[] = {
      0x4c, 0x8d, 0x3d, 0x00, 0x01, 0,    0,    // lea 0x100(%rip),%r15
      0x48, 0x8d, 0x15, 0x00, 0x02, 0,    0,    // lea 0x200(%rip),%rdx
      0x4c, 0x89, 0xff,                         // mov %r15,%rdi
      0xe8, 0,    0,    0,    0,                // call
      0x4c, 0x89, 0xff,                         // mov %r15,%rdi
      0xe8, 0,    0,    0,    0,                // call
      0x41, 0x5f,                               // pop %r15
      0x4c, 0x89, 0xff,                         // mov %r15,%rdi
      0xe8, 0,    0,    0,    0,                // call
      0xbf, 0x50, 0x14, 0x40, 0,                // mov $0x401450,%edi
      0xe8, 0,    0,    0,    0,                // call
  };
  const auto calls = calls_in(code, 0x1000);
  ASSERT_EQ(calls.size(), 4u);
  EXPECT_EQ(calls[0].first, 0x1107u);
  EXPECT_EQ(calls[0].third, 0x120eu);
  EXPECT_EQ(calls[1].first, 0x1107u);
  EXPECT_EQ(calls[1].third, 0u);
  EXPECT_EQ(calls[2].first, 0u);
  EXPECT_EQ(calls[3].first, 0x401450u);
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

using Names = std::vector<std::vector<std::string>>;

TEST(FortranStatement, NamesAllArraysItAllocates) {
  EXPECT_EQ(allocated_arrays("allocate(grid(n, m), field%rho(n), stat=error)"),
            (Names{{"grid"}, {"field", "rho"}}));
  EXPECT_EQ(allocated_arrays("allocate (tiles(i)%rho(n / 2, n), tiles(i)%sub(2) % e(n))"),
            (Names{{"tiles", "rho"}, {"tiles", "sub", "e"}}));
  EXPECT_EQ(allocated_arrays("ALLOCATE(real(8) :: grid(n))"), (Names{{"grid"}}));
  EXPECT_EQ(allocated_arrays("allocate(a(n)); allocate(c(n), d(n))"), (Names{{"a"}, {"c"}, {"d"}}));
  EXPECT_EQ(allocated_arrays("deallocate(a, b)"), Names());
  EXPECT_EQ(variable_of_line("allocate(a(n)); allocate(b(n))"), "");
  EXPECT_EQ(arguments_of_call("if (x) call make(plate%inner, n + 1, left)"),
            (Names{{"plate", "inner"}, {}, {"left"}}));
  EXPECT_EQ(arguments_of_call("call domain%fine(2)%init(n)"), (Names{{"domain", "fine"}, {"n"}}));
  EXPECT_EQ(arguments_of_call("call done"), Names());
}

namespace {

// A source file of its own; the places of a site in it are told by what stands there.
class SourceNames : public testing::Test {
protected:
  void write(const std::string& text, const char* ending = ".cpp") {
    file_ = testing::TempDir() + "omptier-names-" + std::to_string(getpid()) + ending;
    std::ofstream(file_) << text;
    text_ = text;
    sources_ = Sources();
  }
  ~SourceNames() override { std::filesystem::remove(file_); }

  SourceLocation at(const std::string& what, CallOrder order = {}) const {
    const auto found = text_.find(what);
    EXPECT_NE(found, std::string::npos) << what;
    SourceLocation location;
    location.file = file_;
    location.line = static_cast<std::uint32_t>(
        1 + std::count(text_.begin(), text_.begin() + static_cast<std::ptrdiff_t>(found), '\n'));
    const auto line = text_.rfind('\n', found);
    location.column = static_cast<std::uint32_t>(found - (line == text_.npos ? text_.npos : line));
    location.order = order;
    return location;
  }
  // The names of a site that goes through these places, innermost first.
  std::string name(const std::vector<SourceLocation>& places) {
    return names_of_site(sources_, places).front().name.name;
  }
  std::string name(const std::string& what) { return name({at(what)}); }

  std::string file_, text_;
  Sources sources_;
};

} // namespace

TEST_F(SourceNames, OfMembersBeginWithTheObject) {
  write(R"(struct Field {
  double* data;
  explicit Field(long n) : n(n), data(new double[n]) {}
};
struct Sim : Base {
  explicit Sim(long n)
      : Base(n), density(n),
        inner(2 * n) {}
  void build(long n) { weights = new float[n]; help(n); }
  void help(long n) { levels[0].nodes.assign(n, 1); }
};
template <typename T> Vector<T>::Vector(long n) : start_(new T[n]) {}
Base::Base(long n) { common = new int[n]; }
int main() {
  Field temperature(n), smoothed(m);
  auto* heat = new Field(k);
  Sim sim(n);
  sim.build(n);
  Vector<double> scores(n);
})");
  EXPECT_EQ(name("new double"), "data");
  EXPECT_EQ(name({at("new double"), at("temperature(n)")}), "temperature/data");
  EXPECT_EQ(name({at("new double"), at("), smoothed")}), "temperature/data"); // gcc's columns
  EXPECT_EQ(name({at("new double"), at("smoothed(m)")}), "smoothed/data");
  EXPECT_EQ(name({at("new double"), at("Field(k)")}), "heat/data");
  EXPECT_EQ(name({at("density(n)"), at("sim(n)")}), "sim/density");
  EXPECT_EQ(name({at("new double"), at("inner(2"), at("sim(n)")}), "sim/inner/data");
  EXPECT_EQ(name({at("new int"), at("Base(n), density"), at("sim(n)")}), "sim/common");
  EXPECT_EQ(name({at("new float"), at("build(n);")}), "sim/weights");
  EXPECT_EQ(name({at("assign(n"), at("help(n); }"), at("build(n);")}), "sim/levels/nodes");
  EXPECT_EQ(name({at("new T"), at("scores(n)")}), "scores/start_");
}

TEST_F(SourceNames, OfHelpersAreTheirCallers) {
  write(R"(#define CALLOC(p, n) (p) = calloc((n), sizeof *(p))
static void* xmalloc(size_t n) {
  void* memory = malloc(n);
  if (!memory) abort();
  return memory;
}
static double* alloc2d(int r, int c) { return (double*)xmalloc(r * c * 8); }
static void make(double** out, size_t n) { *out = malloc(8 * n); }
static int fill(struct grid* g) { return posix_memalign((void**)&g->u, 64, 8); }
static std::vector<Line> table(size_t n) {
  std::vector<Line> lines(n);
  return std::move(lines);
}
static double norm(const Vec& v) {
  std::vector<double> squares(v.size());
  return squares[3];
}
static void grow(std::vector<double>& v, size_t n) { v.resize(n); }
int main() {
  double *a = alloc2d(3, 4), *b = alloc2d(5, 6);
  make(&left, n);
  fill(&coarse.part[2]);
  const auto small = table(5), large = table(6);
  double result = norm(small);
  grow(history, n);
  CALLOC(counts, n);
  use(malloc(9));
  auto lambda = [&](size_t n) { return std::vector<double>(n); };
  auto first = lambda(7);
})");
  const auto memory = at("malloc(n)"), xmalloc = at("xmalloc(r");
  EXPECT_EQ(name({memory}), "memory");
  EXPECT_EQ(name({memory, xmalloc, at("alloc2d(3")}), "a");
  EXPECT_EQ(name({memory, xmalloc, at("alloc2d(5")}), "b");
  EXPECT_EQ(name({at("malloc(8"), at("make(&")}), "left");
  EXPECT_EQ(name({at("posix"), at("fill(&")}), "coarse/part/u");
  EXPECT_EQ(name({at("lines(n)"), at("table(5")}), "small");
  EXPECT_EQ(name({at("lines(n)"), at("table(6")}), "large");
  EXPECT_EQ(name({at("squares(v"), at("norm(small")}), "squares");
  EXPECT_EQ(name({at("resize"), at("grow(history")}), "history");
  EXPECT_EQ(name("CALLOC(counts"), "counts");
  EXPECT_EQ(name("malloc(9"), ""); // what use makes of it is not known
  EXPECT_EQ(name({at("vector<double>(n); }"), at("lambda(7")}), "first");
}

TEST_F(SourceNames, OfSeveralInALineAreToldByTheColumnAlone) {
  write(R"(void solve(long n) {
  std::vector<double> x(n), b(f(n), 1), r{n}, copy = x;
  double *u = new double[n], *v = (double*)malloc(n);
  if ((p = malloc(5)) == NULL) return;
  q = ok ? malloc(6) : NULL, w = malloc(7);
  std::unique_ptr<double[]> owned(new double[8]);
  double (*rows)[n] = malloc(9), (*more)[n][n] = calloc(n, 10);
  auto* made = new std::vector<double>(11);
  shape(rows)[3] = malloc(12);
})");
  EXPECT_EQ(name("malloc(9)"), "rows");
  EXPECT_EQ(name("calloc(n"), "more");
  EXPECT_EQ(name("std::vector<double>(11)"), "made"); // clang's column; gcc's is the end
  EXPECT_EQ(name(");\n  shape"), "made");
  EXPECT_EQ(name("malloc(12)"), "");
  EXPECT_EQ(name("x(n)"), "x");
  EXPECT_EQ(name("), b"), "x");
  EXPECT_EQ(name("b(f"), "b");
  EXPECT_EQ(name("r{n}"), "r");
  EXPECT_EQ(name("x;"), "copy");
  EXPECT_EQ(name("new double[n"), "u");
  EXPECT_EQ(name("malloc(n)"), "v");
  EXPECT_EQ(name("malloc(5)"), "p");
  EXPECT_EQ(name("malloc(6)"), "q");
  EXPECT_EQ(name("malloc(7)"), "w");
  EXPECT_EQ(name("new double[8"), "owned");
}

TEST_F(SourceNames, OfWhatTheCompilerMergedOrTheUserChangedAreNotSaid) {
  write("double norm(long n) {\n  std::vector<double> squares(n);\n  return squares[3];\n}\n"
        "int main() {\n  double result = norm(5);\n}\n");
  SourceLocation hidden;
  hidden.file = "/usr/include/c++/12/bits/new_allocator.h";
  hidden.line = 137;
  hidden.defined_in = file_;
  EXPECT_EQ(name({hidden, at("norm(5)")}), "");
  SourceLocation changed = at("squares(n)");
  changed.changed = true;
  EXPECT_EQ(name({changed}), "");
}

TEST_F(SourceNames, OfFortranFollowTheOrderOfTheStatement) {
  write(
      "module m\ncontains\n  subroutine init(self, n)\n    allocate (self%x(n), &\n      "
      "self%y(n))\n"
      "  end subroutine\nend module\nprogram p\n  call init(plate%inner, 5)\n  call plate%init(7)\n"
      "  allocate (a(n), b(n))\nend program\n",
      ".f90");
  EXPECT_EQ(name({at("allocate (self", {0, 2}), at("call init")}), "plate%inner%x");
  EXPECT_EQ(name({at("self%y", {1, 2}), at("call init")}), "plate%inner%y");
  EXPECT_EQ(name({at("self%y", {1, 2}), at("call plate")}), "plate%y");
  EXPECT_EQ(name({at("allocate (a", {1, 2})}), "b");
  EXPECT_EQ(name({at("allocate (a", {1, 3})}), "a|b"); // not one call for each
  EXPECT_EQ(name({at("allocate (a")}), "a|b");
}
