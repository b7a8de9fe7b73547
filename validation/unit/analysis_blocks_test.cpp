// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Blocks of one site told apart, from samples whose truth is known: which are hot, and how much of
// the site's memory is.
#include "analysis_summary.hpp"
#include "units.hpp"

#include "analysis/blocks.hpp"
#include "cli/code_text.hpp"
#include "cli/report_text.hpp"

#include <nlohmann/json.hpp>
#include <random>

using namespace omptier;

namespace {

// One site whose blocks of 1 MiB live from the start to the end of ten seconds.
class Blocks {
public:
  explicit Blocks(std::uint64_t count) {
    profile.file = "made";
    profile.run.measure = Measure::accesses;
    profile.run.start_time = k_second;
    profile.last_time = 11 * k_second;
    profile.modules.push_back({});
    profile.modules[0].identity = "build-id:aa";
    profile.sites.push_back({0, {{0, 16}}});
    for (std::uint64_t i = 0; i < count; ++i)
      add(k_second, k_mib);
  }
  void add(std::uint64_t time, std::uint64_t bytes, std::uint64_t end = ObjectRecord::k_never) {
    ObjectRecord object;
    object.time = time;
    object.object = profile.objects.size();
    object.instance = static_cast<std::uint32_t>(object.object);
    object.address = address(object.object);
    object.bytes = bytes;
    object.released = end;
    profile.objects.push_back(object);
  }
  // At a random place in the first `part` of the block.
  void sample(std::uint64_t block, double part = 1) {
    const auto bytes = static_cast<std::uint64_t>(part * double(profile.objects[block].bytes));
    LoggedSample sample;
    sample.time = 2 * k_second + profile.samples.size();
    sample.address = address(block) + random() % bytes;
    sample.kind = AccessKind::load;
    profile.samples.push_back(sample);
  }
  const SiteSummary& site() { return (summary = summary_of(profile)).sites[0]; }

  Profile profile;
  ProfileSummary summary;
  std::mt19937_64 random{7};

private:
  static std::uint64_t address(std::uint64_t block) { return (block + 1) << 30; }
};

TEST(Blocks, TwoHotOnesOfEightAreTold) {
  Blocks made(8);
  for (int i = 0; i < 240; ++i)
    made.sample(i % 30 == 0 ? made.random() % 8 : i % 2 == 0 ? 2 : 5);
  const SiteSummary& site = made.site();
  EXPECT_EQ(site.hot_blocks, (std::vector<std::uint32_t>{2, 5}));
  EXPECT_EQ(site.blocks, 8u);
  EXPECT_TRUE(site.blocks_by_one_thread);
  ASSERT_TRUE(site.hot_part);
  EXPECT_NEAR(*site.hot_part, 0.9 * 2 / 8, 0.05);
  EXPECT_EQ(site.instances[2].samples + site.instances[5].samples,
            240 - (site.instances[0].samples + site.instances[1].samples +
                   site.instances[3].samples + site.instances[4].samples +
                   site.instances[6].samples + site.instances[7].samples));
}

TEST(Blocks, ReportAndJsonTellThem) {
  Blocks made(8);
  for (int i = 0; i < 200; ++i)
    made.sample(i % 2 == 0 ? 2 : 5);
  made.site();
  const ProfileNames names{{"field (eight.c:34)"}, {"outside"}, {}};
  const std::string text = profile_text(made.summary, names, {});
  EXPECT_NE(text.find("  blocks 2, 5 (of 8, counted from 0): 100.0 % of the samples above"),
            std::string::npos)
      << text;
  ProfileTextOptions each;
  each.blocks = true;
  EXPECT_NE(profile_text(made.summary, names, each).find("  block 5 (0 ns to 10"),
            std::string::npos);
  Symbols symbols;
  const nlohmann::json site = profile_json(made.summary, names, symbols)["sites"][0];
  EXPECT_EQ(site["hot_blocks"], (nlohmann::json{2, 5}));
  ASSERT_EQ(site["blocks"].size(), 8u);
  EXPECT_EQ(site["blocks"][0]["block"], 2);
  EXPECT_DOUBLE_EQ(site["blocks"][0]["share"], 0.5);
  EXPECT_LT(site["blocks"][0]["low"], 0.5);
  EXPECT_EQ(site["blocks"][7]["samples"], 0);
}

TEST(Blocks, ChanceMakesNoneHot) {
  for (const std::uint64_t count : {8, 100, 5000}) {
    Blocks made(count);
    for (int i = 0; i < 240; ++i)
      made.sample(made.random() % count);
    const SiteSummary& site = made.site();
    EXPECT_TRUE(site.hot_blocks.empty()) << count;
    ASSERT_TRUE(site.hot_part);
    EXPECT_NEAR(*site.hot_part, 0.9, 0.1) << count;
    EXPECT_LE(site.instances.size(), k_instances_kept);
    EXPECT_EQ(site.blocks, count);
  }
}

TEST(Blocks, TenOfManyAreFoundAndKept) {
  Blocks made(6000);
  for (int i = 0; i < 400; ++i)
    made.sample(5990 + made.random() % 10);
  const SiteSummary& site = made.site();
  EXPECT_EQ(site.hot_blocks.size(), 10u);
  EXPECT_EQ(site.hot_blocks.front(), 5990u);
  EXPECT_EQ(site.instances.back().instance, 5999u); // of 6,000 the hot ones are not left out
  EXPECT_NEAR(*site.hot_part, 0.9 * 10 / 6000, 0.001);
}

TEST(HotPart, OfOneBlock) {
  for (const double part : {1.0, 0.5, 0.1}) {
    Blocks made(1);
    for (int i = 0; i < 400; ++i)
      made.sample(0, part);
    EXPECT_NEAR(*made.site().hot_part, 0.9 * part, 0.08) << part;
  }
}

TEST(HotPart, AFewSamplesSayNothing) {
  Blocks made(1);
  for (int i = 0; i < 40; ++i)
    made.sample(0);
  EXPECT_FALSE(made.site().hot_part);
}

TEST(HotPart, BuffersInTurnAreOneMemory) {
  Blocks made(0);
  for (std::uint64_t i = 0; i < 100; ++i)
    made.add(k_second + i * 100'000'000, k_mib, k_second + (i + 1) * 100'000'000);
  for (std::uint64_t i = 0; i < 300; ++i) {
    made.sample(i / 3, 0.5);
    made.profile.samples.back().time = k_second + i / 3 * 100'000'000 + 1000 + i;
  }
  EXPECT_NEAR(*made.site().hot_part, 0.9, 0.1); // the halves of 100 blocks are too fine for 300
  EXPECT_TRUE(made.site().hot_blocks.empty());
}

TEST(HotPart, NotOfBlocksThatAreOnlyCounted) {
  Blocks made(2);
  for (int i = 0; i < 100; ++i) {
    made.sample(0);
    made.profile.samples.back().place = {0, 64, 8192};
  }
  for (int i = 0; i < 100; ++i)
    made.sample(1);
  EXPECT_FALSE(made.site().hot_part);
  EXPECT_FALSE(made.summary.sites[0].blocks_by_one_thread);
}

TEST(HotPart, NotFromExactCounts) { // one address stands for all that an instruction accessed
  Blocks made(1);
  made.profile.run.source = "exact";
  for (int i = 0; i < 100; ++i)
    made.sample(0);
  EXPECT_FALSE(made.site().hot_part);
}

// Of copies that a compiler made of one place in the source.
TEST(Regions, CopiesAreOne) {
  Blocks made(1);
  const auto at = [&](std::uint32_t region, std::uint64_t time) {
    for (const bool begin : {true, false}) {
      RegionRecord record;
      record.time = time + (begin ? 0 : 500);
      record.region = region;
      record.begin = begin;
      record.threads = begin ? 4 : 0;
      record.thread = 1;
      made.profile.regions.push_back(record);
    }
    made.sample(0);
    made.profile.samples.back().time = time + 100;
  };
  for (std::uint32_t region = 0; region < 3; ++region)
    made.profile.region_definitions.push_back({region, {{0, 0x100 + region}}});
  for (std::uint64_t round = 0; round < 10; ++round)
    for (std::uint32_t region = 0; region < 3; ++region)
      at(region, 2 * k_second + (3 * round + region) * 1000);
  // The first two are copies, the third stands elsewhere.
  const auto place_of = [](const auto&, const std::vector<Frame>& frames) {
    return std::string(frames[0].offset < 0x102 ? "phaseA" : "phaseB");
  };
  const ProfileSummary apart = *summarize({&made.profile, 1});
  const ProfileSummary summary = *summarize({&made.profile, 1}, place_of);
  EXPECT_EQ(apart.regions.size(), 4u);
  ASSERT_EQ(summary.regions.size(), 3u);
  EXPECT_EQ(summary.regions[1].entries, 20u);
  EXPECT_EQ(summary.regions[1].entered_anew, 10u); // not from one copy to the other
  EXPECT_EQ(summary.regions[1].samples, 20u);
  EXPECT_EQ(summary.regions[1].nanoseconds, 20u * 500);
  ASSERT_EQ(summary.regions[1].also.size(), 1u);
  EXPECT_EQ(summary.regions[1].also[0][0].offset, 0x101u);
  EXPECT_EQ(summary.sites[0].by_region.size(), 2u);

  // The same from totals, as a long run's log has them.
  made.profile.region_totals.assign(3, {10, 10, 5000, 4});
  const auto serial = [&](std::uint32_t before, std::uint32_t after, std::uint64_t entries) {
    StretchDefinition stretch;
    stretch.kind = StretchDefinition::Kind::serial;
    stretch.region = before + 1;
    stretch.next_region = after + 1;
    stretch.entries = entries;
    made.profile.stretch_definitions.push_back(stretch);
  };
  serial(0, 1, 10);
  serial(1, 2, 10);
  serial(2, 0, 9);
  const ProfileSummary totalled = *summarize({&made.profile, 1}, place_of);
  EXPECT_EQ(totalled.regions[1].entries, 20u);
  EXPECT_EQ(totalled.regions[1].entered_anew, 10u);
  EXPECT_EQ(totalled.regions[2].entered_anew, 10u);
}

TEST(Code, SamplesByInstructionAndLoop) {
  Blocks made(1);
  made.profile.modules[0].bias = 0x400000;
  made.profile.areas.push_back({AreaKind::module, 0, 0x401000, 0x10000, k_second});
  for (int i = 0; i < 30; ++i) {
    made.sample(0);
    made.profile.samples.back().pc = i % 3 == 0 ? 0x401230 : 0x401340;
  }
  LoggedPattern pattern;
  pattern.pc = 0x401340;
  pattern.loop = 0x401330;
  pattern.time = made.profile.samples[1].time;
  made.profile.patterns.push_back(pattern);
  made.profile.samples[1].patterns = 1;
  made.sample(0);
  made.profile.samples.back().pc = 0x99; // in no module
  const ProfileSummary summary = summary_of(made.profile);
  ASSERT_EQ(summary.code.size(), 2u);
  EXPECT_EQ(summary.code[0].at.offset, 0x1231u);
  EXPECT_EQ(summary.code[0].samples, 10u);
  ASSERT_EQ(summary.code[0].by_site.size(), 1u);
  EXPECT_EQ(summary.code[0].by_site[0].site, 0u);
  EXPECT_EQ(summary.code[0].by_site[0].samples, 10u);
  EXPECT_FALSE(summary.code[0].by_site[0].stores);
  EXPECT_EQ(summary.code[0].loop, 0u);
  EXPECT_EQ(summary.code[1].samples, 20u);
  EXPECT_EQ(summary.code[1].loop, 0x1330u);

  made.profile.samples[0].loop = 0x401200; // as sources that know the code say
  EXPECT_EQ(summary_of(made.profile).code[0].loop, 0x1200u);
  made.profile.samples[0].loop = 0;

  Symbols symbols; // none: code is its module's
  made.profile.modules[0].name = "app";
  const ProfileSummary named = summary_of(made.profile);
  const std::vector<CodePlace> functions = functions_of(named, symbols);
  ASSERT_EQ(functions.size(), 1u);
  EXPECT_EQ(functions[0].name, "app");
  EXPECT_EQ(functions[0].samples, 30u);
  EXPECT_NEAR(functions[0].share.value, 30.0 / 31, 1e-6);
  ASSERT_EQ(functions[0].loops.size(), 1u);
  EXPECT_EQ(functions[0].loops[0].samples, 20u);
  EXPECT_NE(code_text(named, functions, {}).find("function, with its hottest line"),
            std::string::npos);
}

TEST(Blocks, Words) {
  const auto words = [](std::vector<std::uint32_t> numbers) { return blocks_in_words(numbers); };
  EXPECT_EQ(words({3}), "block 3");
  EXPECT_EQ(words({3, 5}), "blocks 3, 5");
  EXPECT_EQ(words({0, 1, 2, 7, 8}), "blocks 0 to 2, 7, 8");
  EXPECT_EQ(words({0, 2, 4, 6, 8, 10, 12}), "blocks 0, 2, 4, 6, 8, 10, …");
}

} // namespace
