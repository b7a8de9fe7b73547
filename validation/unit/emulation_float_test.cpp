// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Loops whose indices are coordinates: casts from floating-point values to integers, in scalars and
// in vectors; and loops in which they cannot be followed. The code is only looked at, never run.

#include "emulated_loop.hpp"

#include <vector>

// clang-format off
asm(PLACES ".text\n"
    // grid[(int)y[i]][(int)x[i]] += 1, rows of 64
    "place float_deposit\n .cfi_startproc\n"
    "  movsd float_one(%rip), %xmm1\n"
    "place float_deposit_head\n"
    "  cvttsd2si (%rdx,%rcx,8), %eax\n"
    "  cvttsd2si (%rsi,%rcx,8), %r8d\n"
    "  addq $1, %rcx\n"
    "  cltq\n"
    "  shlq $6, %rax\n"
    "  movslq %r8d, %r8\n"
    "  addq %r8, %rax\n"
    "  leaq (%rdi,%rax,8), %rax\n"
    "  movsd (%rax), %xmm0\n"
    "place float_deposit_add\n"
    "  addsd %xmm1, %xmm0\n"
    "  movsd %xmm0, (%rax)\n"
    "  cmpq %r9, %rcx\n"
    "  jne float_deposit_head\n"
    "  ret\n .cfi_endproc\n"

    // u[i] += field[floor(x[i] * scale) + 1]; the sample lies between load and conversion.
    "place float_push\n .cfi_startproc\n"
    "  vmovss float_scale(%rip), %xmm5\n"
    "place float_push_head\n"
    "  vmovss (%rsi,%rcx,4), %xmm0\n"
    "place float_push_loaded\n"
    "  vmulss %xmm5, %xmm0, %xmm0\n"
    "  vroundss $9, %xmm0, %xmm0, %xmm0\n"
    "  vcvttss2si %xmm0, %rax\n"
    "  vmovss (%rdx,%rcx,4), %xmm1\n"
    "  vaddss 4(%rdi,%rax,4), %xmm1, %xmm1\n"
    "  vmovss %xmm1, (%rdx,%rcx,4)\n"
    "  addq $1, %rcx\n"
    "  cmpq %r9, %rcx\n"
    "  jne float_push_head\n"
    "  ret\n .cfi_endproc\n"

    // sum += grid[(int)x[i]], eight at a time
    "place float_gather\n .cfi_startproc\n"
    "place float_gather_head\n"
    "  vcvttps2dq (%rsi,%rcx,4), %ymm0\n"
    "  vpcmpeqd %ymm2, %ymm2, %ymm2\n"
    "place float_gather_load\n"
    "  vgatherdps %ymm2, (%rdi,%ymm0,4), %ymm3\n"
    "  vaddps %ymm3, %ymm4, %ymm4\n"
    "  addq $8, %rcx\n"
    "  cmpq %r9, %rcx\n"
    "  jne float_gather_head\n"
    "  ret\n .cfi_endproc\n"

    // A walk whose place was computed before the sample: table[(int)at] beside x[i], at += step
    "place float_walk\n .cfi_startproc\n"
    "place float_walk_head\n"
    "  cvttsd2si %xmm5, %rax\n"
    "  movsd (%rsi,%rcx,8), %xmm0\n"
    "place float_walk_lost\n"
    "  mulsd (%rdi,%rax,8), %xmm0\n"
    "  addsd %xmm6, %xmm5\n"
    "  movsd %xmm0, (%rsi,%rcx,8)\n"
    "  addq $1, %rcx\n"
    "  cmpq %r9, %rcx\n"
    "  jne float_walk_head\n"
    "  ret\n .cfi_endproc\n"

    ".section .rodata\n .balign 8\n"
    "float_one: .double 1\n"
    "float_scale: .float 0.5\n"
    ".text\n");

extern "C" const char float_deposit_head[], float_deposit_add[], float_push_loaded[],
    float_gather_head[], float_walk_head[], float_walk_lost[];
// clang-format on

namespace {

using namespace omptier;

constexpr std::size_t k_side = 64, k_particles = 4096;

struct Coordinates : EmulatedLoop {
  std::vector<double> grid = std::vector<double>(k_side * k_side + 1), x{}, y{};
  Coordinates() {
    for (std::size_t i = 0; i < k_particles; ++i) {
      x.push_back(double(i * i * 2654435761u >> 7 & 63) + 0.75);
      y.push_back(double(i * i * 40503u >> 5 & 63) + 0.25);
    }
    sample.general[k_rcx] = 128;
    sample.general[9] = k_particles;
  }
};
using SamplingCoordinates = Coordinates;

TEST_F(SamplingCoordinates, CastsAreFollowed) {
  sample.general[k_rdi] = at(grid.data());
  sample.general[k_rsi] = at(x.data());
  sample.general[k_rdx] = at(y.data());
  sample.general[k_rax] = at(&grid[77]); // of the load that the thread waits for
  for (const char* pc : {float_deposit_head, float_deposit_add}) {
    emulate(pc, 32);
    ASSERT_EQ(found.size(), 4u);
    for (const AccessKind kind : {AccessKind::load, AccessKind::store}) {
      const AccessPattern* deposited = of(grid, kind);
      ASSERT_NE(deposited, nullptr);
      EXPECT_NEAR(deposited->bytes, 8, 1e-3);
      EXPECT_LT(deposited->strides[0].share, 0.5f); // scattered
    }
    EXPECT_EQ(of(x, AccessKind::load)->strides[0].bytes, 8);
    EXPECT_EQ(of(y, AccessKind::load)->strides[0].bytes, 8);
  }
}

// The sample's own coordinate is unknown: those of the next iterations count.
TEST_F(SamplingCoordinates, SinglePrecisionFromTheNextIterationOn) {
  std::vector<float> field(k_side + 2), place(x.begin(), x.end()), speed(k_particles);
  sample.general[k_rdi] = at(field.data());
  sample.general[k_rsi] = at(place.data());
  sample.general[k_rdx] = at(speed.data());
  emulate(float_push_loaded, 16);
  ASSERT_EQ(found.size(), 4u);
  const AccessPattern* gathered = of(field, AccessKind::load);
  ASSERT_NE(gathered, nullptr);
  EXPECT_NEAR(gathered->bytes, 4, 1e-3);
  EXPECT_LT(gathered->strides[0].share, 0.5f);
  for (const AccessPattern& pattern : found)
    EXPECT_NE(pattern.address, 0u);
}

TEST_F(SamplingCoordinates, VectorsAreConverted) {
  std::vector<float> table(k_side), place(x.begin(), x.end());
  sample.general[k_rdi] = at(table.data());
  sample.general[k_rsi] = at(place.data());
  emulate(float_gather_head, 8);
  const AccessPattern* gathered = of(table, AccessKind::load);
  ASSERT_NE(gathered, nullptr);
  EXPECT_NEAR(gathered->bytes, 4, 1e-3);
  EXPECT_GT(gathered->strides[0].share, 0);
  EXPECT_LT(gathered->strides[0].share, 0.5f);
}

// The others do not become the whole loop.
TEST_F(SamplingCoordinates, WhatCannotBeFollowedHasItsShare) {
  sample.general[k_rdi] = at(grid.data());
  sample.general[k_rsi] = at(x.data());
  emulate(float_walk_head, 24);
  ASSERT_EQ(found.size(), 3u);
  const auto lost = std::ranges::find(found, 0u, &AccessPattern::address);
  ASSERT_NE(lost, found.end());
  EXPECT_EQ(lost->pc, at(float_walk_lost));
  EXPECT_EQ(lost->kind, AccessKind::load);
  EXPECT_NEAR(lost->bytes, 8, 1e-3);
  EXPECT_NEAR(lost->bytes / lost->accesses, 8, 1e-3);
  EXPECT_NEAR(of(x, AccessKind::load)->bytes, 8, 1e-3);
  EXPECT_NEAR(of(x, AccessKind::store)->bytes, 8, 1e-3);
}

} // namespace
