// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What keeps log and memory bounded: the table of live blocks against a simple model, samples in
// blocks that are long gone, runs of regions against what the log's sweep counts, the log's largest
// size, and all of it together in a recorder.
#include "log_build.hpp"
#include "made_up_source.hpp"

#include "analysis/aggregate.hpp"
#include "base/os.hpp"
#include "log/budget.hpp"
#include "recorder/live_blocks.hpp"
#include "recorder/recorder.hpp"
#include "recorder/region_runs.hpp"
#include "recorder/sample_resolver.hpp"

#include <atomic>
#include <chrono>
#include <cmath>
#include <filesystem>
#include <gtest/gtest.h>
#include <map>
#include <random>
#include <thread>

using namespace omptier;

namespace {

// Blocks that do not overlap, of all sizes, at random places.
struct Model {
  std::map<std::uint64_t, LiveBlock> blocks; // by address
  bool fits(std::uint64_t address, std::uint64_t bytes) const {
    const auto next = blocks.lower_bound(address);
    if (next != blocks.end() && next->first < address + bytes) return false;
    return next == blocks.begin() ||
           std::prev(next)->first + std::prev(next)->second.bytes <= address;
  }
};

} // namespace

namespace {

// A region reached in as many ways as there are numbers of `depth` digits.
__attribute__((noinline)) void begin_region(Recorder& recorder, unsigned depth, unsigned way) {
  if (depth == 0) return recorder.region_end(recorder.region_begin(__builtin_return_address(0), 1));
  switch (way % 3) { // calls that no compiler makes one of, before or behind the switch
  case 0:
    asm volatile("nop");
    begin_region(recorder, depth - 1, way / 3);
    asm volatile("nop");
    break;
  case 1:
    asm volatile("nop; nop");
    begin_region(recorder, depth - 1, way / 3);
    asm volatile("nop; nop");
    break;
  default:
    asm volatile("nop; nop; nop");
    begin_region(recorder, depth - 1, way / 3);
    asm volatile("nop; nop; nop");
  }
}

} // namespace

// Runs beyond those that are told apart by their call stacks are counted as such.
TEST(Recorder, RegionsBeyondTheStacksThatFitAreTold) {
  const ScratchFile file;
  RecorderOptions options;
  options.pattern = file.path();
  options.drain_milliseconds = 0;
  options.region_depth = 8;
  options.log_bytes = 1 << 19; // for 256 stacks
  auto* recorder = new Recorder; // never destroyed, as in the tool
  ASSERT_TRUE(recorder->start(options, nullptr));
  constexpr unsigned k_runs = 729;
  for (unsigned way = 0; way < k_runs; ++way)
    begin_region(*recorder, 6, way);
  recorder->finish();
  const Parsed<Profile> profile = read_profile(file.path());
  ASSERT_TRUE(profile) << profile.error();
  EXPECT_GE(profile->region_definitions.size(), 256u);
  EXPECT_EQ(profile->shortages.regions_by_caller, k_runs - 256);
  EXPECT_EQ(profile->shortages.by_caller, 0u);
  const Parsed<ProfileSummary> summary = summarize({&*profile, 1});
  ASSERT_TRUE(summary);
  g_most_pages = ~std::size_t{0}; // of other recorders too
  EXPECT_NE(summary->notes.at(0).find("473 runs of regions count for their directive"),
            std::string::npos);
}

TEST(LiveBlocks, AgreesWithAModel) {
  std::mt19937_64 random(1);
  LiveBlocks live;
  Model model;
  const auto any = [&](std::uint64_t below) { return random() % below; };
  for (unsigned step = 0; step < 200'000; ++step) {
    if (any(5) < 3) {
      const std::uint64_t bytes = 16 + any(std::uint64_t{1} << (5 + any(20)));
      const std::uint64_t address = 0x7f00'0000'0000 + 16 * any(1 << 26);
      const LiveBlock block{address, bytes, static_cast<std::uint32_t>(any(1 << 27)), any(2) == 0};
      if (!model.fits(address, bytes + 4096)) continue; // sizes are rounded up
      ASSERT_TRUE(live.insert(block));
      model.blocks[address] = block;
    } else if (!model.blocks.empty()) {
      auto at = model.blocks.lower_bound(0x7f00'0000'0000 + 16 * any(1 << 26));
      if (at == model.blocks.end()) continue;
      LiveBlock block;
      ASSERT_TRUE(live.erase(at->first, step, block));
      EXPECT_EQ(block.site, at->second.site);
      EXPECT_EQ(block.logged, at->second.logged);
      EXPECT_GE(block.bytes, at->second.bytes);
      EXPECT_LE(double(block.bytes), double(at->second.bytes) * (1 + 1.0 / 4096));
      EXPECT_FALSE(live.erase(at->first, step, block));
      model.blocks.erase(at);
    }
  }
  EXPECT_EQ(live.size(), model.blocks.size());
  EXPECT_TRUE(live.is_consistent());
  unsigned large = 0;
  for (const auto& [address, block] : model.blocks) {
    LiveBlock found;
    const bool known = live.find(address + block.bytes - 1, found);
    if (block.bytes < 4096) continue;
    ++large;
    ASSERT_TRUE(known) << block.bytes;
    EXPECT_EQ(found.address, address);
  }
  EXPECT_GT(large, 500u);
}

TEST(LiveBlocks, TakesAMillionBlocksInLittleMemory) {
  g_most_pages = ~std::size_t{0}; // recorders before may have set one
  LiveBlocks live;
  live.limit(std::size_t{20} << 20);
  const auto address = [](std::uint64_t i) { return 0x5500'0000'0000 + 8208 * i; };
  for (std::uint64_t i = 0; i < 1'000'000; ++i)
    ASSERT_TRUE(live.insert({address(i), 8192, 3, false})) << i;
  EXPECT_LE(live.bytes(), std::size_t{18} << 20);
  std::uint64_t i = 1'000'000;
  while (live.insert({address(i), 8192, 3, false})) // until it is full
    ++i;
  EXPECT_LE(live.bytes(), std::size_t{20} << 20);
  EXPECT_GT(i, 1'200'000u);
  LiveBlock block;
  for (std::uint64_t each = 0; each < i; ++each)
    ASSERT_TRUE(live.erase(address(each), 1, block)) << each;
  EXPECT_EQ(live.size(), 0u);
  EXPECT_TRUE(live.is_consistent());
}

TEST(SampleResolver, KnowsWhoseAnAddressWasWhen) {
  LiveBlocks live;
  std::mutex lock;
  SampleResolver batch;
  const std::uint64_t address = 0x10000;
  LiveBlock block;
  // Sites 0 to 9 have the address one after the other, each for 10 ns; the last still has it.
  for (std::uint32_t site = 0; site < 10; ++site) {
    if (site > 0) live.erase(address, 10 * site, block);
    live.insert({address, 5000 + 16 * site, site, false});
  }
  for (std::uint32_t site = 0; site < 10; ++site)
    ASSERT_TRUE(batch.add(sample_at(10 * site + 5, address + site)));
  batch.add(sample_at(200, 0x90000)); // nobody's
  batch.add(sample_at(200, 0));
  AccessPattern pattern;
  pattern.time = 35;
  pattern.address = address;
  pattern.through = address + 4999;
  batch.add(pattern);
  EXPECT_EQ(batch.resolve(live, lock), 0u);
  for (std::uint32_t site = 0; site < 10; ++site) {
    EXPECT_EQ(batch.samples()[site].place.site, site);
    EXPECT_EQ(batch.samples()[site].place.offset, site);
    EXPECT_EQ(batch.samples()[site].place.bytes, 5000u + 16 * site);
  }
  EXPECT_EQ(batch.samples()[10].place.site, BlockPlace::k_none);
  EXPECT_EQ(batch.samples()[11].place.site, BlockPlace::k_none);
  EXPECT_EQ(batch.patterns_of(batch.samples()[11])[0].place.site, 3u);
  EXPECT_EQ(batch.patterns_of(batch.samples()[11])[0].through_place.site, 3u);
}

TEST(SampleResolver, KeepsPatternsWithTheirSample) {
  SampleResolver batch;
  batch.add(AccessPattern()); // of a sample that was not kept
  ASSERT_TRUE(batch.add(sample_at(1, 0x10000)));
  ASSERT_TRUE(batch.add(sample_at(2, 0x10000)));
  for (std::size_t i = 0; i < SampleResolver::k_most + 10; ++i)
    batch.add(AccessPattern());
  EXPECT_FALSE(batch.add(sample_at(3, 0x10000))) << "full of patterns";
  EXPECT_EQ(batch.patterns_of(batch.samples()[0]).size(), 0u);
  EXPECT_EQ(batch.patterns_of(batch.samples()[1]).size(), SampleResolver::k_most + 10);
  batch.clear();
  EXPECT_TRUE(batch.add(sample_at(3, 0x10000)));
}

TEST(SampleResolver, SaysWhenNobodyKnows) {
  LiveBlocks live;
  std::mutex lock;
  SampleResolver batch;
  LiveBlock block;
  for (std::uint64_t time = 1; time <= LiveBlocks::k_ended + 100; ++time) {
    live.insert({0x10000, 4096, 1, false});
    live.erase(0x10000, time, block);
  }
  batch.add(sample_at(50, 0x10000));
  batch.add(sample_at(LiveBlocks::k_ended, 0x10000));
  EXPECT_EQ(batch.resolve(live, lock), 101u);
  EXPECT_EQ(batch.samples()[1].place.site, 1u);
}

// Told all, the sweep of the log must count what the totals say.
TEST(RegionRuns, CountAsTheLogsReaderDoes) {
  const ScratchFile told_file, totals_file;
  for (const bool all : {true, false}) {
    auto writer = std::make_unique<LogWriter>();
    ASSERT_TRUE(open_log(*writer, all ? told_file : totals_file));
    RunRecord run = some_run();
    run.start_time = monotonic_nanoseconds();
    writer->run(run);
    Frame frame{0, 0};
    for (std::uint32_t region = 0; region < 5; ++region) {
      frame.offset = 16 * region;
      writer->region_definition(region, &frame, 1);
    }
    std::mt19937 random(7);
    RegionRuns runs;
    std::vector<std::uint32_t> running; // one in the other
    SampleTimes times;
    for (unsigned step = 0; step < 20'000; ++step) {
      if (running.size() < 4 && random() % 2 == 0) {
        running.push_back(random() % 5);
        runs.begin(running.back(), 1 + random() % 8, 1);
      } else if (!running.empty()) {
        runs.end(running.back(), 1);
        running.pop_back();
      }
      if (step % 1000 == 0) runs.tell(times, monotonic_nanoseconds(), all, *writer);
    }
    while (!running.empty()) {
      runs.end(running.back(), 1);
      running.pop_back();
    }
    runs.tell(times, monotonic_nanoseconds(), all, *writer);
    if (!all) runs.write_totals(*writer);
    writer->end();
    writer->close();
  }
  const std::string files[] = {told_file.path(), totals_file.path()};
  const Parsed<ProfileSummary> logged = summarize_files({files, 1}),
                               totals = summarize_files({files + 1, 1});
  ASSERT_TRUE(logged && totals);
  ASSERT_EQ(logged->regions.size(), 6u);
  std::uint64_t entries = 0;
  for (unsigned i = 1; i < 6; ++i) {
    // Runs within runs are not logged, only counted.
    EXPECT_LE(logged->regions[i].entries, totals->regions[i].entries);
    EXPECT_EQ(logged->regions[i].entered_anew, totals->regions[i].entered_anew);
    EXPECT_EQ(totals->regions[i].threads, 8u);
    EXPECT_GT(totals->regions[i].nanoseconds, 0u);
    entries += totals->regions[i].entries;
  }
  EXPECT_GT(entries, 8'000u);
  EXPECT_LT(std::filesystem::file_size(totals_file.path()), 1000u);
}

TEST(LogBudget, KeepsTheLimitAndTheShares) {
  LogBudget budget;
  budget.start(1 << 20, 99);
  std::mt19937_64 random(3);
  std::uint64_t written = 0;
  double weights[2] = {0, 0}, true_weights[2] = {0, 0};
  unsigned thinned = 0;
  for (std::uint64_t i = 0; i < 20'000'000; ++i) {
    // In runs of one kind, and kinds change over time.
    const unsigned kind = (i / 7 + i / 1'000'000) % 3 == 0 ? 1 : 0;
    true_weights[kind] += 1;
    if (const std::uint64_t weight = budget.weight_of_next(); weight > 0) {
      weights[kind] += double(weight);
      written += 12;
    }
    if (i % 1000 == 0) thinned += budget.update(written) ? 1 : 0;
  }
  EXPECT_LE(written, std::uint64_t{1} << 20);
  EXPECT_GE(thinned, 7u);
  EXPECT_NEAR((weights[0] + weights[1]) / 20e6, 1, 1e-3);
  EXPECT_NEAR(weights[1] / (weights[0] + weights[1]), true_weights[1] / 20e6, 0.02);
}

namespace {

struct Capacity {
  explicit Capacity(const ScratchFile& file, std::uint64_t log_bytes) {
    RecorderOptions options;
    options.pattern = file.path();
    options.drain_milliseconds = 5;
    options.log_bytes = log_bytes;
    auto owned = std::make_unique<MadeUpSource>();
    source = owned.get();
    const std::size_t before = g_pages_taken; // by recorders before, which keep theirs
    EXPECT_TRUE(recorder->start(options, std::move(owned)));
    g_most_pages = before + options.memory;
  }
  ~Capacity() {
    recorder->finish();
    g_most_pages = ~std::size_t{0};
  }
  Recorder* recorder = new Recorder; // never destroyed, as in the tool
  MadeUpSource* source = nullptr;
};

// Two sites.
__attribute__((noinline)) void one(Recorder& recorder, const void* block, std::size_t bytes) {
  recorder.malloc_allocated(block, bytes, __builtin_return_address(0));
  asm volatile("");
}

const SiteSummary* largest(const ProfileSummary& summary) {
  return summary.sites.empty() ? nullptr : &summary.sites[0];
}

} // namespace

// Blocks of 8 KiB, each at the same address, freed long before the helper thread comes: two sites
// take turns, samples fall on one of them thrice as often.
TEST(Capacity, MiddleBlocksAreCountedBySite) {
  const ScratchFile file;
  static char memory[3 * 8192];
  {
    Capacity run(file, 1 << 20);
    for (unsigned i = 0; i < 40'000; ++i) {
      one(*run.recorder, memory, 8192);
      for (unsigned k = 0; k < 3; ++k)
        if (i % 100 == 0) run.source->add(memory + 100);
      run.recorder->released(memory);
      one(*run.recorder, memory, 8000);
      if (i % 100 == 0) run.source->add(memory + 100);
      run.recorder->released(memory);
    }
    one(*run.recorder, memory + 8192, 16000); // stays
  }
  const std::string path = file.path();
  const Parsed<ProfileSummary> summary = summarize_files({&path, 1});
  ASSERT_TRUE(summary) << summary.error();
  ASSERT_EQ(summary->sites.size(), 3u);
  // When the helper thread does not get to run, some are lost, by time.
  EXPECT_EQ(summary->samples + summary->samples_lost, 1600u);
  EXPECT_GT(summary->samples, 0u);
  EXPECT_EQ(summary->sites[0].samples + summary->sites[1].samples, summary->samples);
  EXPECT_NEAR(double(summary->sites[0].samples), 3.0 * double(summary->sites[1].samples), 3);
  EXPECT_EQ(summary->sites[0].objects, 40'000u);
  EXPECT_EQ(summary->sites[0].bytes_total, 40'000u * 8192);
  EXPECT_EQ(summary->sites[0].bytes_peak, 8192u);
  EXPECT_EQ(summary->sites[0].live.back().bytes, 0u);
  EXPECT_EQ(summary->sites[1].bytes_largest, 8000u);
  EXPECT_EQ(summary->sites[2].live.back().bytes, 16000u);
  EXPECT_TRUE(summary->sites[0].by_malloc);
  EXPECT_LT(summary->log_bytes, 100'000u);
}

// Large blocks in sequence and samples without end: the log stays below its limit, shares are
// right.
TEST(Capacity, TheLogKeepsItsLargestSize) {
  const ScratchFile file;
  static char memory[2 << 20];
  constexpr std::uint64_t k_limit = 1 << 20;
  std::uint64_t made = 0;
  {
    Capacity run(file, k_limit);
    one(*run.recorder, memory, 1 << 20);
    for (unsigned i = 0; i < 60; ++i) {
      for (unsigned k = 0; k < 5000; ++k, ++made)
        run.source->add(memory + (k % 4 == 0 ? 0 : 1 << 20) + k);
      for (unsigned k = 0; k < 1000; ++k) {
        one(*run.recorder, memory + (1 << 20), 1 << 20);
        run.recorder->released(memory + (1 << 20));
      }
      std::this_thread::sleep_for(std::chrono::milliseconds(6));
    }
  }
  const std::string path = file.path();
  const Parsed<ProfileSummary> summary = summarize_files({&path, 1});
  ASSERT_TRUE(summary) << summary.error();
  EXPECT_LE(summary->log_bytes, k_limit);
  EXPECT_GT(summary->log_bytes, k_limit / 2);
  EXPECT_LT(summary->samples, made / 4);
  double weight = summary->other.accesses.total(), first = 0;
  for (const SiteSummary& site : summary->sites) {
    weight += site.accesses.total();
    if (site.objects == 1 && site.by_malloc) first = site.accesses.total();
  }
  EXPECT_NEAR(weight, double(made), 0.02 * double(made));
  EXPECT_NEAR(first / weight, 0.25, 0.03);
  ASSERT_NE(largest(*summary), nullptr);
  EXPECT_NE(summary->notes.size(), 0u);
}

namespace {

__attribute__((noinline)) void map_at(Recorder& recorder, std::uintptr_t begin, std::size_t bytes) {
  recorder.mapped(reinterpret_cast<const void*>(begin), bytes, __builtin_return_address(0));
  asm volatile("");
}

} // namespace

// Mappings of a busy site are counted: a hole in a large one leaves two parts, which are counted in
// units of 64 KiB, together as more than the whole was. The log can be read all the same.
TEST(Capacity, PartsOfCountedMappingsHaveNoMoreThanTheWhole) {
  const ScratchFile file;
  constexpr std::uintptr_t k_begin = 0x100000000000;
  constexpr std::size_t k_mebibyte = 1 << 20, k_whole = 1024 * k_mebibyte;
  {
    Capacity run(file, 1 << 20);
    for (unsigned i = 0; i < 40; ++i) { // until samples begin to be left out
      for (unsigned k = 0; k < 5000; ++k)
        run.source->add(&file);
      std::this_thread::sleep_for(std::chrono::milliseconds(6));
    }
    for (unsigned i = 0; i < 3000; ++i)
      map_at(*run.recorder, k_begin, k_whole);
    run.recorder->unmapped(reinterpret_cast<const void*>(k_begin + 300 * k_mebibyte + 4096), 4096,
                           run.recorder->mappings_logged());
  }
  const Parsed<Profile> profile = read_profile(file.path());
  ASSERT_TRUE(profile) << profile.error();
  EXPECT_EQ(profile->cut, "");
  ASSERT_FALSE(profile->site_totals.empty());
  const SiteTotals& last = profile->site_totals.back();
  EXPECT_GT(last.objects, 900u);
  EXPECT_LE(last.live, k_whole);
  EXPECT_GE(last.live, k_whole - 2 * 65536);
}
