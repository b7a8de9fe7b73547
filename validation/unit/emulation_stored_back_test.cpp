// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Loads whose line is stored to right behind them, in code as compilers write it. The code is only
// looked at, never run.
#include "code_places.hpp"
#include "emulation/stored_back.hpp"

#include <gtest/gtest.h>

#include <memory>

// clang-format off
asm(PLACES ".text\n"
    "place back_same\n" // y[row] += sum
    "  addsd (%rdx,%rax,8), %xmm0\n"
    "  movsd %xmm0, (%rdx,%rax,8)\n"
    "  addq $1, %rax\n"
    "  jmp back_same\n"
    "place back_in_place\n" // bins[k]++
    "  addl $1, (%rdx,%rax,4)\n"
    "  jmp back_in_place\n"
    "place back_moved\n" // the pointer has gone on
    "  movsd (%r9), %xmm0\n"
    "  addq $8, %r9\n"
    "  mulsd %xmm1, %xmm0\n"
    "  movsd %xmm0, -8(%r9)\n"
    "  jmp back_moved\n"
    "place back_moved_down\n"
    "  movups (%rsi,%rcx,8), %xmm0\n"
    "  subq $0x400, %rcx\n"
    "  movups %xmm0, 0x2000(%rsi,%rcx,8)\n"
    "  jmp back_moved_down\n"
    "place back_elsewhere\n" // a[i] = b[i]
    "  movsd (%rdx,%rax,8), %xmm0\n"
    "  movsd %xmm0, (%rcx,%rax,8)\n"
    "  jmp back_elsewhere\n"
    "place back_far\n" // another line
    "  movsd (%rdx), %xmm0\n"
    "  movsd %xmm0, 4096(%rdx)\n"
    "  jmp back_far\n"
    "place back_lost\n" // the register has another value
    "  movq (%rdx), %rax\n"
    "  movq %rax, %rdx\n"
    "  movq %rcx, (%rdx)\n"
    "  jmp back_lost\n"
    "place back_behind_branch\n"
    "  cmpq $0, (%rdx)\n"
    "  je back_far\n"
    "  movq %rcx, (%rdx)\n"
    "  jmp back_behind_branch\n"
    "place back_end\n");
// clang-format on
extern "C" char back_same[], back_in_place[], back_moved[], back_moved_down[], back_elsewhere[],
    back_far[], back_lost[], back_behind_branch[], back_end[];

namespace omptier {
namespace {

bool is_stored_back_at(const char* place) {
  const auto begin = reinterpret_cast<std::uint64_t>(back_same);
  static const std::unique_ptr<Function> code =
      Function::decode(begin, {reinterpret_cast<const std::uint8_t*>(back_same),
                               static_cast<std::size_t>(back_end - back_same)});
  return is_stored_back(*code, code->at(reinterpret_cast<std::uint64_t>(place)));
}

TEST(StoredBack, ByTheSameOperand) {
  EXPECT_TRUE(is_stored_back_at(back_same));
  EXPECT_TRUE(is_stored_back_at(back_in_place));
}

TEST(StoredBack, WhereTheRegisterHasGoneOn) {
  EXPECT_TRUE(is_stored_back_at(back_moved));
  EXPECT_TRUE(is_stored_back_at(back_moved_down));
}

TEST(StoredBack, OthersAreNot) {
  EXPECT_FALSE(is_stored_back_at(back_elsewhere));
  EXPECT_FALSE(is_stored_back_at(back_far));
  EXPECT_FALSE(is_stored_back_at(back_lost));
  EXPECT_FALSE(is_stored_back_at(back_behind_branch)); // maybe seldom
  EXPECT_FALSE(is_stored_back_at(back_end));           // no instruction
}

} // namespace
} // namespace omptier
