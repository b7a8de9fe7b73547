// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Stores that depend on a test of their own place: by the time that memory is looked at, the program
// has passed. The code below is only looked at, never run.

#include "emulated_loop.hpp"

// clang-format off
asm(PLACES ".text\n"
    // if (level[node[i]] < 0) level[node[i]] = r8
    "place tested_visit\n .cfi_startproc\n"
    "place tested_visit_head\n"
    "  movslq (%rsi,%rcx,4), %rax\n"
    "  leaq (%rdi,%rax,4), %rax\n"
    "  movl (%rax), %r9d\n"
    "  testl %r9d, %r9d\n"
    "  jns 1f\n"
    "  movl %r8d, (%rax)\n"
    "1: incq %rcx\n"
    "  cmpq %rdx, %rcx\n"
    "  jne tested_visit_head\n"
    "  ret\n .cfi_endproc\n"

    // if (r8 < best[node[i]]) best[node[i]] = r8, with the store out of the way
    "place tested_relax\n .cfi_startproc\n"
    "place tested_relax_head\n"
    "  movslq (%rsi,%rcx,4), %rax\n"
    "  cmpl %r8d, (%rdi,%rax,4)\n"
    "  jg 2f\n"
    "1: incq %rcx\n"
    "  cmpq %rdx, %rcx\n"
    "  jne tested_relax_head\n"
    "  ret\n"
    "2: movl %r8d, (%rdi,%rax,4)\n"
    "  jmp 1b\n .cfi_endproc\n"

    // if (level[node[i]] < 0) other[i] = r8
    "place tested_other\n .cfi_startproc\n"
    "place tested_other_head\n"
    "  movslq (%rsi,%rcx,4), %rax\n"
    "  cmpl $0, (%rdi,%rax,4)\n"
    "  jns 1f\n"
    "  movl %r8d, (%r10,%rcx,4)\n"
    "1: incq %rcx\n"
    "  cmpq %rdx, %rcx\n"
    "  jne tested_other_head\n"
    "  ret\n .cfi_endproc\n");
// clang-format on

extern "C" {
extern const char tested_visit_head[], tested_relax_head[], tested_other_head[];
}

namespace omptier {
namespace {

struct TestedStores : EmulatedLoop {
  std::vector<std::int32_t> node = std::vector<std::int32_t>(4096);
  std::vector<std::int32_t> level = std::vector<std::int32_t>(4096, 1);
  std::vector<std::int32_t> other = std::vector<std::int32_t>(4096);

  TestedStores() {
    for (std::size_t i = 0; i < node.size(); ++i)
      node[i] = static_cast<std::int32_t>(i * 2731 % node.size());
    set_registers(node.data(), node.size(), level.data(), other.data());
  }
};

TEST_F(TestedStores, AfterTheStoreTheLoadsKindIsUnknown) {
  for (const char* loop : {tested_visit_head, tested_relax_head}) {
    emulate(loop); // every place has been stored to
    ASSERT_NE(of(level, AccessKind::unknown), nullptr);
    EXPECT_EQ(of(level, AccessKind::load), nullptr);
    EXPECT_EQ(of(level, AccessKind::store), nullptr);
    EXPECT_NE(of(node, AccessKind::load), nullptr);
  }
}

TEST_F(TestedStores, BeforeItTheStoreIsSeen) {
  level.assign(level.size(), -1);
  emulate(tested_visit_head);
  EXPECT_NE(of(level, AccessKind::load), nullptr);
  EXPECT_NE(of(level, AccessKind::store), nullptr);
}

TEST_F(TestedStores, AStoreElsewhereLeavesTheKindKnown) {
  emulate(tested_other_head);
  EXPECT_NE(of(level, AccessKind::load), nullptr);
  EXPECT_EQ(of(level, AccessKind::unknown), nullptr);
  EXPECT_EQ(of(other, AccessKind::store), nullptr);
}

} // namespace
} // namespace omptier
