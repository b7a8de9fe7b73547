// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A container that grows needs its old copy's room for a moment: told apart from what it holds, in
// profiles, advice and plans; what merely lives side by side is not.
#include "analysis_summary.hpp"
#include "units.hpp"

#include "advisor/advice.hpp"
#include "advisor/evidence.hpp"
#include "cli/advice_text.hpp"
#include "cli/blocks_text.hpp"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace omptier {
namespace {

// A profile of one site whose blocks a test tells, in order of their beginning.
class Growth : public testing::Test {
protected:
  Growth() {
    profile.run.program = "app";
    profile.run.source = "fake";
    profile.modules.push_back({"build-id:1", "app", "/app"});
    profile.sites.push_back({0, {{0, 0x100}}});
    profile.last_time = 10'000 * k_ms;
  }
  void block(std::uint64_t begin, std::uint64_t end, std::uint64_t mib, std::uint32_t thread = 1) {
    ObjectRecord object;
    object.time = begin * k_ms;
    object.released = end == ObjectRecord::k_never ? end : end * k_ms;
    object.object = profile.objects.size();
    object.instance = static_cast<std::uint32_t>(object.object);
    object.address = (object.object + 1) << 32;
    object.bytes = mib * k_mib;
    object.thread = thread;
    profile.objects.push_back(object);
  }
  // A vector up to 128 MiB: each block is filled, then copied into the next.
  void vector() {
    std::uint64_t begin = 0, mib = 1;
    for (; mib < 128; mib *= 2) {
      block(begin, begin + 3 * mib, mib);
      begin += 2 * mib;
    }
    block(begin, 5000, mib);
  }
  const SiteSummary& site() {
    made = summary_of(profile);
    return site_at(made, 0x100);
  }
  // As advised for a machine of this much HBM, and of other memory beside.
  Advice advice(std::uint64_t hbm) {
    site();
    TierChoice fast, slow;
    fast.kind = MemoryKind::hbm;
    slow.kind = MemoryKind::dram;
    fast.figures = {50, 50, 200e9, 200e9};
    slow.figures = {100, 100, 100e9, 100e9};
    fast.capacity = hbm;
    slow.capacity = std::uint64_t{1} << 40;
    return advise(workload_from(made, {{"v"}, {"outside"}}, {}), {fast, slow});
  }

  Profile profile;
  ProfileSummary made;
};

TEST_F(Growth, OldCopiesAreToldApart) {
  vector();
  const SiteSummary& v = site();
  EXPECT_EQ(v.bytes_peak, 192 * k_mib);
  EXPECT_EQ(v.bytes_growing, 64 * k_mib);
  EXPECT_EQ(v.nanoseconds_growing, 64 * k_ms);
  EXPECT_EQ(growth_text(v),
            "64.0 MiB of its most bytes were old copies while it grew, for 64.00 ms");
}

TEST_F(Growth, OfEachThreadsContainersTogether) {
  for (const std::uint32_t thread : {1, 2}) { // one behind the other: never both at once
    const std::uint64_t at = thread * 1000;
    block(at, at + 15, 10, thread);
    block(at + 10, at + 40, 20, thread);
    block(at + 30, at + 500, 40, thread);
  }
  EXPECT_EQ(site().bytes_peak, 60 * k_mib);
  EXPECT_EQ(site().bytes_growing, 20 * k_mib);
  EXPECT_EQ(site().nanoseconds_growing, 20 * k_ms);
}

TEST_F(Growth, TwoGrowInTurn) {
  block(0, 25, 10);
  block(10, 35, 10);
  block(20, 65, 20);
  block(30, 75, 20);
  block(60, 500, 40);
  block(70, 500, 40);
  EXPECT_EQ(site().bytes_peak, 100 * k_mib); // 20 + 40 + 40
  EXPECT_EQ(site().bytes_growing, 20 * k_mib);
}

TEST_F(Growth, WhatLivesSideBySideIsNone) {
  block(0, 900, 10); // until the end, in order of their making
  block(1, 910, 20);
  block(2, 920, 40);
  EXPECT_EQ(site().bytes_growing, 0u);
  EXPECT_EQ(growth_text(site()), "");
}

TEST_F(Growth, BuffersThatTakeTurnsAreNone) {
  for (std::uint64_t i = 0; i < 8; ++i)
    block(10 * i, 10 * i + 15, 10);
  EXPECT_EQ(site().bytes_peak, 20 * k_mib);
  EXPECT_EQ(site().bytes_growing, 0u);
}

TEST_F(Growth, ReallocInPlaceNeedsNoOldCopy) {
  block(0, 10, 10);
  block(10, 20, 20);
  block(20, 500, 40);
  EXPECT_EQ(site().bytes_peak, 40 * k_mib);
  EXPECT_EQ(site().bytes_growing, 0u);
}

TEST_F(Growth, NeverFreedAtAll) {
  block(0, 15, 10);
  block(10, 40, 20);
  block(30, ObjectRecord::k_never, 40);
  EXPECT_EQ(site().bytes_growing, 20 * k_mib);
}

// The copy needs its room: what is placed must fit at that moment, too. Advice says which it is.
TEST_F(Growth, AdviceReservesThePeakAndSaysSo) {
  vector();
  LoggedSample& sample = profile.samples.emplace_back();
  sample.time = 4000 * k_ms;
  sample.address = profile.objects.back().address + 64;
  sample.weight = 1000;
  const std::string why =
      "64.0 MiB of these bytes only for 64.00 ms, as old copies while it grows (none if it "
      "reserves its size)";
  const Advice fits = advice(192 * k_mib);
  ASSERT_EQ(fits.workload.sites.size(), 1u);
  EXPECT_EQ(fits.placement.tier_of_site.at(0), 0u);
  EXPECT_EQ(fits.workload.sites[0].peak_bytes(), 192 * k_mib);
  EXPECT_EQ(fits.workload.sites[0].growing, 64 * k_mib);
  EXPECT_NE(placement_text(fits).find(why), std::string::npos) << placement_text(fits);
  const Plan plan = plan_from(fits, made, [](const Frame&) { return PortableFrame(); });
  ASSERT_EQ(plan.entries.size(), 1u);
  EXPECT_EQ(plan.entries[0].bytes, 192 * k_mib);
  const auto json = nlohmann::json::parse(advice_json(fits, {}, {}));
  EXPECT_EQ(json["sites"][0]["bytes"], 192 * k_mib);
  EXPECT_EQ(json["sites"][0]["bytes_growing"], 64 * k_mib);
  const Advice short_of_room = advice(150 * k_mib);
  EXPECT_EQ(short_of_room.placement.tier_of_site.at(0), 1u) << "128 MiB are not enough";
}

} // namespace
} // namespace omptier
