// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Reading ELF files: what is in them, and that damaged ones end in fewer facts, never in a crash.
#include "cli/check_elf.hpp"

#include <algorithm>
#include <fstream>
#include <gtest/gtest.h>
#include <iterator>
#include <sys/mman.h>
#include <unistd.h>

namespace omptier {
namespace {

std::string program(const char* name) {
  return CHECK_PROGRAMS "/" + std::string(name);
}

TEST(ElfFacts, OfAProgram) {
  const auto facts = read_elf(program("new-runtime"));
  ASSERT_TRUE(facts) << facts.error();
  EXPECT_TRUE(facts->same_machine && facts->executable && facts->dynamic && facts->interpreter);
  EXPECT_NE(std::ranges::find(facts->needed, "libgomp.so.1"), facts->needed.end());
  EXPECT_TRUE(facts->undefined_symbols.contains("omp_brand_new"));
  EXPECT_NE(std::ranges::find_if(facts->needed_versions,
                                 [](const NeededVersion& v) {
                                   return v.library == "libgomp.so.1" && v.version == "OMP_9.9";
                                 }),
            facts->needed_versions.end());
  EXPECT_EQ(facts->build_id.size(), 40u);
  EXPECT_FALSE(facts->debug_lines);
  EXPECT_TRUE(read_elf(program("debug"))->debug_lines);
  EXPECT_TRUE(read_elf(program("no-id"))->build_id.empty());
}

TEST(ElfFacts, OfALibrary) {
  const auto facts = read_elf(program("new/libgomp.so.1"));
  ASSERT_TRUE(facts) << facts.error();
  EXPECT_FALSE(facts->executable);
  EXPECT_TRUE(facts->defined_versions.contains("OMP_9.9"));
  EXPECT_TRUE(facts->defined_symbols.contains("omp_brand_new"));
  EXPECT_FALSE(read_elf(program("old/libgomp.so.1"))->defined_versions.contains("OMP_9.9"));
}

TEST(ElfFacts, RpathOnlyWhereItIsHonoured) {
  EXPECT_EQ(read_elf(program("rpath"))->rpath, "/nowhere:$ORIGIN/old");
  EXPECT_EQ(read_elf(program("runpath"))->rpath, "");
  EXPECT_EQ(read_elf(program("plain"))->rpath, "");
}

TEST(ElfFacts, StaticHasNoInterpreter) {
  const auto facts = read_elf(program("static"));
  ASSERT_TRUE(facts) << facts.error();
  EXPECT_FALSE(facts->interpreter);
}

TEST(ElfFacts, WhatIsNoElfIsOneLine) {
  const std::string path = testing::TempDir() + "check-not-elf";
  std::ofstream(path) << "hello";
  EXPECT_EQ(read_elf(path).error(), path + ": not an ELF file");
  std::ofstream(path) << "#!/bin/sh\n";
  EXPECT_EQ(read_elf(path).error(),
            path + ": a script, not a program; check the program that it starts");
  std::ofstream(path, std::ios::trunc).close();
  EXPECT_EQ(read_elf(path).error(), path + ": not an ELF file");
  EXPECT_EQ(read_elf("/nonexistent").error(), "/nonexistent: No such file or directory");
}

TEST(ElfFacts, DamagedFilesDoNotCrash) {
  std::ifstream file(program("new-runtime"), std::ios::binary);
  const std::string whole((std::istreambuf_iterator<char>(file)), {});
  ASSERT_GT(whole.size(), 4096u);
  const int file_descriptor = ::memfd_create("damaged", 0);
  ASSERT_GE(file_descriptor, 0);
  const std::string path = "/proc/self/fd/" + std::to_string(file_descriptor);
  const auto read_as = [&](const std::string& bytes) {
    ASSERT_EQ(::ftruncate(file_descriptor, 0), 0);
    ASSERT_EQ(::pwrite(file_descriptor, bytes.data(), bytes.size(), 0),
              static_cast<ssize_t>(bytes.size()));
    const auto facts = read_elf(path);
    if (!facts) {
      EXPECT_EQ(facts.error(), path + ": not an ELF file");
    }
  };
  for (std::size_t length = 0; length < whole.size(); length += 97)
    read_as(whole.substr(0, length));
  unsigned state = 1; // every run damages the same bytes
  for (int round = 0; round < 1000; ++round) {
    std::string damaged = whole;
    for (int i = 0; i < 20; ++i) {
      state = state * 1664525u + 1013904223u;
      damaged[(state >> 8) % damaged.size()] = static_cast<char>(state >> 3);
    }
    if (round % 2 == 0) std::copy_n(whole.begin(), 64, damaged.begin()); // keep the file header
    read_as(damaged);
  }
  ::close(file_descriptor);
}

} // namespace
} // namespace omptier
