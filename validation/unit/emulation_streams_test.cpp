// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Streams that one instruction serves in turn. The code below is only looked at, never run.
#include "emulated_loop.hpp"
#include "emulation/streams_in_turn.hpp"

#include <array>
#include <span>
#include <vector>

// clang-format off
asm(PLACES ".text\n"
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
    "  ret\n .cfi_endproc\n");
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
  EXPECT_EQ(step({9000, 5000, 1000, 9008, 5008, 1008}), 8); // two rounds
  EXPECT_FALSE(step({1000, 9000, 1008, 9008}));
  EXPECT_FALSE(step({1000, 1008, 1016, 1024, 1032, 1040})); // one stream
  EXPECT_FALSE(step({1000, 1008, 1064, 1072, 1128, 1136})); // fields of a structure
  EXPECT_FALSE(step({1000, 9000, 1000, 9000, 1000, 9000})); // the same two again and again
  EXPECT_FALSE(step({1000, 7777, 4242, 9008, 3333, 1016}));
  EXPECT_FALSE(step({0, 1ull << 63, 8, ~0ull, 1ull << 63}));
  EXPECT_FALSE(step({}));
}

using Are = StreamsInNoOrder::Are;

TEST(EmulationStreams, ContinueInNoOrder) {
  const auto are = [](std::vector<std::uint64_t> addresses) {
    return streams_in_no_order(addresses, 16).are;
  };
  const std::vector<std::uint64_t> dealt = {5000, 9000, 1000, 5016, 7000, 3000, 1016, 5032, 7016};
  EXPECT_EQ(are(dealt), Are::certain);
  EXPECT_EQ(streams_in_no_order(dealt, 16).step, 16);
  EXPECT_EQ(streams_in_no_order(dealt, 8).are, Are::certain);
  const auto fewer = std::span(dealt).first(dealt.size() - 1); // three pairs
  EXPECT_EQ(streams_in_no_order(fewer, 16).are, Are::certain);
  EXPECT_EQ(streams_in_no_order(fewer, 8).are, Are::perhaps);
  EXPECT_EQ(are({5000, 9000, 1000, 7000, 3000, 9016}), Are::perhaps); // one pair
  EXPECT_EQ(are({5000, 3000, 9000, 7000, 1000, 5016, 2000, 9016, 7016, 1016}),
            Are::perhaps); // all come again after four others
  EXPECT_EQ(are({5000, 9000, 1000, 5016, 7000, 3000, 8000, 5032, 6000, 5048}),
            Are::perhaps); // one stream
  EXPECT_EQ(are({5000, 9000, 1000, 7000, 3000, 2000}), Are::none);
  EXPECT_EQ(are({5000, 5016, 1000, 1016, 7000, 7016}), Are::none); // short runs
  EXPECT_EQ(are({5000, 9000, 5008, 9016, 1000, 4984}), Are::none); // near each other
  EXPECT_EQ(are({5000, 9000, 5000, 9000, 1000, 9016}), Are::none); // counted there
  EXPECT_EQ(are({~0ull, 5000, 15, 9000}), Are::none); // 16 bytes apart only modulo 2^64
  EXPECT_EQ(are({}), Are::none);
}

// An emulation sees 17 accesses, or 25 and more if the first 17 say that it may pay.
struct EmulationsOf {
  static constexpr std::size_t k_walks = 1000, k_first = 17, k_accesses = 25;
  std::uint64_t state = 1;

  std::uint64_t random(std::uint64_t below) {
    state = state * 0x5851f42d4c957f2d + 1;
    return (state >> 33) % below;
  }
  // Part of them in which streams are found.
  template <typename Next> static double part(std::uint64_t bytes, const Next& next) {
    std::size_t found = 0;
    for (std::size_t i = 0; i < k_walks; ++i) {
      std::vector<std::uint64_t> walk;
      while (walk.size() < k_accesses)
        walk.push_back(next());
      Are are = streams_in_no_order(std::span(walk).first(k_first), bytes).are;
      if (are == Are::perhaps) are = streams_in_no_order(walk, bytes).are;
      found += are == Are::certain ? 1 : 0;
    }
    return static_cast<double>(found) / k_walks;
  }
};

TEST(EmulationStreams, AreFoundInAPartitioning) {
  EmulationsOf walks;
  std::vector<std::uint64_t> end(64);
  for (std::size_t i = 0; i < end.size(); ++i)
    end[i] = i << 20;
  EXPECT_GT(walks.part(16, [&] { return end[walks.random(end.size())] += 16; }), 0.8);
}

// At random from 1 MiB; rows of sixteen such entries and the diagonal; five points of a grid, of
// which some are missing.
TEST(EmulationStreams, AreNotFoundInGathers) {
  EmulationsOf walks;
  const auto gather = [&] { return walks.random(1 << 16) * 16; };
  EXPECT_LT(walks.part(16, gather), 0.02);
  std::uint64_t row = 0, entry = 0;
  const auto diagonal = [&] { return (row++ << 3) + (1 << 30); };
  EXPECT_LT(walks.part(8, [&] { return entry++ % 17 == 0 ? diagonal() : gather(); }), 0.02);
  for (const std::uint64_t missing : {0, 2, 10, 30})
    EXPECT_LT(walks.part(8,
                         [&] {
                           constexpr std::array<std::uint64_t, 5> k_points = {0, 999, 1000, 1001,
                                                                              2000};
                           do
                             ++entry;
                           while (walks.random(100) < missing);
                           return (entry / 5 + k_points[entry % 5]) * 8;
                         }),
              0.02)
        << missing;
}

} // namespace
