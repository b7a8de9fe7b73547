// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What a log holds instead of one record an object or a region's run: totals, places in untold
// objects, thinning. Written, read back and summarized.
#include "analysis_summary.hpp"
#include "log_build.hpp"

#include "analysis/enough_samples.hpp"
#include "analysis/threads_at_once.hpp"
#include "base/os.hpp"
#include "cli/loops_text.hpp"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

using namespace omptier;

namespace {

// A log with two sites and a region, to which a test adds.
struct Log {
  Log() {
    EXPECT_TRUE(open_log(*writer, file));
    RunRecord run = some_run();
    run.start_time = start;
    writer->run(run);
    const Frame frames[2] = {{0, 0x100}, {0, 0x200}};
    writer->site(0, frames, 1);
    writer->site(1, frames + 1, 1);
    writer->region_definition(0, frames, 1);
  }
  Profile read() {
    writer->end();
    writer->close();
    return read_back(file.path());
  }
  ProfileSummary summary() { return summary_of(read()); }
  ScratchFile file;
  std::unique_ptr<LogWriter> writer = std::make_unique<LogWriter>();
  std::uint64_t start = monotonic_nanoseconds();
};

} // namespace

TEST(Totals, TakeThePlaceOfObjects) {
  Log log;
  log.writer->object(0, 0x100000, 1000, 1, 500); // one that is told, of the same site
  const std::uint64_t now = monotonic_nanoseconds();
  log.writer->site_totals({0, true, 10, 100'000, 20'000, 10'000, 50'000, now, 0});
  log.writer->site_totals({0, true, 12, 120'000, 20'000, 0, 20'000, now, 0});
  const ProfileSummary summary = log.summary();
  const SiteSummary& site = site_at(summary, 0x100);
  EXPECT_TRUE(site.by_malloc);
  EXPECT_EQ(site.objects, 13u);
  EXPECT_EQ(site.bytes_total, 121'000u);
  EXPECT_EQ(site.bytes_largest, 20'000u);
  EXPECT_EQ(site.bytes_peak, 51'000u);
  EXPECT_EQ(site.live.back().bytes, 1000u);
}

// Written after a larger block came, the totals' peak is still of the time before it.
TEST(Totals, PeakIsOfItsOwnTime) {
  Log log;
  const std::uint64_t peak = monotonic_nanoseconds();
  while (monotonic_nanoseconds() <= peak)
    ;
  log.writer->object(0, 0x100000, 1000, 1, 500);
  log.writer->site_totals({0, true, 10, 100'000, 20'000, 10, 50'000, peak, 0});
  log.writer->object(0, 0x200000, 2000, 1, 500);
  const ProfileSummary summary = log.summary();
  const SiteSummary& site = site_at(summary, 0x100);
  EXPECT_EQ(site.bytes_peak, 50'000u);
  ASSERT_EQ(site.live.size(), 3u);
  EXPECT_EQ(site.live[0].bytes, 50'000u);
  EXPECT_EQ(site.live[1].bytes, 1010u);
  EXPECT_EQ(site.live[2].bytes, 3010u);
}

// One address, two sites, and an object that is told: the place decides.
TEST(Totals, PlacesSaySiteAndOffset) {
  Log log;
  log.writer->object(1, 0x100000, 1 << 20, 1, 0);
  const std::uint64_t now = monotonic_nanoseconds();
  log.writer->sample(sample_at(now, 0x100800), {0, 0x800, 0x1000});
  log.writer->sample(sample_at(now, 0x100800), {1, 0x10, 0x2000});
  log.writer->sample(sample_at(now + 1, 0x100800));
  AccessPattern pattern;
  pattern.time = now;
  pattern.address = pattern.through = 0x100800;
  pattern.accesses = pattern.bytes = 8;
  log.writer->pattern(pattern, {0, 0, 0x1000}, {1, 0, 0x1000});
  log.writer->pattern(pattern, {}, {0, 0, 0x1000});
  const ProfileSummary summary = log.summary();
  EXPECT_EQ(summary.samples, 3u);
  EXPECT_EQ(site_at(summary, 0x100).samples, 1u);
  EXPECT_EQ(site_at(summary, 0x200).samples, 2u);
  EXPECT_DOUBLE_EQ(site_at(summary, 0x100).access_share.value, 0.5);
}

TEST(Totals, CountRegionsOnce) {
  Log log;
  const std::uint64_t begin = monotonic_nanoseconds();
  log.writer->sample(sample_at(begin + 50, 0));
  log.writer->sample(sample_at(begin + 150, 0));
  log.writer->object(0, 0x1000, 8, 1, 0); // later than the region that is told now
  log.writer->region({begin, 0, 4, 7, true});
  log.writer->region({begin + 100, 0, 0, 7, false});
  log.writer->region_totals(0, {1000, 3, 5'000'000, 8});
  const ProfileSummary summary = log.summary();
  EXPECT_EQ(summary.regions[1].entries, 1000u);
  EXPECT_EQ(summary.regions[1].entered_anew, 3u);
  EXPECT_EQ(summary.regions[1].nanoseconds, 5'000'000u);
  EXPECT_EQ(summary.threads, 8u);
  EXPECT_EQ(summary.regions[1].samples, 1u);
  EXPECT_EQ(summary.regions[0].samples, 1u);
}

TEST(Totals, LossesHaveReasons) {
  Log log;
  log.writer->lost(5);
  log.writer->lost(7, LossReason::blocks);
  log.writer->thinned(2);
  log.writer->thinned(8);
  log.writer->shortages({3, 4, 5, 6, 7, 8, 9, 10, {}});
  const Profile profile = log.read();
  EXPECT_EQ(profile.samples_lost, 12u);
  EXPECT_EQ(profile.lost_by[0], 5u);
  EXPECT_EQ(profile.lost_by[1], 7u);
  ASSERT_EQ(profile.thinnings.size(), 2u);
  EXPECT_EQ(profile.thinnings[1].kept_of, 8u);
  EXPECT_EQ(profile.shortages, (Shortages{3, 4, 5, 6, 7, 8, 9, 10, {}}));
}

TEST(Totals, LoopsThatWereNotEmulatedAreCounted) {
  Log log;
  Shortages shortages;
  shortages.loops = {412, 88, 7};
  log.writer->shortages(shortages);
  shortages.loops = {512, 188, 12}; // from the start on
  log.writer->shortages(shortages);
  const ProfileSummary summary = log.summary();
  EXPECT_EQ(summary.loops, (LoopCounts{512, 188, 12}));
  EXPECT_EQ(loops_text(summary.loops),
            "  the loops of 512 samples were emulated, for 188 more at the same places, too; 12 "
            "were left out beyond emulation's budget, and those drawn weigh more\n");
  EXPECT_EQ(loops_text({5, 0, 0}), "  the loops of 5 samples were emulated; none was left out\n");
  EXPECT_EQ(loops_text({}), "");
  EXPECT_EQ(loops_json(summary.loops)["left_out"], 12);
}

static ProfileSummary ranked(std::uint64_t samples, const std::vector<double>& shares) {
  ProfileSummary summary;
  RunRecord run;
  run.source = "perf";
  run.rate = 100;
  summary.runs.push_back(run);
  summary.samples = samples;
  for (const double share : shares) {
    SiteSummary& site = summary.sites.emplace_back();
    site.share.value = share;
  }
  return summary;
}

TEST(EnoughSamples, TheLeastObjectThatMattersDecides) {
  // 79 sites of one share: 72 of them take nine tenths. 3.8416 * (1 - p) / (p / 2)^2 * p samples.
  ProfileSummary many = ranked(325, std::vector<double>(79, 1.0 / 79));
  const SamplesWanted wanted = samples_wanted(many);
  EXPECT_EQ(wanted.objects, 72u);
  EXPECT_EQ(wanted.samples, 1199u); // 15.3664 * 78
  EXPECT_EQ(too_few_samples(many),
            "325 samples are too few to rank the 72 objects that take 90 % of those on objects "
            "(the least 1.3 %): 1199 are needed; record 3.7 times as long, or with --rate 369");
  many.samples = 1199;
  EXPECT_EQ(too_few_samples(many), "");
  many.samples = 325;
  many.runs[0].source = "exact";
  EXPECT_EQ(too_few_samples(many), "") << "counts are no samples";

  EXPECT_EQ(too_few_samples(ranked(100, {0.5, 0.4, 0.05})), "") << "two matter, of 50 and 40 %";
  EXPECT_EQ(too_few_samples(ranked(20, {0.5, 0.4, 0.05})).substr(0, 37),
            "20 samples are too few to rank the 2 ");
  EXPECT_EQ(too_few_samples(ranked(0, {})), "");
  EXPECT_EQ(too_few_samples(ranked(9, {})), "");
  EXPECT_LT(samples_wanted(ranked(9, {1e-45})).samples, 100'000'000'000) << "a damaged profile";
  // Rates beyond what record accepts are not advised.
  EXPECT_EQ(too_few_samples(ranked(2, std::vector<double>(5000, 1.0 / 5000))).find("--rate"),
            std::string::npos);
}

// std::thread's threads are in no region: samples show them.
TEST(Totals, ThreadsThatSamplesShowAtOnce) {
  const auto samples_of = [](std::uint32_t thread, std::uint64_t from, std::uint64_t to,
                             std::vector<LoggedSample>& samples) {
    for (std::uint64_t time = from; time <= to; time += 10) {
      LoggedSample sample;
      sample.thread = thread;
      sample.time = time;
      samples.push_back(sample);
    }
  };
  std::vector<LoggedSample> samples;
  EXPECT_EQ(threads_at_once(samples), 1u);
  samples_of(1, 0, 1000, samples);
  EXPECT_EQ(threads_at_once(samples), 1u);
  samples_of(2, 1010, 2000, samples); // after the first
  EXPECT_EQ(threads_at_once(samples), 1u);
  samples_of(3, 500, 1500, samples); // beside both
  EXPECT_EQ(threads_at_once(samples), 2u);
  samples_of(4, 600, 640, samples); // took little
  EXPECT_EQ(threads_at_once(samples), 2u);
  samples_of(5, 0, 2000, samples);
  EXPECT_EQ(threads_at_once(samples), 3u);
}
