// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Which reads of a loop an emulation carries out, and that nothing is lost where it leaves some
// out: the code below is only looked at, never run. Values that are not to be read stand where
// nothing can be read.

#include "emulated_loop.hpp"
#include "emulation/needed_reads.hpp"

#include <algorithm>
#include <string>
#include <vector>

// clang-format off
asm(PLACES ".text\n"
    // sum += table[random]; now and then table[random] = sum
    "place needed_sum\n .cfi_startproc\n"
    "  movq %rax, %rdx\n"
    "  shrq $9, %rdx\n"
    "  addq (%rdi,%rdx,8), %rsi\n"
    "  testb $3, %cl\n"
    "  jne needed_sum_next\n"
    "  movq %rsi, (%rdi,%rdx,8)\n"
    "place needed_sum_next\n"
    "  addq $12345, %rax\n"
    "  decq %rcx\n"
    "  jnz needed_sum\n"
    "  ret\n .cfi_endproc\n"

    // y[index[i]] += x[i] as long as more[i]
    "place needed_index\n .cfi_startproc\n"
    "  movslq (%rsi,%rcx,4), %rax\n"
    "  movsd (%rdi,%rcx,8), %xmm0\n"
    "  addsd (%rdx,%rax,8), %xmm0\n"
    "  movsd %xmm0, (%rdx,%rax,8)\n"
    "  incq %rcx\n"
    "  cmpb $0, (%r8,%rcx)\n"
    "  jne needed_index\n"
    "  ret\n .cfi_endproc\n"

    // The pointer is kept on the stack, like a sum that no address depends on.
    "place needed_spilled\n .cfi_startproc\n"
    "  movq 8(%rsp), %rdi\n"
    "  movq (%rdi), %rax\n"
    "  movq %rax, 8(%rsp)\n"
    "  addq 8(%rdi), %rbx\n"
    "  decq %rcx\n"
    "  jnz needed_spilled\n"
    "  ret\n .cfi_endproc\n"

    // The mask is read, the gather clears its own: what it gathers is only added.
    "place needed_gather\n .cfi_startproc\n"
    "  vmovdqu (%rsi,%rcx,4), %ymm1\n"
    "  vmovdqu (%rdx,%rcx,4), %ymm3\n"
    "  vpgatherdd %ymm3, (%rdi,%ymm1,4), %ymm2\n"
    "  vpaddd %ymm2, %ymm4, %ymm4\n"
    "  addq $8, %rcx\n"
    "  cmpq %r8, %rcx\n"
    "  jne needed_gather\n"
    "  ret\n .cfi_endproc\n"

    // for each row: a hash of its bytes, two an iteration of the inner loop, then table[hash]
    "place needed_rows\n .cfi_startproc\n"
    "  xorl %eax, %eax\n"
    "  movl $2, %ecx\n"
    "place needed_rows_inner\n"
    "  addq (%rsi), %rax\n"
    "  addq $8, %rsi\n"
    "  decq %rcx\n"
    "  jnz needed_rows_inner\n"
    "  incq (%rdi,%rax,8)\n"
    "  decq %rdx\n"
    "  jnz needed_rows\n"
    "  ret\n .cfi_endproc\n"

    // place[i] = data[i], then data[place[0]]: what is stored is read again as an index
    "place needed_stored\n .cfi_startproc\n"
    "  movq (%rsi,%rcx,8), %rax\n"
    "  movq %rax, (%rdi,%rcx,8)\n"
    "  movq (%rdi,%rcx,8), %rdx\n"
    "  addq (%rsi,%rdx,8), %rbx\n"
    "  incq %rcx\n"
    "  cmpq %r8, %rcx\n"
    "  jne needed_stored\n"
    "  ret\n .cfi_endproc\n");

extern "C" const char needed_sum[], needed_index[], needed_spilled[], needed_gather[],
    needed_rows[], needed_rows_inner[], needed_stored[];
// clang-format on

namespace {

using namespace omptier;

struct SamplingNeeded : EmulatedLoop {
  // One letter an instruction of the innermost loop: what it reads is n(eeded), or is not.
  std::string reads(const void* code) {
    const Function* function = functions.around(at(code));
    const Loop* loop = innermost_loop(*function, function->at(at(code)));
    std::string text;
    const auto needed = needed_reads(*function, *loop);
    for (std::size_t i = 0; i < needed.size(); ++i) {
      const Instruction& here = function->instructions[loop->first + i];
      if (here.has_memory && here.memory.reads) text += needed[i] ? 'n' : '-';
    }
    return text;
  }
};

TEST_F(SamplingNeeded, AddressesAndBranchesAsk) {
  EXPECT_EQ(reads(needed_sum), "-");
  EXPECT_EQ(reads(needed_index), "n--n");
  EXPECT_EQ(reads(needed_spilled), "nn-");
  EXPECT_EQ(reads(needed_gather), "nn-");
  EXPECT_EQ(reads(needed_rows_inner), "-");
  EXPECT_EQ(reads(needed_rows), "n-"); // the outer loop
}

TEST_F(SamplingNeeded, ASumNeedNotBeKnown) {
  const std::uint64_t nowhere = 64; // nothing is mapped there
  sample.general[k_rdi] = nowhere;
  sample.general[k_rcx] = 1000;
  emulate(needed_sum);
  EXPECT_EQ(found.size(), 2u);
}

// The inner loop is left at once: the outer one reads what the inner one need not know.
TEST_F(SamplingNeeded, AnOuterLoopAsksForMore) {
  std::vector<std::uint64_t> rows(200), table(200 * 200);
  for (std::size_t i = 0; i < rows.size(); ++i)
    rows[i] = i * 97 % rows.size() * 90;
  sample.general[k_rsi] = at(rows.data());
  sample.general[k_rdi] = at(table.data());
  sample.general[k_rcx] = 2;
  sample.general[k_rdx] = 100;
  for (int walk = 0; walk < 20; ++walk) {
    emulate(needed_rows_inner);
    ASSERT_NE(of(rows, AccessKind::load), nullptr);
    ASSERT_NE(of(table, AccessKind::store), nullptr);
  }
}

TEST_F(SamplingNeeded, StoredIndicesAreRead) {
  std::vector<std::uint64_t> data(4096), place(4096);
  for (std::size_t i = 0; i < data.size(); ++i)
    data[i] = (i * i * 2654435761u >> 7) % data.size();
  sample.general[k_rsi] = at(data.data());
  sample.general[k_rdi] = at(place.data());
  sample.general[8] = data.size();
  for (int walk = 0; walk < 20; ++walk) {
    emulate(needed_stored);
    EXPECT_EQ(found.size(), 4u);
    EXPECT_EQ(loops.unknown(), 0u);
  }
}

TEST_F(SamplingNeeded, PointersOnTheStackAreFollowed) {
  struct Node {
    Node* next;
    std::uint64_t value;
  };
  std::vector<Node> nodes(64);
  for (std::size_t i = 0; i < nodes.size(); ++i)
    nodes[i].next = &nodes[(i + 27) % nodes.size()];
  std::uint64_t stack[64] = {};
  stack[33] = at(nodes.data());
  sample.general[k_rsp] = at(stack + 32);
  sample.general[k_rcx] = 1000;
  emulate(needed_spilled);
  EXPECT_EQ(found.size(), 4u);
  EXPECT_EQ(loops.unknown(), 0u);
}

} // namespace
