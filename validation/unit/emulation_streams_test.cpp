// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Streams that one instruction serves in turn. The code below is only looked at, never run.
#include "emulated_loop.hpp"
#include "emulation/streams_in_turn.hpp"

#include <vector>

// clang-format off
asm(".text\n"
    ".macro place name\n .globl \\name\n .hidden \\name\n \\name:\n .endm\n"

    // sum += field[component][i] of nine components, which lie r8 bytes apart
    "place loop_components\n .cfi_startproc\n"
    "place loop_components_head\n"
    "  leaq (%rdi,%rcx,8), %rax\n"
    "  movl $9, %r9d\n"
    "place loop_components_load\n"
    "  vaddsd (%rax), %xmm0, %xmm0\n"
    "  addq %r8, %rax\n"
    "  decl %r9d\n"
    "  jnz loop_components_load\n"
    "  incq %rcx\n"
    "  cmpq %rdx, %rcx\n"
    "  jne loop_components_head\n"
    "  ret\n .cfi_endproc\n"

    // ++field[component][i], the same
    "place loop_counts\n .cfi_startproc\n"
    "place loop_counts_head\n"
    "  leaq (%rdi,%rcx,8), %rax\n"
    "  movl $9, %r9d\n"
    "place loop_counts_add\n"
    "  addq %rdx, (%rax)\n"
    "  addq %r8, %rax\n"
    "  decl %r9d\n"
    "  jnz loop_counts_add\n"
    "  incq %rcx\n"
    "  cmpq %rdx, %rcx\n"
    "  jne loop_counts_head\n"
    "  ret\n .cfi_endproc\n"
    ".purgem place\n");
// clang-format on
extern "C" const char loop_components_load[], loop_counts_add[];

namespace {

using namespace omptier;

// At the hundredth cell of a field of nine components; the sample is in the first of them.
struct EmulationComponents : EmulatedLoop {
  const std::vector<char> field = std::vector<char>(std::size_t{9} << 20);

  // Of the accesses of this kind; components so far apart.
  AccessPattern::Stride stride(const void* pc, std::size_t apart, AccessKind kind) {
    sample.general[k_rdi] = at(field.data());
    sample.general[k_rax] = at(field.data()) + 800;
    sample.general[8] = apart;
    sample.general[9] = 9;
    sample.general[k_rcx] = 100;
    sample.general[k_rdx] = 100'000;
    emulate(pc);
    const AccessPattern* pattern = of(field, kind);
    return pattern != nullptr ? pattern->strides[0] : AccessPattern::Stride{};
  }
};

constexpr std::size_t k_far_apart = std::size_t{1} << 20;

TEST_F(EmulationComponents, AreStreams) {
  const auto loads = stride(loop_components_load, k_far_apart, AccessKind::load);
  EXPECT_EQ(loads.bytes, 8);
  EXPECT_FLOAT_EQ(loads.share, 1);
}

TEST_F(EmulationComponents, AreStreamsWhereTheyAreUpdated) {
  EXPECT_EQ(stride(loop_counts_add, k_far_apart, AccessKind::load).bytes, 8);
  EXPECT_EQ(stride(loop_counts_add, k_far_apart, AccessKind::store).bytes, 8);
}

TEST_F(EmulationComponents, AreAColumnOfATileWhereTheyAreNear) {
  EXPECT_EQ(stride(loop_components_load, 4096, AccessKind::load).bytes, 4096);
}

TEST(EmulationStreams, AreToldApartByTheirRounds) {
  const auto step = [](std::vector<std::uint64_t> addresses) { return step_of_streams(addresses); };
  EXPECT_EQ(step({1000, 9000, 1008, 9008, 1016, 9016}), 8); // two halves of an array
  EXPECT_EQ(step({9000, 1000, 8992, 992, 8984, 984}), -8);  // downwards
  EXPECT_FALSE(step({1000, 1008, 1016, 1024, 1032, 1040})); // one stream
  EXPECT_FALSE(step({1000, 1008, 1064, 1072, 1128, 1136})); // fields of a structure
  EXPECT_FALSE(step({1000, 9000, 1000, 9000, 1000, 9000})); // the same two again and again
  EXPECT_FALSE(step({1000, 7777, 4242, 9008, 3333, 1016}));
  EXPECT_FALSE(step({0, 1ull << 63, 8, ~0ull, 1ull << 63}));
  EXPECT_FALSE(step({}));
}

} // namespace
