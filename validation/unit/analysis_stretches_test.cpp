// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Where the stretches of a region begin, and what the advisor makes of them: entries of a plan that
// apply from barriers on.
#include "advisor/advice.hpp"
#include "advisor/evidence.hpp"
#include "analysis/stretch_begins.hpp"
#include "analysis_summary.hpp"
#include "units.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

using namespace omptier;

namespace {

constexpr std::uint64_t k_array_bytes = std::uint64_t{48} << 20;
constexpr std::uint32_t k_thread = 1;

// Runs of one region. Stretches are letters: 'a' ends with the barrier at offset 'a'; '.' ends with
// the region; '-' has no sample, so the profile does not have it.
class Runs {
public:
  Runs() {
    profile.file = "made";
    profile.run.measure = Measure::misses;
    profile.run.start_time = k_second;
    ModuleInfo module;
    module.identity = "build-id:aa";
    module.name = "app";
    profile.modules.push_back(module);
    profile.region_definitions.push_back({0, {{0, 4096}}});
  }
  void array(std::uint32_t site) {
    profile.sites.push_back({site, {{0, site}}});
    ObjectRecord object;
    object.time = k_second;
    object.object = object.site = site;
    object.address = address_of_array(site);
    object.bytes = k_array_bytes;
    object.released = ObjectRecord::k_never;
    profile.objects.push_back(object);
  }
  void run(const std::string& stretches, std::uint64_t each = k_ms) {
    const std::uint64_t begin = time_;
    for (const char stretch : stretches) {
      const std::uint64_t length = stretch == '-' ? each / 100 : each;
      time_ += length;
      if (stretch != '-') add(stretch, length);
    }
    profile.regions.push_back({begin, 0, 4, k_thread, true});
    profile.regions.push_back({time_, 0, 0, k_thread, false});
    profile.last_time = time_ += each;
  }
  // In each of a letter's stretches, to the array of that number.
  void sample(char of, std::uint32_t array, float weight) {
    for (const StretchRecord& stretch : profile.stretches) {
      if (letters_[stretch.stretch] != of) continue;
      for (std::uint64_t part = 1; part < 20; ++part) {
        LoggedSample sample;
        sample.time = stretch.end - part * stretch.nanoseconds / 20;
        // All over the array: else only a part of it is worth fast memory.
        const std::uint64_t anywhere = (profile.samples.size() + 1) * 0x9e3779b97f4a7c15u >> 16;
        sample.address = address_of_array(array) + anywhere % k_array_bytes;
        sample.kind = AccessKind::load;
        sample.weight = weight / 19;
        profile.samples.push_back(sample);
      }
    }
    std::ranges::stable_sort(profile.samples, {}, &LoggedSample::time);
  }
  ProfileSummary summary() const { return summary_of(profile); }
  Profile profile;

private:
  void add(char letter, std::uint64_t length) {
    auto number = static_cast<std::uint32_t>(letters_.find(letter));
    if (letters_.find(letter) == std::string::npos) {
      number = static_cast<std::uint32_t>(letters_.size());
      letters_ += letter;
      using Kind = StretchDefinition::Kind;
      profile.stretch_definitions.push_back({letter == '.' ? Kind::rest : Kind::barrier,
                                             0,
                                             0,
                                             {0, static_cast<std::uint64_t>(letter)},
                                             0,
                                             0});
    }
    StretchDefinition& definition = profile.stretch_definitions[number];
    ++definition.entries;
    definition.nanoseconds += length;
    profile.stretches.push_back({time_, length, number, k_thread});
  }

  std::uint64_t time_ = 2 * k_second;
  std::string letters_;
};

std::uint32_t phase_to(const ProfileSummary& summary, char barrier) {
  for (std::uint32_t i = 0; i < summary.phases.size(); ++i)
    if (const PhaseSummary& phase = summary.phases[i];
        barrier == '.' ? phase.kind == PhaseSummary::Kind::to_end
                       : !phase.frames.empty() &&
                             phase.frames[0].offset == static_cast<std::uint64_t>(barrier))
      return i;
  return ~std::uint32_t{0};
}

// "^" the region's begin, letters of the barriers behind which it begins; "?" if it is not known.
std::string begins_of(const ProfileSummary& summary, char stretch) {
  const auto found = beginning_of(summary, phase_to(summary, stretch));
  if (!found) return "?";
  std::string begins = found->at_region ? "^" : "";
  for (const std::uint32_t barrier : found->barriers)
    begins += static_cast<char>(summary.phases[barrier].frames[0].offset);
  std::ranges::sort(begins);
  return begins;
}

TEST(Stretches, BeginWhereTheOnesBeforeEnd) {
  Runs runs;
  runs.run("ababababab.");
  const ProfileSummary summary = runs.summary();
  EXPECT_EQ(begins_of(summary, 'a'), "^b");
  EXPECT_EQ(begins_of(summary, 'b'), "a");
  EXPECT_EQ(begins_of(summary, '.'), "?") << "behind b, a comes more often";
  EXPECT_DOUBLE_EQ(beginning_of(summary, phase_to(summary, 'a'))->anew, 1.2) << "once in vain";
}

TEST(Stretches, AShortEndBehindTheBarrierOfTheLoopIsOverlooked) {
  Runs runs;
  runs.run("abab.");
  EXPECT_EQ(begins_of(runs.summary(), 'a'), "?") << "half of the time it is the end";
  StretchRecord& end = runs.profile.stretches.back();
  end.end -= end.nanoseconds - end.nanoseconds / 100;
  end.nanoseconds /= 100;
  const ProfileSummary summary = runs.summary();
  EXPECT_EQ(begins_of(summary, 'a'), "^b");
  EXPECT_DOUBLE_EQ(beginning_of(summary, phase_to(summary, 'a'))->anew, 1.5);
}

TEST(Stretches, RareBeginsDoNotCount) {
  Runs runs;
  std::string rounds;
  for (int i = 0; i < 40; ++i)
    rounds += "ab";
  runs.run(rounds);
  EXPECT_EQ(begins_of(runs.summary(), 'a'), "b");
}

TEST(Stretches, ShortOnesWithoutSamplesAreOverlooked) {
  Runs runs;
  runs.run("-a-b-a-b-a-b-");
  EXPECT_EQ(begins_of(runs.summary(), 'a'), "^b");
  EXPECT_EQ(begins_of(runs.summary(), 'b'), "a");
}

TEST(Stretches, OfManyRunsOfTheRegion) {
  Runs runs;
  for (int i = 0; i < 10; ++i)
    runs.run("ab.");
  const ProfileSummary summary = runs.summary();
  EXPECT_EQ(begins_of(summary, 'a'), "^");
  EXPECT_EQ(begins_of(summary, 'b'), "a");
  EXPECT_EQ(begins_of(summary, '.'), "b");
}

TEST(Stretches, WhatFollowsNowThisNowThatIsNotKnown) {
  Runs runs;
  runs.run("abacabacabac");
  const ProfileSummary summary = runs.summary();
  EXPECT_EQ(begins_of(summary, 'b'), "?");
  EXPECT_EQ(begins_of(summary, 'c'), "?");
  EXPECT_EQ(begins_of(summary, 'a'), "^bc");
}

TEST(Stretches, BehindALongOneWithoutSampleItIsNotKnown) {
  Runs runs;
  runs.run("ab");
  runs.profile.stretches.erase(runs.profile.stretches.begin());
  EXPECT_EQ(begins_of(runs.summary(), 'b'), "?");
}

TEST(Stretches, OnesThatFollowThemselvesAreNotEnteredAnew) {
  Runs runs;
  runs.run("aaaabaaaabaaaab");
  const ProfileSummary summary = runs.summary();
  EXPECT_EQ(begins_of(summary, 'a'), "?") << "behind a, b comes too";
  EXPECT_EQ(begins_of(summary, 'b'), "?");
  Runs alone;
  alone.run("aaaaaaaaaaaaaaaaaaaaaaaaa");
  EXPECT_NEAR(beginning_of(alone.summary(), phase_to(alone.summary(), 'a'))->anew, 1 / 25.0, 1e-9);
}

constexpr Figures k_fast{80, 80, 100e9, 100e9}, k_slow{300, 900, 30e9, 10e9};

// Two arrays of which one fits, hot in turn.
Advice advice_for(const ProfileSummary& summary, const std::vector<bool>& reductions = {}) {
  const EvidenceNames names{{"first", "second"},
                            {"outside", "all"},
                            {"the barrier of x", "the barrier of y"},
                            reductions};
  return advise(workload_from(summary, names, k_slow),
                {{MemoryKind::dram, k_array_bytes * 5 / 4, k_fast},
                 {MemoryKind::nvm, 64 * k_array_bytes, k_slow}});
}

TEST(MovesAtBarriers, AreAdvisedWhereStretchesAreLong) {
  Runs runs;
  runs.array(0);
  runs.array(1);
  runs.run("ababababab", k_second);
  runs.sample('a', 0, 2e7F);
  runs.sample('b', 1, 2e7F);
  const ProfileSummary summary = runs.summary();
  const Advice advice = advice_for(summary);
  std::string why_not;
  EXPECT_TRUE(is_consistent(advice.workload, why_not)) << why_not;
  ASSERT_EQ(advice.moves.size(), 2u) << "one comes for its stretch, the other comes back";
  for (const RegionMove& move : advice.moves) {
    const WorkloadRegion& stretch = advice.workload.regions[move.region];
    EXPECT_FALSE(stretch.is_whole());
    EXPECT_EQ(stretch.entered_anew, 5u);
    EXPECT_EQ(move.tier, 0u);
  }
  const Plan plan = plan_from(advice, summary, [](const Frame& frame) {
    PortableFrame portable;
    portable.function = "work";
    portable.callee = frame.offset == 4096 ? "__kmpc_fork_call" : "__kmpc_barrier";
    return portable;
  });
  ASSERT_EQ(plan.entries.size(), 5u)
      << "two at home; the first's stretch also begins with the region";
  std::vector<std::string> said;
  for (const PlanEntry& entry : plan.entries)
    if (!entry.region.empty()) {
      EXPECT_EQ(entry.kinds[0], MemoryKind::dram);
      said.push_back(entry.label + " " + std::to_string(entry.region[0].offset));
    }
  std::ranges::sort(said);
  EXPECT_EQ(said, (std::vector<std::string>{"first 4096", "first 98", "second 97"}));
  const auto second = std::ranges::find_if(plan.entries, [](const PlanEntry& entry) {
    return entry.label == "second" && !entry.region.empty();
  });
  EXPECT_TRUE(second->reason.starts_with("from the barrier of ")) << second->reason;

  // As text and back: the runtime finds out which calls may be barriers.
  const auto read = parse_plan(write_plan(plan), "made");
  ASSERT_TRUE(read) << read.error();
  ASSERT_EQ(read->entries.size(), 5u);
  for (std::size_t i = 0; i < 5; ++i) {
    const std::vector<PlanFrame>&wrote = plan.entries[i].region, &found = read->entries[i].region;
    ASSERT_EQ(found.size(), wrote.size());
    if (found.empty()) continue;
    EXPECT_EQ(found[0].portable.callee, wrote[0].portable.callee);
  }
}

TEST(MovesAtBarriers, DoNotBeginAtReductionsNorInTeamsOfOneThread) {
  Runs runs;
  runs.array(0);
  runs.array(1);
  runs.run("ababababab", k_second);
  runs.sample('a', 0, 2e7F);
  runs.sample('b', 1, 2e7F);
  ProfileSummary summary = runs.summary();
  EXPECT_FALSE(advice_for(summary, {false, false}).moves.empty());
  std::vector<bool> reductions(summary.phases.size());
  reductions[phase_to(summary, 'a')] = true;
  for (const RegionMove& move : advice_for(summary, reductions).moves)
    EXPECT_NE(move.region, number_of_stretch(summary, phase_to(summary, 'b')));
  for (RegionSummary& region : summary.regions)
    region.threads = 1;
  EXPECT_TRUE(advice_for(summary).moves.empty());
}

TEST(MovesAtBarriers, AreNotAdvisedWhereStretchesAreShort) {
  Runs runs;
  runs.array(0);
  runs.array(1);
  for (int i = 0; i < 10; ++i)
    runs.run("ababababab");
  runs.sample('a', 0, 2e4F);
  runs.sample('b', 1, 2e4F);
  EXPECT_TRUE(advice_for(runs.summary()).moves.empty());
}

} // namespace
