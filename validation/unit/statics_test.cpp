// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Statics found by name in this very program, and in damaged copies of it.
#include "objects/statics.hpp"

#include <cstdio>
#include <fstream>
#include <gtest/gtest.h>
#include <iterator>
#include <string>
#include <sys/stat.h>
#include <unistd.h>

char statics_test_global[70001];
char statics_test_initialised[70002] = {1};
const char statics_test_constant[70003] = {1};

using namespace omptier;

namespace {

char file_local[70004];
volatile char keep; // what nobody reads might be left out

const LoadedModule& program() {
  refresh_modules();
  keep = file_local[keep & 1] + statics_test_global[1] + statics_test_initialised[2] +
         statics_test_constant[keep & 3];
  return module_at(0);
}

TEST(Statics, AreFoundWithTheirPlaceAndSize) {
  StaticObject found;
  ASSERT_EQ(find_static(program(), "statics_test_global", found), StaticSearch::found);
  EXPECT_EQ(found.begin, reinterpret_cast<std::uintptr_t>(statics_test_global));
  EXPECT_EQ(found.bytes, sizeof statics_test_global);
  EXPECT_FALSE(found.in_file);
  ASSERT_EQ(find_static(program(), "statics_test_initialised", found), StaticSearch::found);
  EXPECT_EQ(found.begin, reinterpret_cast<std::uintptr_t>(statics_test_initialised));
  EXPECT_TRUE(found.in_file);
  // As the linker knows it: in an anonymous namespace of C++.
  ASSERT_EQ(find_static(program(), "_ZN12_GLOBAL__N_110file_localE", found), StaticSearch::found);
  EXPECT_EQ(found.begin, reinterpret_cast<std::uintptr_t>(file_local));
}

TEST(Statics, WhatIsNoneIsUnknown) {
  StaticObject found;
  for (const char* name : {"main", "statics_test_globa", "", "malloc"})
    EXPECT_EQ(find_static(program(), name, found), StaticSearch::unknown) << name;
  LoadedModule nowhere;
  nowhere.path = "/nonexistent/library.so";
  nowhere.identified.store(2);
  EXPECT_EQ(find_static(nowhere, "x", found), StaticSearch::no_symbols);
}

TEST(Statics, ListHoldsTheLargeWritableOnes) {
  std::string names;
  ASSERT_TRUE(list_statics(
      "/proc/self/exe", 70000,
      [](void* argument, const NamedStatic& named) {
        *static_cast<std::string*>(argument) +=
            std::string(named.symbol) + " " + std::to_string(named.bytes) + "\n";
      },
      &names));
  EXPECT_NE(names.find("statics_test_global 70001\n"), std::string::npos) << names;
  EXPECT_NE(names.find("statics_test_initialised 70002\n"), std::string::npos) << names;
  EXPECT_NE(names.find("file_localE 70004\n"), std::string::npos) << names;
  EXPECT_EQ(names.find("statics_test_constant"), std::string::npos) << names;
}

TEST(Statics, DamagedFilesFindNothingAndDoNotCrash) {
  std::ifstream file("/proc/self/exe", std::ios::binary);
  const std::string whole((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  ASSERT_GT(whole.size(), 4096u);
  const std::string path = "/tmp/omptier-statics-" + std::to_string(::getpid());
  LoadedModule damaged;
  damaged.path = path.c_str();
  damaged.identified.store(2);
  damaged.begin = 0;
  damaged.end = std::uintptr_t{1} << 40;
  const auto write = [&](const std::string& text) {
    std::ofstream(path, std::ios::binary | std::ios::trunc) << text;
    StaticObject found;
    (void)find_static(damaged, "statics_test_global", found);
    (void)list_statics(path.c_str(), 1, [](void*, const NamedStatic&) {}, nullptr);
  };
  for (std::size_t length : {0, 1, 63, 64, 65, 4096})
    write(whole.substr(0, length));
  write(whole.substr(0, whole.size() - 100));
  // Every byte of the header, and of the table of sections, which the header says where it is.
  std::uint64_t sections = 0;
  whole.copy(reinterpret_cast<char*>(&sections), 8, 40);
  for (std::size_t at = 32; at < 64; ++at) {
    std::string text = whole;
    text[at] = static_cast<char>(text[at] ^ 0xff);
    write(text);
  }
  for (std::size_t at = sections; at < whole.size(); at += 131) {
    std::string text = whole;
    text[at] = static_cast<char>(text[at] ^ 0xff);
    write(text);
  }
  ::unlink(path.c_str());
}

} // namespace
