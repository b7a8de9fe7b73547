// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Iterations between two samples, from pretended registers, and what a loop accesses meanwhile. The
// code below is only looked at, never run.

#include "code_places.hpp"
#include "emulation/loop_accesses.hpp"
#include "emulation/loop_pace.hpp"

#include <gtest/gtest.h>
#include <vector>

// clang-format off
asm(PLACES ".text\n"
    // y[i] = x[i]; i in rcx, end in rdx, another counter in r8
    "place pace_copy\n .cfi_startproc\n"
    "place pace_copy_head\n"
    "  movq (%rdi,%rcx,8), %rax\n"
    "place pace_copy_store\n"
    "  movq %rax, (%rsi,%rcx,8)\n"
    "  subq $16, %r8\n"
    "  incq %rcx\n"
    "place pace_copy_end\n"
    "  cmpq %rdx, %rcx\n"
    "  jne pace_copy_head\n"
    "  ret\n .cfi_endproc\n"

    // The same up to an end on the stack.
    "place pace_memory\n .cfi_startproc\n"
    "place pace_memory_head\n"
    "  movq (%rdi,%rcx,8), %rax\n"
    "  incq %rcx\n"
    "  cmpq 8(%rsp), %rcx\n"
    "  jne pace_memory_head\n"
    "  ret\n .cfi_endproc\n"

    // Rows of 12 elements: the row in rcx, all of them in rdx, the place in the row in r9.
    "place pace_rows\n .cfi_startproc\n"
    "place pace_rows_head\n"
    "  xorl %r9d, %r9d\n"
    "place pace_row_head\n"
    "  movq (%rdi,%r9,8), %rax\n"
    "  incq %r9\n"
    "  cmpq $12, %r9\n"
    "  jne pace_row_head\n"
    "place pace_rows_next\n"
    "  addq $96, %rdi\n"
    "  incq %rcx\n"
    "  cmpq %rdx, %rcx\n"
    "  jne pace_rows_head\n"
    "  ret\n .cfi_endproc\n"

    // Gathers of 16 elements each; i in rcx, end in rdx. Their indices stay the same.
    "place pace_gather\n .cfi_startproc\n"
    "place pace_gather_head\n"
    "  vmovdqu32 (%rsi), %zmm4\n"
    "  .rept 24\n"
    "  kxnorw %k0, %k0, %k1\n"
    "  vgatherdps (%rdi,%zmm4,4), %zmm0{%k1}\n"
    "  .endr\n"
    "  incq %rcx\n"
    "  cmpq %rdx, %rcx\n"
    "  jne pace_gather_head\n"
    "  ret\n .cfi_endproc\n");

extern "C" const char pace_copy_head[], pace_copy_store[], pace_copy_end[], pace_memory_head[];
extern "C" const char pace_gather_head[], pace_rows_head[], pace_row_head[], pace_rows_next[];
// clang-format on

namespace {

using namespace omptier;

constexpr double k_gap = 1e6; // ns

struct Pace : testing::Test {
  FunctionCache functions;
  LoopAccesses loops{functions};
  std::vector<double> x = std::vector<double>(1 << 16), y = x;
  std::uint64_t stack[64] = {};
  RegisterSample earlier, later;
  LoopRegisters loop;

  Pace() {
    functions.refresh();
    earlier.general[k_rsp] = at(stack + 32);
    earlier.general[k_rdi] = at(x.data());
    earlier.general[k_rsi] = at(y.data());
    earlier.general[k_rcx] = 1000;
    earlier.general[k_rdx] = 40000;
    earlier.general[8] = 1 << 20;
    earlier.pc = at(pace_copy_store);
    earlier.time = earlier.ran = 1;
    later = earlier;
    later.time = earlier.time + 2 * static_cast<std::uint64_t>(k_gap); // others ran meanwhile
    later.ran = earlier.ran + static_cast<std::uint64_t>(k_gap);
    loop = registers_of(pace_copy_head);
    loop.counting = 1u << k_rcx | 1u << 8;
    loop.step[k_rcx] = 1;
    loop.step[8] = -16;
  }
  LoopRegisters registers_of(const void* head) {
    const Function* function = functions.around(at(head));
    const Loop* found = innermost_loop(*function, function->at(at(head)));
    return found != nullptr ? omptier::registers_of(*function, *found) : LoopRegisters();
  }
  void go_on(std::uint64_t iterations) {
    later.general[k_rcx] += iterations;
    later.general[8] -= 16 * iterations;
  }
  std::optional<double> iterations() const {
    return iterations_between(loop, earlier, later, k_gap);
  }
  // Of the first pattern.
  AccessPattern emulate() {
    const auto patterns = loops.of(later, 100, &earlier);
    return patterns.empty() ? AccessPattern() : patterns.front();
  }
};

using SamplingPace = Pace;

TEST_F(SamplingPace, RegistersOfALoop) {
  loop = registers_of(pace_copy_store); // from any instruction of it
  EXPECT_EQ(loop.head, at(pace_copy_head));
  EXPECT_FALSE(loop.ends_by_memory);
  for (const unsigned fixed : {unsigned{k_rsi}, unsigned{k_rdi}, unsigned{k_rdx}, unsigned{k_rsp}})
    EXPECT_NE(loop.fixed >> fixed & 1, 0) << fixed;
  for (const unsigned counts : {unsigned{k_rcx}, 8u})
    EXPECT_NE(loop.counting >> counts & 1, 0) << counts;
  EXPECT_TRUE(registers_of(pace_memory_head).ends_by_memory);
}

TEST_F(SamplingPace, IterationsAreCounted) {
  go_on(5000);
  EXPECT_EQ(iterations(), 5000);
  later.general[8] += 16; // not yet counted where the later sample was taken
  EXPECT_EQ(iterations(), 4999.5);
}

TEST_F(SamplingPace, OtherRunsAreFoundOut) {
  go_on(5000);
  const RegisterSample good = later;
  later.general[k_rdx] += 64; // the end is another
  EXPECT_EQ(iterations(), -1);
  later = good;
  later.general[k_rsp] -= 64; // another invocation
  EXPECT_EQ(iterations(), -1);
  later = good;
  later.general[k_rcx] = 10; // began again
  EXPECT_EQ(iterations(), -1);
  later = good;
  later.general[8] -= 32; // counters that disagree
  EXPECT_EQ(iterations(), -1);
  later = good;
  later.general[8] -= 7; // no multiple of the step
  EXPECT_EQ(iterations(), -1);
  later = good;
  go_on(std::uint64_t{1} << 32); // a counter that wrapped: faster than any processor
  EXPECT_EQ(iterations(), -1);
}

TEST_F(SamplingPace, WhatCannotBeToldIsNot) {
  go_on(3); // one more or less would matter
  EXPECT_FALSE(iterations());
  go_on(5000);
  loop.counting = 0;
  EXPECT_FALSE(iterations());
  loop = registers_of(pace_memory_head);
  loop.step[k_rcx] = 1;
  EXPECT_FALSE(iterations());
}

TEST_F(SamplingPace, BytesOfARunComeWithThePattern) {
  go_on(5000);
  const AccessPattern pattern = emulate();
  EXPECT_EQ(pattern.loop, at(pace_copy_head));
  EXPECT_EQ(pattern.run_nanoseconds, k_gap); // of CPU time
  EXPECT_NEAR(pattern.run_bytes, 5000 * 16, 16);
  later.general[k_rcx] = 10;
  EXPECT_EQ(emulate().run_bytes, -1);
  earlier.pc = at(pace_memory_head); // another loop: nothing is known
  EXPECT_EQ(emulate().run_nanoseconds, 0);
  EXPECT_EQ(emulate().loop, at(pace_copy_head));
}

// Two samples seldom lie in one row, but in one run of the loop over rows.
TEST_F(SamplingPace, ShortLoopsHaveThePaceOfTheLoopAroundThem) {
  earlier.pc = at(pace_row_head);
  earlier.general[k_rcx] = 100;
  earlier.general[9] = 3;
  later = earlier;
  later.time += static_cast<std::uint64_t>(k_gap);
  later.ran += static_cast<std::uint64_t>(k_gap);
  later.general[k_rcx] += 500;
  later.general[k_rdi] += 500 * 96;
  const AccessPattern pattern = emulate();
  EXPECT_EQ(pattern.loop, at(pace_row_head)); // that of the sample
  EXPECT_NEAR(pattern.run_bytes, 500 * 96, 96);
  later.general[k_rdx] += 64; // another run of both
  EXPECT_EQ(emulate().run_bytes, -1);
  later.general[k_rdx] -= 64;
  earlier.pc = at(pace_rows_next); // in the outer one alone
  EXPECT_NEAR(emulate().run_bytes, 500 * 96, 96);
  later.general[k_rdi] += 8; // its counters disagree
  EXPECT_EQ(emulate().run_bytes, -1);
  later.general[k_rcx] = earlier.general[k_rcx] + 3; // too few rows to tell
  later.general[k_rdi] = earlier.general[k_rdi] + 3 * 96;
  EXPECT_EQ(emulate().run_nanoseconds, 0);
  earlier.pc = at(pace_row_head); // but two runs of the loop over a row
  EXPECT_EQ(emulate().run_bytes, -1);
}

// More accesses than are kept come in fewer iterations than are emulated.
TEST_F(SamplingPace, IterationsWithoutTheirAccessesDoNotCount) {
  earlier.pc = at(pace_gather_head);
  earlier.general[k_rcx] = 1000;
  later.pc = earlier.pc;
  go_on(5000);
  later.general[8] = earlier.general[8]; // counts in the other loop
  const AccessPattern pattern = emulate();
  EXPECT_EQ(pattern.loop, at(pace_gather_head));
  EXPECT_NEAR(pattern.run_bytes, 5000.0 * (64 + 24 * 64), 1600);
}

TEST_F(SamplingPace, SamplesOfOneThreadMakePairs) {
  SamplesBefore before;
  EXPECT_EQ(before.before(later), nullptr);
  before.keep(earlier);
  ASSERT_NE(before.before(later), nullptr);
  EXPECT_EQ(before.before(later)->ran, earlier.ran);
  later.thread = 7;
  EXPECT_EQ(before.before(later), nullptr);
  later.thread = earlier.thread;
  later.ran = earlier.ran + 1000; // too near
  EXPECT_EQ(before.before(later), nullptr);
  later.ran = 0;
  EXPECT_EQ(before.before(later), nullptr);
  for (std::uint32_t thread = 1; thread < 10000; ++thread) { // memory is bounded: all are dropped
    earlier.thread = thread;
    before.keep(earlier);
  }
  later = earlier;
  later.ran += static_cast<std::uint64_t>(k_gap);
  later.time += 1;
  EXPECT_NE(before.before(later), nullptr);
  later.thread = 0;
  EXPECT_EQ(before.before(later), nullptr);
}

} // namespace
