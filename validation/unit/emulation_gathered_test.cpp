// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Loads of which several can be on the way at once, and links of chains, in code as compilers write
// it. The code is only looked at, never run.
#include "code_places.hpp"
#include "emulation/gathered.hpp"
#include "emulation/loops.hpp"

#include <gtest/gtest.h>

#include <memory>

// clang-format off
asm(PLACES ".text\n"
    "place gathered_begin\n"
    "1: movslq (%rsi,%rax,4), %rcx\n" // sum += x[index[i]]
    "place gathered_indexed\n"
    "  addsd (%rdi,%rcx,8), %xmm0\n"
    "  addq $1, %rax\n"
    "  cmpq %rax, %rdx\n"
    "  jne 1b\n"
    "place gathered_link\n" // node = node->next
    "1: movq 8(%rbx), %rbx\n"
    "  addq $1, %rax\n"
    "  testq %rbx, %rbx\n"
    "  jne 1b\n"
    "place gathered_field\n" // sum += node->value, of which the next is known late
    "1: addsd (%rbx), %xmm0\n"
    "  movq 8(%rbx), %rbx\n"
    "  testq %rbx, %rbx\n"
    "  jne 1b\n"
    // table[hash(i)]
    "1: movq %rcx, %rax\n"
    "  imulq %r9, %rax\n"
    "  shrq $40, %rax\n"
    "  addq $1, %rcx\n"
    "place gathered_hashed\n"
    "  xorq (%r8,%rax,8), %r10\n"
    "  cmpq %rcx, %rdx\n"
    "  jne 1b\n"
    // state = table[state ^ i]
    "1: xorq %rcx, %rax\n"
    "place gathered_by_state\n"
    "  movq (%r8,%rax,8), %rax\n"
    "  addq $1, %rcx\n"
    "  cmpq %rcx, %rdx\n"
    "  jne 1b\n"
    "1: leaq (%rsi,%rdi), %rax\n" // search by halves without a branch
    "  shrq $1, %rax\n"
    "place gathered_halves\n"
    "  cmpq %r9, (%r8,%rax,8)\n"
    "  cmovbq %rax, %rsi\n"
    "  cmovaeq %rax, %rdi\n"
    "  subl $1, %ecx\n"
    "  jne 1b\n"
    "1: movq -8(%rbp), %rax\n" // node = node->next, not optimised
    "place gathered_on_stack\n"
    "  movq 8(%rax), %rax\n"
    "  movq %rax, -8(%rbp)\n"
    "  cmpq $0, -8(%rbp)\n"
    "  jne 1b\n"
    "1: movl -12(%rbp), %eax\n" // sum += x[index[i]], not optimised
    "  movq -24(%rbp), %rdx\n"
    "  movslq (%rdx,%rax,4), %rax\n"
    "  movq -32(%rbp), %rdx\n"
    "place gathered_indexed_on_stack\n"
    "  movsd (%rdx,%rax,8), %xmm0\n"
    "  addsd -40(%rbp), %xmm0\n"
    "  movsd %xmm0, -40(%rbp)\n"
    "  addl $1, -12(%rbp)\n"
    "  cmpl $100, -12(%rbp)\n"
    "  jne 1b\n"
    "1: xorl %ecx, %ecx\n" // for each node of a list: for each of its values
    "place gathered_values\n"
    "2: addsd 16(%rbx,%rcx,8), %xmm0\n"
    "  addq $1, %rcx\n"
    "  cmpq $8, %rcx\n"
    "  jne 2b\n"
    "  movq (%rbx), %rbx\n"
    "  testq %rbx, %rbx\n"
    "  jne 1b\n"
    "1: xorl %ecx, %ecx\n" // for each block of a list: for each of its indices
    "2: movslq 16(%rbx,%rcx,4), %rax\n"
    "place gathered_in_block\n"
    "  addsd (%rdi,%rax,8), %xmm0\n"
    "  addq $1, %rcx\n"
    "  cmpq %rcx, %rdx\n"
    "  jne 2b\n"
    "  movq (%rbx), %rbx\n"
    "  testq %rbx, %rbx\n"
    "  jne 1b\n"
    "1:\n" // node = found ? first : node->next
    "place gathered_before_continue\n"
    "  movq (%rbx), %rax\n"
    "  testq %rax, %rax\n"
    "  je 2f\n"
    "  movq 8(%rbx), %rbx\n"
    "  jmp 1b\n"
    "2: addq $1, %r10\n"
    "  movq %r9, %rbx\n"
    "  subq $1, %rcx\n"
    "  jne 1b\n"
    "1: movslq (%rsi,%rbx,4), %rax\n" // a branch jumps over what would renew the register
    "place gathered_behind_branch\n"
    "  movq (%rdi,%rax,8), %rcx\n"
    "  testq %rcx, %rcx\n"
    "  je 2f\n"
    "  movq %rcx, %rbx\n"
    "2: addq $1, %rbx\n"
    "  cmpq %rdx, %rbx\n"
    "  jne 1b\n"
    "1: movq %rbx, %rdi\n" // node = next(node)
    "  call gathered_begin\n"
    "  movq %rax, %rbx\n"
    "place gathered_by_call\n"
    "  movq (%rbx), %rbx\n"
    "  testq %rbx, %rbx\n"
    "  jne 1b\n"
    "1: movq %rcx, %rax\n"
    "  imulq %r9, %rax\n"
    "place gathered_above_remainder\n"
    "  addq (%r8,%rax,8), %r10\n"
    "  addq $1, %rcx\n"
    "  cmpq %rcx, %rdx\n"
    "  jne 1b\n"
    "  movq %r10, %rcx\n"
    "  ret\n"
    "  addq $1, %rdx\n" // a jump back, but no loop
    "  jmp 1b\n"
    "place gathered_in_no_loop\n"
    "  movq (%rdi,%rsi,8), %rax\n"
    "  ret\n"
    "place gathered_end\n");
// clang-format on
extern "C" char gathered_begin[], gathered_indexed[], gathered_link[], gathered_field[],
    gathered_hashed[], gathered_by_state[], gathered_halves[], gathered_on_stack[],
    gathered_indexed_on_stack[], gathered_values[], gathered_in_block[], gathered_behind_branch[],
    gathered_by_call[], gathered_above_remainder[], gathered_before_continue[],
    gathered_in_no_loop[], gathered_end[];

namespace omptier {
namespace {

const Function& code() {
  static const std::unique_ptr<Function> decoded =
      Function::decode(reinterpret_cast<std::uint64_t>(gathered_begin),
                       {reinterpret_cast<const std::uint8_t*>(gathered_begin),
                        static_cast<std::size_t>(gathered_end - gathered_begin)});
  return *decoded;
}

int number_of(const char* place) {
  return code().at(reinterpret_cast<std::uint64_t>(place));
}

bool is_gathered_at(const char* place) {
  return is_gathered(code(), number_of(place));
}

TEST(Gathered, ByAnIndexOrAComputedPlace) {
  EXPECT_TRUE(is_gathered_at(gathered_begin)); // the index itself: by a counter
  EXPECT_TRUE(is_gathered_at(gathered_indexed));
  EXPECT_TRUE(is_gathered_at(gathered_hashed));
  EXPECT_TRUE(is_gathered_at(gathered_indexed_on_stack));
  EXPECT_TRUE(is_gathered_at(gathered_above_remainder));
}

TEST(Gathered, LinksAreNot) {
  EXPECT_FALSE(is_gathered_at(gathered_link));
  EXPECT_FALSE(is_gathered_at(gathered_field));
  EXPECT_FALSE(is_gathered_at(gathered_by_state));
  EXPECT_FALSE(is_gathered_at(gathered_on_stack));
  EXPECT_FALSE(is_gathered_at(gathered_by_call));
}

TEST(Gathered, FlagsAndBranchesCarryValues) {
  EXPECT_FALSE(is_gathered_at(gathered_halves));
  EXPECT_FALSE(is_gathered_at(gathered_behind_branch));
  EXPECT_FALSE(is_gathered_at(gathered_before_continue));
}

TEST(Gathered, AChainOutsideCountsWhereTheInnerLoopLoadsNoIndex) {
  EXPECT_FALSE(is_gathered_at(gathered_values));
  EXPECT_TRUE(is_gathered_at(gathered_in_block));
}

TEST(Gathered, LoopsThatRepeatTheInstruction) {
  const auto first = [](const char* place) {
    const Loop* const loop = loop_repeating(code(), number_of(place));
    return loop != nullptr ? static_cast<int>(loop->first) : -1;
  };
  EXPECT_EQ(first(gathered_indexed), number_of(gathered_begin));
  EXPECT_EQ(first(gathered_above_remainder), number_of(gathered_above_remainder) - 2);
  EXPECT_EQ(first(gathered_in_no_loop), -1);
  EXPECT_EQ(first(gathered_end), -1);
}

// Each entry of a procedure linkage table jumps away, or goes on and jumps back to the first. Takes
// 40 times as long if each of these thousand loops is searched.
TEST(Gathered, LinkageTablesAreNoLoops) {
  constexpr std::uint32_t k_entries = 1000, k_size = 16;
  std::vector<std::uint8_t> bytes;
  for (std::uint32_t entry = 0; entry < k_entries; ++entry) {
    const std::uint32_t back = 0u - (entry + 1) * k_size;
    bytes.insert(bytes.end(), {0xff, 0x25, 0, 0, 0, 0, 0x68, 0, 0, 0, 0, 0xe9});
    for (unsigned byte = 0; byte < 4; ++byte)
      bytes.push_back(static_cast<std::uint8_t>(back >> 8 * byte));
  }
  const auto table = Function::decode(k_size, bytes);
  ASSERT_EQ(table->instructions.size(), 3 * k_entries);
  ASSERT_EQ(table->loops.size(), k_entries);
  for (int entry = 0; entry < static_cast<int>(k_entries); entry += 20) {
    EXPECT_EQ(loop_repeating(*table, 3 * entry), nullptr);
    const Loop* const loop = loop_repeating(*table, 3 * entry + 1);
    ASSERT_NE(loop, nullptr); // by extent and by flow, until the target's own jump
    EXPECT_EQ(loop->first, 0u);
  }
}

TEST(Gathered, NestsReachAsFarAsNothingIsCalled) {
  const auto first = [](const char* place) {
    const int number = number_of(place);
    return static_cast<int>(nest_around(code(), *loop_repeating(code(), number), number).first);
  };
  EXPECT_EQ(first(gathered_values), number_of(gathered_values) - 1);
  EXPECT_EQ(first(gathered_in_block), number_of(gathered_in_block) - 2);
  EXPECT_EQ(first(gathered_link), number_of(gathered_link));
  EXPECT_EQ(first(gathered_by_call), number_of(gathered_by_call) - 3);
}

TEST(Gathered, NothingIsKnownWithoutALoop) {
  EXPECT_FALSE(is_gathered_at(gathered_in_no_loop));
  EXPECT_FALSE(is_gathered_at(gathered_end)); // no instruction
}

} // namespace
} // namespace omptier
