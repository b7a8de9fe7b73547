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

    // *rdi = 0 for rcx bytes; then r8 loads from rsi
    "place loop_fill\n .cfi_startproc\n"
    "  xorl %eax, %eax\n"
    "place loop_fill_sample\n"
    "  rep stosb\n"
    "1: movq (%rsi), %rax\n"
    "  addq $8, %rsi\n"
    "  decq %r8\n"
    "  jnz 1b\n"
    "  ret\n .cfi_endproc\n"
    ".purgem place\n");
// clang-format on
extern "C" const char loop_components_load[], loop_counts_add[], loop_fill_sample[];

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

struct EmulationFill : EmulatedLoop {
  const std::vector<char> filled = std::vector<char>(4096), loaded = std::vector<char>(65536);

  void emulate_from(std::uint64_t bytes) {
    sample.general[k_rcx] = bytes;
    sample.general[k_rdi] = at(filled.data());
    sample.general[k_rsi] = at(loaded.data());
    sample.general[8] = 8000;
    emulate(loop_fill_sample, 100);
  }
};

// The program was interrupted while it filled; what it does afterwards is another sample's.
TEST_F(EmulationFill, IsNotTheLoopBehindIt) {
  emulate_from(4000);
  ASSERT_EQ(found.size(), 1);
  const AccessPattern* const store = of(filled, AccessKind::store);
  ASSERT_NE(store, nullptr);
  EXPECT_FLOAT_EQ(store->bytes, 100);
  EXPECT_FLOAT_EQ(store->accesses, 100 / 4000.0F);
  EXPECT_EQ(store->loop, 0);
}

TEST_F(EmulationFill, ThatIsOverIsThatLoop) {
  emulate_from(0);
  EXPECT_EQ(of(filled, AccessKind::store), nullptr);
  EXPECT_NE(of(loaded, AccessKind::load), nullptr);
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

TEST(EmulationStreams, ContinueInNoOrder) {
  const auto kind = [](std::vector<std::uint64_t> addresses) {
    return streams_in_no_order(addresses, 16);
  };
  EXPECT_EQ(kind({5000, 9000, 1000, 5016, 7000, 3000, 1016, 5032}), InNoOrder::yes);
  EXPECT_EQ(kind({5000, 9000, 1000, 7000, 3000, 9016}), InNoOrder::perhaps); // one pair
  EXPECT_EQ(kind({5000, 1000, 9000, 7000, 5016, 3000, 9016, 7016}),
            InNoOrder::perhaps); // no chance
  EXPECT_EQ(kind({5000, 9000, 1000, 5016, 7000, 3000, 8000, 5032, 6000, 5048}),
            InNoOrder::perhaps); // one stream
  EXPECT_EQ(kind({5000, 9000, 1000, 7000, 3000, 2000}), InNoOrder::no);
  EXPECT_EQ(kind({5000, 5016, 1000, 1016, 7000, 7016}), InNoOrder::no);
  EXPECT_EQ(kind({5000, 9000, 5008, 9016, 1000, 4984}), InNoOrder::no); // near each other
  EXPECT_EQ(kind({5000, 9000, 5000, 9000, 1000, 9016}), InNoOrder::no); // counted there
  EXPECT_EQ(kind({0, ~0ull, 16 - 1, ~0ull - 15}), InNoOrder::no);
  EXPECT_EQ(kind({}), InNoOrder::no);
}

// Tuples are dealt to 64 partitions by a hash; an emulation sees about 45 of them, if the first 17
// say that it may pay. Of a gather from a table of 1 MiB, and of a sparse matrix whose rows have
// sixteen entries and the diagonal, hardly an emulation says so.
TEST(EmulationStreams, AreSeenInMostWalksOverAPartitioning) {
  constexpr std::size_t k_partitions = 64, k_walks = 1000, k_first = 17, k_accesses = 45;
  std::uint64_t state = 1;
  const auto random = [&] { return (state = state * 0x5851f42d4c957f2d + 1) >> 33; };
  const auto part = [&](auto&& next) {
    std::size_t seen = 0;
    for (std::size_t i = 0; i < k_walks; ++i) {
      std::vector<std::uint64_t> walk;
      while (walk.size() < k_accesses)
        walk.push_back(next());
      const auto first = streams_in_no_order(std::span(walk).first(k_first), 16);
      seen +=
          (first == InNoOrder::perhaps ? streams_in_no_order(walk, 16) : first) == InNoOrder::yes
              ? 1
              : 0;
    }
    return static_cast<double>(seen) / k_walks;
  };
  std::vector<std::uint64_t> end(k_partitions);
  for (std::size_t i = 0; i < k_partitions; ++i)
    end[i] = i << 20;
  EXPECT_GT(part([&] { return end[random() % k_partitions] += 16; }), 0.8);
  const auto gather = [&] { return random() % (std::uint64_t{1} << 16) * 16; };
  EXPECT_LT(part(gather), 0.02);
  std::uint64_t row = 0, entry = 0;
  EXPECT_LT(part([&] { return entry++ % 17 == 0 ? (row++ << 4) + (1 << 30) : gather(); }), 0.02);
}

} // namespace
