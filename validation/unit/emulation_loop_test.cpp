// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What a sampled loop accesses, by emulating it from pretended registers. The code below is only
// looked at, never run, so it may use vectors that this machine lacks.

#include "emulated_loop.hpp"
#include "emulation/induction.hpp"
#include "emulation/needed_reads.hpp"
#include "sampling/blame.hpp"

#include <cstring>
#include <numeric>
#include <vector>

// clang-format off
asm(PLACES ".text\n"
    // y[i] = x[i] + y[i]; i in rcx, end in rdx
    "place loop_update\n .cfi_startproc\n"
    "place loop_update_head\n"
    "  vmovsd (%rdi,%rcx,8), %xmm0\n"
    "  vaddsd (%rsi,%rcx,8), %xmm0, %xmm0\n"
    "place loop_update_store\n"
    "  vmovsd %xmm0, (%rsi,%rcx,8)\n"
    "  incq %rcx\n"
    "  cmpq %rdx, %rcx\n"
    "  jne loop_update_head\n"
    "  ret\n .cfi_endproc\n"

    // sum += data[index[i]]
    "place loop_indirect\n .cfi_startproc\n"
    "place loop_indirect_head\n"
    "  movslq (%rsi,%rcx,4), %rax\n"
    "place loop_indirect_load\n"
    "  vaddsd (%rdi,%rax,8), %xmm0, %xmm0\n"
    "  incq %rcx\n"
    "  cmpq %rdx, %rcx\n"
    "  jne loop_indirect_head\n"
    "  ret\n .cfi_endproc\n"

    // sum += weight[i], i = next[i]
    "place loop_hop\n .cfi_startproc\n"
    "place loop_hop_head\n"
    "  vaddsd (%rdi,%rax,8), %xmm0, %xmm0\n"
    "place loop_hop_next\n"
    "  movslq (%rsi,%rax,4), %rax\n"
    "  decq %rcx\n"
    "  jnz loop_hop_head\n"
    "  ret\n .cfi_endproc\n"

    // sum += value[i] * data[index[i]], in steps of four and seven
    "place loop_sparse\n .cfi_startproc\n"
    "place loop_sparse_head\n"
    "  movslq (%rsi,%rcx,4), %rax\n"
    "  vmovsd (%r8,%rcx,8), %xmm1\n"
    "  vmulsd (%rdi,%rax,8), %xmm1, %xmm1\n"
    "  addq %r9, %rcx\n"
    "  xorq $3, %r9\n"
    "  cmpq %rdx, %rcx\n"
    "  jne loop_sparse_head\n"
    "  ret\n .cfi_endproc\n"

    // ++bins[pixel[i]], pixels of two bytes
    "place loop_bins\n .cfi_startproc\n"
    "place loop_bins_head\n"
    "  movzwl (%rsi,%rcx,2), %eax\n"
    "place loop_bins_count\n"
    "  incq (%rdi,%rax,8)\n"
    "  incq %rcx\n"
    "  cmpq %rdx, %rcx\n"
    "  jne loop_bins_head\n"
    "  ret\n .cfi_endproc\n"

    // row = slots[hash(order[i])].row, sum += credit[row]; rows are in the order of the keys
    "place loop_join\n .cfi_startproc\n"
    "place loop_join_head\n"
    "  movq (%rsi,%rcx,8), %rax\n"
    "  imulq $0x61c88647, %rax, %r9\n"
    "  shrq $9, %r9\n"
    "  andq $16383, %r9\n"
    "  shlq $4, %r9\n"
    "  cmpq %rax, (%r8,%r9)\n"
    "  movq 8(%r8,%r9), %r10\n"
    "  vaddsd (%rdi,%r10,8), %xmm0, %xmm0\n"
    "  incq %rcx\n"
    "  cmpq %rdx, %rcx\n"
    "  jne loop_join_head\n"
    "  ret\n .cfi_endproc\n"

    // The same as loop_indirect without optimization: the index is a variable in memory.
    "place loop_variable\n .cfi_startproc\n"
    "place loop_variable_head\n"
    "  movslq (%rsi,%rcx,4), %rax\n"
    "  movq %rax, (%r8)\n"
    "  movq (%r8), %rax\n"
    "place loop_variable_load\n"
    "  vaddsd (%rdi,%rax,8), %xmm0, %xmm0\n"
    "  incq %rcx\n"
    "  cmpq %rdx, %rcx\n"
    "  jne loop_variable_head\n"
    "  ret\n .cfi_endproc\n"

    "place loop_chase\n .cfi_startproc\n"
    "  movq (%rdi), %rdi\n"
    "place loop_chase_next\n"
    "  decq %rcx\n"
    "  jnz loop_chase\n"
    "  ret\n .cfi_endproc\n"

    // out[i] = in[32 * i]: the first i in r9, which is lost on the way in
    "place loop_counted\n .cfi_startproc\n"
    "  vpbroadcastq %r9, %zmm0\n"
    "  vpaddq loop_lanes(%rip), %zmm0, %zmm0\n"
    "  vpbroadcastq loop_eight(%rip), %zmm2\n"
    "  leaq 64(%rdx,%r9,8), %r9\n"
    "  xorl %r10d, %r10d\n"
    "place loop_counted_head\n"
    "  vpsllq $8, %zmm0, %zmm3\n"
    "  kxnorw %k0, %k0, %k1\n"
    "  vpaddq %zmm2, %zmm0, %zmm0\n"
    "place loop_counted_gather\n"
    "  vgatherqpd (%rcx,%zmm3,1), %zmm4{%k1}\n"
    "place loop_counted_store\n"
    "  vmovupd %zmm4, -64(%r9,%r10,8)\n"
    "  addq $8, %r10\n"
    "  cmpq %r10, %r8\n"
    "  jne loop_counted_head\n"
    "  ret\n .cfi_endproc\n"

    // Looks only up what is not 0: eight at a time.
    "place loop_masked\n .cfi_startproc\n"
    "place loop_masked_head\n"
    "  vmovdqu (%rsi,%rcx,4), %ymm1\n"
    "  vptestmd %ymm1, %ymm1, %k1\n"
    "place loop_masked_gather\n"
    "  vpgatherdd (%rdi,%ymm1,4), %ymm2{%k1}\n"
    "  addq $8, %rcx\n"
    "  cmpq %rdx, %rcx\n"
    "  jne loop_masked_head\n"
    "  ret\n .cfi_endproc\n"

    // The same as before AVX-512: the mask is a vector.
    "place loop_masked_old\n .cfi_startproc\n"
    "  vpxor %xmm5, %xmm5, %xmm5\n"
    "place loop_masked_old_head\n"
    "  vmovdqu (%rsi,%rcx,4), %ymm1\n"
    "  vpcmpgtd %ymm5, %ymm1, %ymm3\n"
    "place loop_masked_old_gather\n"
    "  vpgatherdd %ymm3, (%rdi,%ymm1,4), %ymm2\n"
    "  addq $8, %rcx\n"
    "  cmpq %rdx, %rcx\n"
    "  jne loop_masked_old_head\n"
    "  ret\n .cfi_endproc\n"

    // Two loads in an inner function, a store in the caller.
    "place loop_inner\n .cfi_startproc\n"
    "  movq (%rdi,%rcx,8), %rax\n"
    "place loop_inner_middle\n"
    "  addq (%rsi,%rcx,8), %rax\n"
    "  ret\n .cfi_endproc\n"
    "place loop_outer\n .cfi_startproc\n"
    "place loop_outer_head\n"
    "  movq %rbx, %rcx\n"
    "  call loop_inner\n"
    "place loop_outer_back\n"
    "  movq %rax, (%rdx,%rbx,8)\n"
    "  incq %rbx\n"
    "  cmpq %rbp, %rbx\n"
    "  jne loop_outer_head\n"
    "  call loop_chase\n"
    "place loop_outer_done\n"
    "  ret\n .cfi_endproc\n"

    // Rows of four of a hundred; which row is on the stack.
    "place loop_rows\n .cfi_startproc\n"
    "place loop_rows_head\n"
    "  vmovsd (%rdi,%rcx,8), %xmm0\n"
    "place loop_rows_middle\n"
    "  incq %rcx\n"
    "  cmpq %rdx, %rcx\n"
    "  jne loop_rows_head\n"
    "  movq 8(%rsp), %rax\n"
    "  incq %rax\n"
    "  movq %rax, 8(%rsp)\n"
    "  imulq $100, %rax, %rcx\n"
    "  leaq 4(%rcx), %rdx\n"
    "  cmpq %r8, %rax\n"
    "  jne loop_rows_head\n"
    "  ret\n .cfi_endproc\n"

    // Reads one array or the other; two ways meet.
    "place loop_ways\n .cfi_startproc\n"
    "  testb %bl, %bl\n"
    "  je 1f\n"
    "  movq (%r9,%rcx,8), %rax\n"
    "place loop_ways_meet\n"
    "  incq %rcx\n"
    "  cmpq %rdx, %rcx\n"
    "  jne loop_ways\n"
    "  ret\n"
    "1: movq (%rdi,%rcx,8), %rax\n"
    "  jmp loop_ways_meet\n .cfi_endproc\n"

    // The same, and nobody knows which.
    "place loop_unsure\n .cfi_startproc\n"
    "  vucomisd %xmm1, %xmm0\n"
    "  je 1f\n"
    "  movq (%r9,%rcx,8), %rax\n"
    "place loop_unsure_meet\n"
    "  incq %rcx\n"
    "  cmpq %rdx, %rcx\n"
    "  jne loop_unsure\n"
    "  ret\n"
    "1: movq (%rdi,%rcx,8), %rax\n"
    "  jmp loop_unsure_meet\n .cfi_endproc\n"

    // Copies pieces; where they lie is in memory.
    "place loop_pieces\n .cfi_startproc\n"
    "  movq (%r8), %rsi\n"
    "  addq %rdx, %rsi\n"
    "  movq 8(%r8), %rdi\n"
    "  addq %rdx, %rdi\n"
    "  movl $64, %ecx\n"
    "place loop_pieces_copy\n"
    "  rep movsb\n"
    "  addq $64, %rdx\n"
    "  cmpq %r9, %rdx\n"
    "  jne loop_pieces\n"
    "  ret\n .cfi_endproc\n"

    ".section .rodata\n .balign 64\n"
    "loop_lanes: .quad 0, 1, 2, 3, 4, 5, 6, 7\n"
    "loop_eight: .quad 8\n"
    ".text\n");

extern "C" const char loop_update_store[], loop_indirect_load[], loop_chase_next[],
    loop_hop_head[], loop_join_head[], loop_sparse_head[], loop_bins_head[], loop_variable_head[],
    loop_counted[], loop_counted_head[], loop_counted_gather[], loop_counted_store[],
    loop_masked_head[], loop_masked_old[],
    loop_inner[], loop_inner_middle[], loop_outer_back[], loop_outer_done[], loop_rows_middle[],
    loop_pieces_copy[], loop_ways[], loop_ways_meet[], loop_unsure_meet[];
// clang-format on

namespace {

using namespace omptier;

struct SamplingLoop : EmulatedLoop {
  std::uint64_t stack[64] = {};

  SamplingLoop() { sample.general[k_rsp] = at(stack + 32); }
  double bytes() const {
    return std::accumulate(found.begin(), found.end(), 0.0,
                           [](double sum, const auto& p) { return sum + double{p.bytes}; });
  }
};

TEST_F(SamplingLoop, LoadsAndStoresInTheirProportion) {
  std::vector<double> x(4096), y(4096);
  sample.general[k_rdi] = at(x.data());
  sample.general[k_rsi] = at(y.data());
  sample.general[k_rcx] = 100;
  sample.general[k_rdx] = 4096;
  emulate(loop_update_store, 300);
  ASSERT_EQ(found.size(), 3u);
  EXPECT_NEAR(bytes(), 300, 1e-3);
  for (const AccessPattern& pattern : found) {
    EXPECT_NEAR(pattern.bytes, 100, 1e-3);
    EXPECT_NEAR(pattern.bytes / pattern.accesses, 8, 1e-3);
    EXPECT_EQ(pattern.strides[0].bytes, 8);
    EXPECT_FLOAT_EQ(pattern.strides[0].share, 1);
  }
  EXPECT_NE(of(x, AccessKind::load), nullptr);
  EXPECT_EQ(of(x, AccessKind::store), nullptr);
  EXPECT_NE(of(y, AccessKind::load), nullptr);
  EXPECT_NE(of(y, AccessKind::store), nullptr);
}

TEST_F(SamplingLoop, IndexedThroughAnotherObject) {
  std::vector<double> data(4096);
  std::vector<int> index(4096);
  for (std::size_t i = 0; i < index.size(); ++i)
    index[i] = static_cast<int>(i * i * 2654435761u >> 7 & 4095);
  sample.general[k_rdi] = at(data.data());
  sample.general[k_rsi] = at(index.data());
  sample.general[k_rax] = 7;
  sample.general[k_rdx] = 4096;
  emulate(loop_indirect_load, 12);
  const AccessPattern* indirect = of(data, AccessKind::load);
  ASSERT_NE(indirect, nullptr);
  EXPECT_NEAR(indirect->bytes, 8, 1e-3); // of 12 bytes an iteration
  EXPECT_LT(indirect->through - at(index.data()), index.size() * sizeof(int));
  const AccessPattern* direct = of(index, AccessKind::load);
  ASSERT_NE(direct, nullptr);
  EXPECT_EQ(direct->strides[0].bytes, 4);
  EXPECT_EQ(direct->through, 0u);
}

TEST_F(SamplingLoop, TheLastLoadBeforeTheAccessHeldTheIndex) {
  std::vector<double> credit(1024);
  std::vector<std::uint64_t> slots(2 * 16384), order(4096);
  for (std::uint64_t key = 0; key < 1024; ++key) {
    const std::uint64_t slot = key * 0x61c88647 >> 9 & 16383;
    slots[2 * slot] = key;
    slots[2 * slot + 1] = key / 2;
  }
  for (std::uint64_t i = 0; i < order.size(); ++i)
    order[i] = (i * i * 2654435761u >> 7 & 511) * 2;
  sample.general[k_rdi] = at(credit.data());
  sample.general[k_rsi] = at(order.data());
  sample.general[8] = at(slots.data());
  sample.general[k_rdx] = 4096;
  emulate(loop_join_head, 32);
  const AccessPattern* looked_up = of(credit, AccessKind::load);
  ASSERT_NE(looked_up, nullptr);
  EXPECT_LT(looked_up->through - at(slots.data()), slots.size() * sizeof(std::uint64_t));
}

// Most of a sparse row's columns follow each other.
TEST_F(SamplingLoop, IndexedInShortRuns) {
  std::vector<double> data(1 << 16);
  std::vector<int> index(4096);
  for (std::size_t i = 0; i < index.size(); ++i)
    index[i] = static_cast<int>(((i / 3) * (i / 3) * 2654435761u >> 7 & 32767) + i % 3);
  sample.general[k_rdi] = at(data.data());
  sample.general[k_rsi] = at(index.data());
  sample.general[k_rax] = 7;
  sample.general[k_rdx] = 4096;
  emulate(loop_indirect_load, 12);
  const AccessPattern* indirect = of(data, AccessKind::load);
  ASSERT_NE(indirect, nullptr);
  EXPECT_GT(indirect->strides[0].share, 0.5f);
  EXPECT_LT(indirect->through - at(index.data()), index.size() * sizeof(int));
}

// A band of a matrix: indices count up like the values beside them, which are no less in order.
TEST_F(SamplingLoop, WhatRunsBesideTheIndicesIsNotIndexed) {
  std::vector<double> data(8192), value(8192);
  std::vector<int> index(8192);
  for (std::size_t i = 0; i < index.size(); ++i)
    index[i] = static_cast<int>(i) + 5;
  sample.general[k_rdi] = at(data.data());
  sample.general[k_rsi] = at(index.data());
  sample.general[8] = at(value.data());
  sample.general[9] = 4;
  sample.general[k_rdx] = 8191;
  emulate(loop_sparse_head, 20);
  const AccessPattern* beside = of(value, AccessKind::load);
  ASSERT_NE(beside, nullptr);
  EXPECT_EQ(beside->through, 0u);
}

TEST_F(SamplingLoop, IndicesOfTwoBytesAndInAVariable) {
  std::vector<std::uint64_t> bins(65536), variable(1);
  std::vector<std::uint16_t> pixel(4096);
  std::vector<int> index(4096);
  for (std::size_t i = 0; i < pixel.size(); ++i)
    index[i] = pixel[i] = static_cast<std::uint16_t>(i * i * 2654435761u >> 9);
  sample.general[k_rdi] = at(bins.data());
  sample.general[k_rsi] = at(pixel.data());
  sample.general[k_rdx] = 4096;
  emulate(loop_bins_head, 18);
  const AccessPattern* counted = of(bins, AccessKind::store);
  ASSERT_NE(counted, nullptr);
  EXPECT_LT(counted->through - at(pixel.data()), pixel.size() * sizeof(std::uint16_t));
  sample.general[k_rsi] = at(index.data());
  sample.general[8] = at(variable.data());
  emulate(loop_variable_head, 12);
  const AccessPattern* indirect = of(bins, AccessKind::load);
  ASSERT_NE(indirect, nullptr);
  EXPECT_LT(indirect->through - at(index.data()), index.size() * sizeof(int));
}

// A list by index is a chase; what is fetched on the way is indirect.
TEST_F(SamplingLoop, IndicesThatLeadToIndicesAreFollowed) {
  std::vector<double> weight(1024);
  std::vector<int> next(1024);
  for (std::size_t i = 0; i < next.size(); ++i)
    next[i] = static_cast<int>((i * i * 37 + i * 5 + 17) % next.size());
  sample.general[k_rdi] = at(weight.data());
  sample.general[k_rsi] = at(next.data());
  sample.general[k_rax] = 3;
  sample.general[k_rcx] = 1000;
  emulate(loop_hop_head, 12);
  const AccessPattern* chased = of(next, AccessKind::load);
  ASSERT_NE(chased, nullptr);
  EXPECT_EQ(chased->chased, 1);
  EXPECT_EQ(chased->through, 0u);
  const AccessPattern* indirect = of(weight, AccessKind::load);
  ASSERT_NE(indirect, nullptr);
  EXPECT_EQ(indirect->chased, 0);
  EXPECT_LT(indirect->through - at(next.data()), next.size() * sizeof(int));
}

TEST_F(SamplingLoop, PointersAreFollowed) {
  std::vector<void*> nodes(1024);
  for (std::size_t i = 0; i < nodes.size(); ++i)
    nodes[i] = &nodes[(i * 5 + 17) % nodes.size()];
  sample.general[k_rdi] = at(nodes.data());
  sample.general[k_rcx] = 1000;
  emulate(loop_chase_next, 1);
  ASSERT_EQ(found.size(), 1u);
  EXPECT_GT(found[0].chased, 0.8f);
}

// A counter that is reached through a pointer beside it, again and again, is no list.
TEST_F(SamplingLoop, WhatStaysInItsPlaceIsNotFollowed) {
  std::vector<void*> nodes(1024);
  for (void*& node : nodes)
    node = &nodes[5];
  sample.general[k_rdi] = at(&nodes[5]);
  sample.general[k_rcx] = 1000;
  emulate(loop_chase_next, 1);
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].chased, 0);
  EXPECT_EQ(found[0].strides[0].bytes, 0);
}

// A sample in the fifth iteration of a loop that began at i = 40.
struct Counted : SamplingLoop {
  std::vector<double> in = std::vector<double>(1 << 16), out = std::vector<double>(2048);
  static constexpr std::uint64_t k_begin = 40, k_iteration = 4;
  Counted() {
    sample.general[k_rcx] = at(in.data());
    sample.general[k_rdx] = at(out.data());
    sample.general[8] = 800;
    sample.general[9] = at(out.data()) + 8 * k_begin + 64;
    sample.general[10] = 8 * k_iteration;
  }
};
using SamplingCounted = Counted;

TEST_F(SamplingCounted, VectorsAreRecovered) {
  const Function* function = functions.around(at(loop_counted));
  ASSERT_NE(function, nullptr);
  const omptier::Loop* loop = loop_beginning_at(*function, function->at(at(loop_counted_head)));
  ASSERT_NE(loop, nullptr);
  EXPECT_EQ(way_into(*function, *loop).instructions.size(), 5u);
  MachineState state = MachineState::of(sample);
  ASSERT_TRUE(recover_vectors(*function, *loop, needed_reads(*function, *loop), state));
  ASSERT_TRUE(state.vectors_known & 1);
  for (std::uint64_t lane = 0; lane < 8; ++lane) {
    std::uint64_t value = 0;
    std::memcpy(&value, &state.vectors[0][lane * 8], 8);
    EXPECT_EQ(value, k_begin + 8 * k_iteration + lane);
  }
}

TEST_F(SamplingCounted, CountersThatContradictTellNothing) {
  const Function* function = functions.around(at(loop_counted));
  ASSERT_NE(function, nullptr);
  const omptier::Loop* loop = loop_beginning_at(*function, function->at(at(loop_counted_head)));
  sample.general[10] += 3; // between two iterations
  MachineState state = MachineState::of(sample);
  EXPECT_FALSE(recover_vectors(*function, *loop, needed_reads(*function, *loop), state));
  EXPECT_EQ(state.vectors_known, 0u);
}

TEST_F(SamplingCounted, GathersHaveTheirStrideAndPlace) {
  emulate(loop_counted_store, 2);
  const AccessPattern* gathered = of(in, AccessKind::load);
  ASSERT_NE(gathered, nullptr);
  EXPECT_NEAR(gathered->bytes, 1, 1e-3);
  EXPECT_EQ(gathered->strides[0].bytes, 256);
  EXPECT_FLOAT_EQ(gathered->strides[0].share, 1); // also from one vector to the next
  EXPECT_NE(of(out, AccessKind::store), nullptr);
  // The sample's own gather is over; the next begins 8 elements on.
  const std::uint64_t next = loops.next_address(sample, at(loop_counted_gather), 0);
  EXPECT_EQ(next, at(in.data()) + (k_begin + 8 * (k_iteration + 1)) * 256);
}

TEST_F(SamplingLoop, LanesThatAreOffAccessNothing) {
  std::vector<int> table(4096), index(4096);
  for (std::size_t i = 0; i < index.size(); ++i)
    index[i] = i % 4 == 0 ? static_cast<int>(i) + 1 : 0; // two lanes of eight
  for (const bool old : {false, true}) {
    sample.general[k_rdi] = at(table.data());
    sample.general[k_rsi] = at(index.data());
    sample.general[k_rcx] = 0;
    sample.general[k_rdx] = 4096;
    emulate(old ? loop_masked_old : loop_masked_head, 40);
    const AccessPattern* looked_up = of(table, AccessKind::load);
    ASSERT_NE(looked_up, nullptr) << old;
    EXPECT_NEAR(looked_up->bytes, 8, 1e-3) << old; // 32 bytes of indices, two lanes of 4
    EXPECT_NE(of(index, AccessKind::load), nullptr) << old;
  }
}

// What a loop keeps on the stack is that of the sample's moment; by now the thread is elsewhere.
TEST_F(SamplingLoop, TheStackIsThatOfTheSample) {
  std::vector<double> rows(100 * 64);
  sample.general[k_rdi] = at(rows.data());
  sample.general[k_rcx] = 301;
  sample.general[k_rdx] = 304;
  sample.general[8] = 64;
  const std::uint64_t row = 3;
  sample.stack_bytes = 16;
  std::memcpy(sample.stack.data() + 8, &row, sizeof row);
  stack[33] = 1'000'000;
  emulate(loop_rows_middle, 1);
  const AccessPattern* streamed = of(rows, AccessKind::load);
  ASSERT_NE(streamed, nullptr);
  EXPECT_EQ(streamed->strides[0].bytes, 8);
  EXPECT_EQ(streamed->strides[1].bytes, 97 * 8);
  EXPECT_EQ(streamed->strides[2].share, 0);
  for (const AccessPattern& pattern : found) // the rows and the stack
    EXPECT_TRUE(&pattern == streamed || pattern.address == at(stack + 33)) << pattern.address;
}

// The thread has left the function that held the pointers: both ends are those of the sample.
TEST_F(SamplingLoop, BothEndsOfACopyAreTheSamples) {
  std::vector<char> from(64 * 64), to(64 * 64);
  const std::uint64_t pointers[2] = {0x1000, at(to.data())};
  for (const std::uint64_t left : {64u, 40u, 1u}) {
    sample.general[8] = at(pointers);
    sample.general[9] = 64 * 64;
    sample.general[k_rdx] = 640;
    sample.general[k_rcx] = left;
    sample.general[k_rsi] = at(from.data()) + 704 - left;
    sample.general[k_rdi] = at(to.data()) + 704 - left;
    emulate(loop_pieces_copy, 8);
    const AccessPattern *read = of(from, AccessKind::load), *written = of(to, AccessKind::store);
    ASSERT_TRUE(read != nullptr && written != nullptr) << left;
    EXPECT_FLOAT_EQ(read->bytes, written->bytes) << left;
    EXPECT_GT(read->bytes, 3) << left; // beside two pointers
  }
}

// What ran before a place where ways meet is what the emulation comes from.
TEST_F(SamplingLoop, TheWayThatWasTakenIsBlamed) {
  std::vector<std::uint64_t> one(512), other(512);
  sample.general[k_rdi] = at(one.data());
  sample.general[9] = at(other.data());
  sample.general[k_rcx] = 20;
  sample.general[k_rdx] = 512;
  const auto blamed = [&](const char* meet) {
    emulate(meet, 1);
    const Function* function = functions.around(at(meet));
    return blamed_address(*function, function->at(at(meet)),
                          blamed_instruction(*function, function->at(at(meet))), sample, 0);
  };
  sample.general[k_rbx] = 1;
  EXPECT_EQ(blamed(loop_ways_meet), at(&other[20]));
  EXPECT_EQ(blamed(loop_unsure_meet), at(&one[20])); // the backward jump looks like a loop's end
  const Function* function = functions.around(at(loop_ways));
  const int meet = function->at(at(loop_ways_meet)),
            last = static_cast<int>(function->instructions.size()) - 1;
  EXPECT_EQ(function->before(meet), meet - 1);
  for (unsigned i = 0; i < 200; ++i)
    function->came(meet, last); // the majority counts
  EXPECT_EQ(function->before(meet), last);
  function->came(meet, last + 1); // nowhere
  EXPECT_EQ(function->before(meet), last);
}

// Registers of loop_inner in the fifth call.
struct Called : SamplingLoop {
  std::vector<std::uint64_t> a = std::vector<std::uint64_t>(512), b = a, c = a;
  Called() {
    sample.general[k_rdi] = at(a.data());
    sample.general[k_rsi] = at(b.data());
    sample.general[k_rdx] = at(c.data());
    sample.general[k_rcx] = sample.general[k_rbx] = 5;
    sample.general[k_rbp] = 512;
    stack[32] = at(loop_outer_back);
  }
  void expect_all_three() {
    for (const auto* object : {&a, &b})
      EXPECT_NE(of(*object, AccessKind::load), nullptr);
    EXPECT_NE(of(c, AccessKind::store), nullptr);
    EXPECT_EQ(found.size(), 3u);
  }
};
using SamplingCalled = Called;

TEST_F(SamplingCalled, TheCallersLoopIsSeen) {
  emulate(loop_inner_middle, 3);
  expect_all_three();
}

TEST_F(SamplingCalled, AReturnAddressOfAnotherCallIsNotBelieved) {
  emulate(loop_inner_middle, 3); // the caller is known from now on
  stack[32] = at(loop_outer_done);
  emulate(loop_inner_middle, 3);
  expect_all_three();
}

TEST_F(SamplingCalled, NextAccessIsFoundBehindTheReturn) {
  sample.pc = at(loop_inner_middle);
  EXPECT_EQ(loops.next_address(sample, at(loop_inner), 0), at(a.data()) + 6 * 8);
}

} // namespace
