// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The latest part of a run by itself: its samples, and what lives in it.
#include "analysis/latest.hpp"

#include "analysis_summary.hpp"
#include "units.hpp"

using namespace omptier;

namespace {

// Array 0 is freed after four seconds, array 1 stays, array 2 comes after six. All are sampled
// while they live, once a second, of ten.
Profile three_arrays() {
  Profile profile = profile_of_arrays(3);
  profile.run.start_time = k_second;
  profile.objects[0].time = profile.objects[1].time = k_second;
  profile.objects[0].released = 5 * k_second;
  profile.objects[2].time = 7 * k_second;
  profile.last_time = 11 * k_second;
  for (std::uint64_t second = 1; second <= 10; ++second)
    for (std::uint32_t array = 0; array < 3; ++array) {
      const ObjectRecord& object = profile.objects[array];
      LoggedSample sample;
      sample.time = second * k_second + k_second / 2;
      if (sample.time < object.time || sample.time > object.released) continue;
      sample.address = address_of_array(array) + 64 * second;
      sample.weight = 1;
      sample.first_pattern = static_cast<std::uint32_t>(profile.patterns.size());
      sample.patterns = 1;
      LoggedPattern& pattern = profile.patterns.emplace_back();
      pattern.time = sample.time;
      pattern.address = sample.address;
      profile.samples.push_back(sample);
    }
  return profile;
}

TEST(Latest, HasItsSamplesAndWhatLives) {
  Profile profile = three_arrays();
  keep_from(profile, 6 * k_second);
  ASSERT_EQ(profile.samples.size(), 5u + 4u);
  for (const LoggedSample& sample : profile.samples)
    EXPECT_EQ(profile.patterns[sample.first_pattern].address, sample.address);
  const ProfileSummary summary = summary_of(profile);
  ASSERT_EQ(summary.sites.size(), 2u);
  EXPECT_EQ(summary.nanoseconds, 5 * k_second);
  EXPECT_EQ(site_at(summary, 1).samples, 5u);
  EXPECT_EQ(site_at(summary, 1).instances[0].address, address_of_array(1));
  EXPECT_EQ(site_at(summary, 1).fresh.always, 0u); // its pages are there
  EXPECT_EQ(site_at(summary, 2).fresh.always, std::uint64_t{64} << 20);
  EXPECT_EQ(site_at(summary, 2).live.front().time, k_second);
}

TEST(Latest, IsAllFromBeforeTheStart) {
  Profile profile = three_arrays();
  keep_from(profile, k_second / 2);
  EXPECT_EQ(profile.samples.size(), 4u + 10u + 4u);
  EXPECT_EQ(summary_of(profile).nanoseconds, 10 * k_second);
}

} // namespace
