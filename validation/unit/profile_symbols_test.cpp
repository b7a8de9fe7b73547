// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Names of frames: this test's own functions, inlined ones too, the ordinal of a call and back, and
// what a source line assigns to.
#include "objects_calls.hpp"

#include "objects/modules.hpp"
#include "profile/symbols.hpp"

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
