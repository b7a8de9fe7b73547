// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What sources of counted misses add to a sample from code: of a loop in this program.
#include "sampling/code_facts.hpp"

#include <gtest/gtest.h>

namespace omptier {
namespace {

[[gnu::noinline]] long sum_of(const long* values, const int* index, int count) {
  long sum = 0;
  for (int i = 0; i < count; ++i)
    sum += values[index[i]];
  return sum;
}

// Of the instruction that begins there, if any.
AccessSample facts_at(CodeFacts& facts, std::uint64_t pc, AccessKind kind) {
  AccessSample sample;
  sample.pc = pc;
  sample.kind = kind;
  facts.add_to(sample);
  return sample;
}

TEST(CodeFacts, OfALoopThatGathers) {
  const auto begin = reinterpret_cast<std::uint64_t>(&sum_of);
  constexpr std::uint64_t k_longest = 512;
  CodeFacts facts;
  facts.refresh();
  ASSERT_TRUE(facts.is_programs(begin));
  EXPECT_FALSE(facts.is_programs(decoder_address()));
  unsigned gathered = 0;
  for (std::uint64_t pc = begin; pc < begin + k_longest; ++pc) {
    const AccessSample load = facts_at(facts, pc, AccessKind::load);
    if (!load.gathered) continue;
    if (load.loop < begin || load.loop > pc) break; // in the next function
    ++gathered;
    EXPECT_GE(load.nest, begin);
    EXPECT_LE(load.nest, load.loop);
    EXPECT_EQ(facts_at(facts, pc, AccessKind::store).loop, load.loop);
    EXPECT_FALSE(facts_at(facts, pc, AccessKind::store).gathered);
  }
  EXPECT_GE(gathered, 1u);
  const int index[] = {2, 0};
  const long values[] = {1, 10, 100};
  EXPECT_EQ(sum_of(values, index, 2), 101);
}

} // namespace
} // namespace omptier
