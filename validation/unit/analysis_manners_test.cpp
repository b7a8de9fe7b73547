// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Arrays that are accessed in two manners, and accesses of which the emulation lost the address:
// made-up samples of time with the accesses of their loops.
#include "analysis_summary.hpp"
#include "analysis_text.hpp"

#include <gtest/gtest.h>

using namespace omptier;

namespace {

constexpr std::uint32_t k_lost = ~std::uint32_t{0};
constexpr float k_pace = 100; // of all loops, bytes a nanosecond

struct Piece { // what one instruction of a loop accesses
  std::uint64_t pc;
  std::uint32_t site; // k_lost: its address is unknown
  AccessKind kind;
  float bytes;
  std::int64_t stride = 8; // 0: in no order
  std::uint32_t through = k_lost;
};
struct Waiting { // samples of one loop, blamed on one instruction
  unsigned samples;
  std::uint64_t pc;
  std::uint32_t site;
  std::vector<Piece> loop;
};

std::uint64_t place_in(std::uint32_t site, unsigned i) {
  return address_of_array(site) + 8 * i;
}

ProfileSummary summary_of_waiting(std::uint32_t arrays, const std::vector<Waiting>& all) {
  Profile profile = profile_of_arrays(arrays);
  for (const Waiting& waiting : all)
    for (unsigned i = 0; i < waiting.samples; ++i) {
      LoggedSample sample;
      sample.time = profile.last_time += 10'000'000;
      sample.pc = waiting.pc;
      sample.address = place_in(waiting.site, 0) + i * 7919 % 997 * 4096;
      sample.kind = AccessKind::load;
      sample.weight = 1e7f;
      sample.first_pattern = static_cast<std::uint32_t>(profile.patterns.size());
      sample.patterns = static_cast<std::uint32_t>(waiting.loop.size());
      for (const Piece& piece : waiting.loop) {
        AccessPattern pattern;
        pattern.time = sample.time;
        pattern.pc = piece.pc;
        pattern.loop = waiting.loop[0].pc;
        pattern.kind = piece.kind;
        pattern.bytes = piece.bytes * 1e7f;
        pattern.accesses = pattern.bytes / 8;
        pattern.run_nanoseconds = 1e5f * static_cast<float>(1 + i % 50);
        pattern.run_bytes = pattern.run_nanoseconds * k_pace;
        if (piece.site != k_lost) {
          pattern.address = place_in(piece.site, i);
          pattern.strides[0] = {piece.stride, 1};
          if (piece.stride == 0) pattern.strides[0] = {8 * (1 + i * 7919 % 1000), 0.1f};
        }
        if (piece.through != k_lost) pattern.through = place_in(piece.through, i);
        profile.patterns.push_back({pattern, {}, {}});
      }
      profile.samples.push_back(sample);
    }
  return summary_of(profile);
}

// atoms are walked, three quarters of their bytes, and gathered, most of their time.
TEST(Manners, WhatWaitsIsPricedAsWhatItIs) {
  constexpr std::uint32_t k_atoms = 0, k_neighbour = 1;
  const ProfileSummary summary = summary_of_waiting(
      2, {{20, 0x101, k_atoms, {{0x101, k_atoms, AccessKind::load, 1}}},
          {80,
           0x203,
           k_atoms,
           {{0x201, k_neighbour, AccessKind::load, 0.2f},
            {0x202, k_atoms, AccessKind::load, 0.5f},
            {0x203, k_atoms, AccessKind::load, 0.3f, 0, k_neighbour}}}});
  const SiteSummary& atoms = site_at(summary, k_atoms);
  EXPECT_EQ(atoms.pattern.kind, PatternKind::sequential);
  EXPECT_EQ(atoms.pattern.also, PatternKind::random);
  EXPECT_GT(atoms.accesses.scattered_load, 0.75 * atoms.accesses.total());
  EXPECT_GT(atoms.accesses.streamed_load, 0.15 * atoms.accesses.total());
  EXPECT_EQ(atoms.accesses.stores(), 0);
  EXPECT_NE(text_of(summary).find("  84.0 %  sequential, indirect (through array1) "),
            std::string::npos)
      << text_of(summary);
}

// Gathered by loads, filled in order by stores: each manner has its own.
TEST(Manners, LoadsAndStoresAreThoseOfTheirManner) {
  const ProfileSummary summary =
      summary_of_waiting(2, {{60,
                              0x102,
                              0,
                              {{0x101, 1, AccessKind::load, 0.5f},
                               {0x102, 0, AccessKind::load, 0.5f, 0}}},
                             {40, 0x201, 0, {{0x201, 0, AccessKind::store, 1}}}});
  const AccessWeights& accesses = site_at(summary, 0).accesses;
  EXPECT_NEAR(accesses.scattered_load / accesses.total(), 0.6, 0.05);
  EXPECT_NEAR(accesses.streamed_store / accesses.total(), 0.4, 0.05);
  EXPECT_EQ(accesses.scattered_store, 0);
  EXPECT_EQ(accesses.streamed_load, 0);
}

// What the samples were blamed on says what was accessed there.
TEST(LostAccesses, AreThoseOfTheObjectThatWaited) {
  const std::vector<Piece> loop = {{0x101, 1, AccessKind::load, 0.5f},
                                   {0x102, k_lost, AccessKind::load, 0.5f}};
  const ProfileSummary summary =
      summary_of_waiting(2, {{70, 0x102, 0, loop}, {30, 0x101, 1, loop}});
  EXPECT_NEAR(site_at(summary, 0).access_share.value, 0.5, 1e-6);
  EXPECT_NEAR(site_at(summary, 1).access_share.value, 0.5, 1e-6);
  EXPECT_LT(site_at(summary, 1).access_share.high, 0.6);
  EXPECT_EQ(site_at(summary, 0).pattern.kind, PatternKind::unknown);
}

// Nothing waited for the scatter: it may be any of the loop's, and no other's.
TEST(LostAccesses, LeaveTheObjectsOfTheirLoopOpen) {
  const std::vector<Piece> loop = {{0x101, 1, AccessKind::load, 0.4f},
                                   {0x102, k_lost, AccessKind::store, 0.6f}};
  const ProfileSummary summary = summary_of_waiting(
      3, {{50, 0x101, 1, loop}, {50, 0x201, 2, {{0x201, 2, AccessKind::load, 1}}}});
  const SiteSummary &beside = site_at(summary, 1), &other = site_at(summary, 2);
  EXPECT_NEAR(beside.access_share.value, 0.2, 0.02);
  EXPECT_GT(beside.access_share.high, 0.5); // value and what was lost
  EXPECT_NEAR(other.access_share.value, 0.5, 0.02);
  EXPECT_LT(other.access_share.high, 0.85); // with what was lost, 1
  EXPECT_FALSE(beside.knows_writes()); // loads were all that was seen
  EXPECT_TRUE(other.knows_writes());
  EXPECT_LT(beside.access_rate.known, 0.6);
}

// Half of the time and none of the accesses: these were not seen.
TEST(LostAccesses, WhatTakesTheTimeIsAccessed) {
  const ProfileSummary summary =
      summary_of_waiting(2, {{50, 0x301, 0, {{0x201, 1, AccessKind::load, 1}}},
                             {50, 0x201, 1, {{0x201, 1, AccessKind::load, 1}}}});
  EXPECT_EQ(site_at(summary, 0).access_share.high, 1);
  EXPECT_NE(text_of(summary).find("64.0 MiB       1           -         -  -  "), std::string::npos)
      << text_of(summary);
}

} // namespace
