// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What comes to a program as new pages: the kernel's misses on them, as the virtual machine's event
// unit records them, and how many bytes of them there are under a plan.
#include "analysis_summary.hpp"
#include "units.hpp"

using namespace omptier;

namespace {

// One sample in three of array 0 is the kernel's clearing; none of array 1.
TEST(FirstTouch, IsAPartOfTheObjectsStores) {
  Profile profile = profile_of_arrays(2);
  profile.run.measure = Measure::misses;
  for (unsigned i = 0; i < 300; ++i) {
    LoggedSample sample;
    sample.time = profile.last_time += 1000;
    sample.address = address_of_array(i % 2) + 64 * i;
    sample.weight = 10;
    sample.level = AccessLevel::memory;
    sample.streamed = true;
    sample.by_kernel = i % 6 == 0;
    sample.kind = sample.by_kernel ? AccessKind::store : AccessKind::load;
    profile.samples.push_back(sample);
  }
  const ProfileSummary summary = summary_of(profile);
  const SiteSummary &cleared = site_at(summary, 0), &other = site_at(summary, 1);
  EXPECT_DOUBLE_EQ(cleared.first_touch.streamed_store, 500);
  EXPECT_DOUBLE_EQ(cleared.first_touch.total(), 500);
  EXPECT_DOUBLE_EQ(cleared.accesses.streamed_store, 500);
  EXPECT_DOUBLE_EQ(cleared.accesses.total(), 1500);
  EXPECT_DOUBLE_EQ(other.first_touch.total(), 0);
  EXPECT_DOUBLE_EQ(cleared.by_region[0].first_touch.total(), 500);

  const Profile runs[] = {profile, profile}; // a repeat: of one process, as before
  EXPECT_DOUBLE_EQ(site_at(summary_of(runs), 0).first_touch.total(), 500);
}

// Blocks of one site, each live for a second.
FreshBytes fresh_of(std::uint64_t bytes, const std::vector<std::uint64_t>& begins,
                    std::uint64_t recorded_from = 0) {
  Profile profile = profile_of_arrays(1);
  profile.run.start_time = recorded_from;
  const ObjectRecord block = profile.objects[0];
  profile.objects.clear();
  for (const std::uint64_t begin : begins) {
    ObjectRecord& next = profile.objects.emplace_back(block);
    next.object = next.instance = static_cast<std::uint32_t>(profile.objects.size() - 1);
    next.address = address_of_array(0) + next.object * (std::uint64_t{1} << 40);
    next.bytes = bytes;
    next.time = begin;
    next.released = begin + k_second;
  }
  profile.last_time = begins.back() + 2 * k_second;
  return site_at(summary_of(profile), 0).fresh;
}

TEST(FreshBytes, BlocksReuseWhatWasFreed) {
  const FreshBytes in_turn = fresh_of(8 * k_mib, {0, 2 * k_second, 4 * k_second});
  EXPECT_EQ(in_turn.always, 24 * k_mib);
  EXPECT_EQ(in_turn.reused, 8 * k_mib);
  EXPECT_EQ(in_turn.once, 8 * k_mib);
  const FreshBytes together = fresh_of(8 * k_mib, {0, 1, 4 * k_second}); // two are live at once
  EXPECT_EQ(together.always, 24 * k_mib);
  EXPECT_EQ(together.reused, 16 * k_mib);
  EXPECT_EQ(together.once, 16 * k_mib);
}

// The first block, which is freed at one second.
TEST(FreshBytes, WhatWasThereIsNotCleared) {
  const std::uint64_t half = k_second / 2;
  EXPECT_EQ(fresh_of(8 * k_mib, {0, half}, 1).once, 8 * k_mib);
  EXPECT_EQ(fresh_of(8 * k_mib, {0, half, 2 * half + 1}, 1).once, 16 * k_mib);
}

TEST(FreshBytes, FreedMemoryIsKeptForAWhile) { // ten seconds from its release
  EXPECT_EQ(fresh_of(8 * k_mib, {0, 11 * k_second}).reused, 8 * k_mib);
  EXPECT_EQ(fresh_of(8 * k_mib, {0, 11 * k_second + 1}).reused, 16 * k_mib);
}

TEST(FreshBytes, TooMuchIsNotKept) {
  EXPECT_EQ(fresh_of(256 * k_mib, {0, 2 * k_second}).reused, 256 * k_mib);
  EXPECT_EQ(fresh_of(257 * k_mib, {0, 2 * k_second}).reused, 514 * k_mib);
  // Of three that are freed together, two are kept.
  EXPECT_EQ(
      fresh_of(250 * k_mib, {0, 1, 2, 2 * k_second, 2 * k_second + 1, 2 * k_second + 2}).reused,
      1000 * k_mib);
}

TEST(FreshBytes, SmallBlocksHaveNone) {
  EXPECT_EQ(fresh_of(k_mib / 4 - 1, {0, 2 * k_second}).always, 0u);
  EXPECT_EQ(fresh_of(k_mib / 4, {0, 2 * k_second}).always, k_mib / 2);
}

} // namespace
