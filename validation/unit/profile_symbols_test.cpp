// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Names of frames: this test's own functions, inlined ones too, the ordinal of a call and back, and
// what a source line assigns to.
#include "objects_calls.hpp"

#include "objects/modules.hpp"
#include "profile/rebind.hpp"
#include "profile/symbols.hpp"

#include <algorithm>
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
  EXPECT_LT(a.portable.ordinal, b.portable.ordinal);
  EXPECT_EQ(a.portable.file, "objects_calls.cpp");
  EXPECT_GT(a.portable.line, 0u);
  EXPECT_LT(a.portable.line, b.portable.line);
  EXPECT_EQ(symbols.find_call(info, a.portable.function, a.portable.ordinal), one.offset);
  EXPECT_EQ(symbols.find_call(info, b.portable.function, b.portable.ordinal), two.offset);
  EXPECT_FALSE(symbols.find_call(info, a.portable.function, 1000));
  EXPECT_FALSE(symbols.find_call(info, "no_such_function", 0));
  EXPECT_TRUE(symbols.problems().empty());
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

TEST(Rebind, FindsSitesOfAnotherBuildByNames) {
  calls::Stack first, second;
  calls::wrapper_twice(first, second);
  Symbols symbols;
  ModuleInfo info;
  Plan plan;
  plan.modules = {{"build-id:another", "unit_symbols"}, {"build-id:gone", "libgone.so"}};
  for (const calls::Stack& stack : {first, second}) {
    PlanEntry entry;
    entry.label = "array";
    for (std::size_t i = 0; i < 2; ++i) {
      const Frame frame = frame_of(stack[i], info);
      entry.frames.push_back({0, 1, symbols.resolve(info, frame.offset).portable});
    }
    plan.entries.push_back(entry);
  }
  plan.entries.push_back(plan.entries[0]); // a function that is not there
  plan.entries.back().label = "renamed";
  plan.entries.back().frames[1].portable.function = "calls::other()";
  plan.entries.push_back(plan.entries[0]); // a library that is not there
  plan.entries.back().label = "elsewhere";
  plan.entries.back().frames[0].module = 1;
  const std::vector<ModuleInfo> present = modules_of_program(info.path, "");
  ASSERT_GE(present.size(), 2u); // the C library at least
  EXPECT_EQ(present[0].identity, info.identity);
  EXPECT_TRUE(std::any_of(present.begin(), present.end(), [](const ModuleInfo& module) {
    return module.name == "libc.so.6" && module.system;
  }));
  Rebinding rebinding = rebind_plan(plan, present, symbols);
  EXPECT_EQ(rebinding.exact, 0u);
  EXPECT_EQ(rebinding.portable, 2u);
  EXPECT_EQ(rebinding.unmatched, (std::vector<std::string>{"renamed", "elsewhere"}));
  for (std::size_t i = 0; i < 2; ++i) {
    EXPECT_EQ(plan.modules[plan.entries[0].frames[i].module].identity, info.identity);
    EXPECT_EQ(plan.entries[0].frames[i].offset, frame_of(first[i], info).offset);
    EXPECT_EQ(plan.entries[1].frames[i].offset, frame_of(second[i], info).offset);
  }
  plan.entries.resize(2);
  rebinding = rebind_plan(plan, present, symbols);
  EXPECT_EQ(rebinding.exact, 2u);
  EXPECT_TRUE(rebinding.same_build());
  EXPECT_TRUE(modules_of_program("/etc/passwd", "").empty());
}

TEST(Symbols, AssignedNames) {
  EXPECT_EQ(assigned_name("  double* grid = (double*)omp_alloc(n, h);"), "grid");
  EXPECT_EQ(assigned_name("  grids->nuclide[i + 1] = omp_alloc(n,"), "nuclide");
  EXPECT_EQ(assigned_name("  this->values_ = static_cast<T*>(omp_alloc(n, h));"), "values_");
  EXPECT_EQ(assigned_name("#pragma omp allocate(table) allocator(h)"), "table");
  EXPECT_EQ(assigned_name("  return omp_alloc(n, h);"), "");
  EXPECT_EQ(assigned_name("  if ((p = omp_alloc(n, h)) == NULL)"), "");
  EXPECT_EQ(assigned_name("  if (a == b)"), "");
  EXPECT_EQ(assigned_name("  total += f(omp_alloc(n, h));"), "");
  EXPECT_EQ(assigned_name("  // x = omp_alloc"), "");
  const std::string both = "a = make(n); b = make(n);";
  EXPECT_EQ(assigned_name(both, 5), "a");
  EXPECT_EQ(assigned_name(both, 18), "b");
  EXPECT_EQ(assigned_name("", 7), "");
}
