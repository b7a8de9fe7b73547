// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Structures that grew since their first release, between programs and libraries of all ages.
#include "base/sized_struct.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cstdint>

namespace omptier {
namespace {

struct Grown { // of the second release; the first had no more than a
  std::size_t struct_size;
  std::uint64_t a;
  std::uint64_t b;
};
constexpr std::size_t k_first = 16;

// A program's structure of a size, in memory that goes on behind it.
struct Program {
  explicit Program(std::size_t size) { theirs().struct_size = size; }
  Grown& theirs() { return *reinterpret_cast<Grown*>(words.data()); }
  std::array<std::uint64_t, 8> words{};
};

constexpr Grown k_ours{0, 7, 8};

TEST(SizedStruct, OfTheSameAge) {
  Program program(sizeof(Grown));
  ASSERT_EQ(problem_with_size(program.theirs(), k_first), 0);
  give_struct(k_ours, program.theirs());
  EXPECT_EQ(program.words, (std::array<std::uint64_t, 8>{sizeof(Grown), 7, 8}));
}

TEST(SizedStruct, OlderProgramGetsWhatItHas) {
  Program program(k_first);
  program.words[2] = 99; // not the structure's
  ASSERT_EQ(problem_with_size(program.theirs(), k_first), 0);
  give_struct(k_ours, program.theirs());
  EXPECT_EQ(program.words, (std::array<std::uint64_t, 8>{k_first, 7, 99}));
}

TEST(SizedStruct, NewerProgramKeepsItsZeros) {
  Program program(40);
  program.words[5] = 99;
  ASSERT_EQ(problem_with_size(program.theirs(), k_first), 0);
  give_struct(k_ours, program.theirs());
  EXPECT_EQ(program.words, (std::array<std::uint64_t, 8>{40, 7, 8, 0, 0, 99}));
}

TEST(SizedStruct, WishOfANewerProgramIsRefused) {
  Program program(40);
  program.words[4] = std::uint64_t{1} << 63; // its last byte
  EXPECT_EQ(problem_with_size(program.theirs(), k_first), E2BIG);
  program.theirs().struct_size = 39;
  EXPECT_EQ(problem_with_size(program.theirs(), k_first), 0);
}

TEST(SizedStruct, SizesThatNeverWere) {
  for (const std::size_t size : {std::size_t{0}, k_first - 1})
    EXPECT_EQ(problem_with_size(Program(size).theirs(), k_first), EINVAL);
  for (const std::size_t size : {k_largest_struct + 1, ~std::size_t{0}})
    EXPECT_EQ(problem_with_size(Program(size).theirs(), k_first), E2BIG);
}

} // namespace
} // namespace omptier
