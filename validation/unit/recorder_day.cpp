// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A long run in fast motion: what a program does in SECONDS of two threads at the default rate goes
// through a real recorder, with no pause in between: samples, losses, regions with barriers, named
// phases, blocks of three sizes, mappings, threads and ever new call stacks. The log must stay
// below its largest size and memory below what the recorder may take; the report must know the
// truth: how much there was of everything, and each array's share.
//
// usage: recorder_day SECONDS REGIONS LOG_BYTES FOLDER
#include "made_up_source.hpp"

#include "analysis/aggregate.hpp"
#include "base/os.hpp"
#include "base/page_arena.hpp"
#include "recorder/recorder.hpp"

#include <algorithm>
#include <cinttypes>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

using namespace omptier;

namespace {

constexpr std::uint64_t k_ticks_a_second = 20, k_samples_a_tick = 2 * 100 / k_ticks_a_second;
constexpr std::size_t k_memory = std::size_t{32} << 20, k_large = std::size_t{1} << 20;
constexpr std::size_t k_libraries = std::size_t{8}
                                    << 20; // beside the recorder's own: decoder, text
#if defined(SANITIZED)
constexpr bool k_judges_memory = false; // a sanitizer keeps some bytes for each of ours
#else
constexpr bool k_judges_memory = true;
#endif

std::size_t resident() {
  std::size_t pages = 0, all = 0;
  FILE* file = std::fopen("/proc/self/statm", "r");
  if (file == nullptr || std::fscanf(file, "%zu %zu", &all, &pages) != 2) std::exit(2);
  std::fclose(file);
  return pages * page_size();
}

// Return addresses that lie in this program's code.
char* code(std::uint64_t which) {
  return reinterpret_cast<char*>(&resident) + which;
}

unsigned g_failures = 0;
void check(bool holds, const char* what, double value) {
  if (!holds) std::printf("FAILED: %s: %g\n", what, value);
  g_failures += holds ? 0 : 1;
}

struct Day {
  std::uint64_t ticks, regions, sites;
  Recorder* recorder = new Recorder; // never destroyed, as in the tool
  MadeUpSource* source = nullptr;
  std::vector<char> memory = std::vector<char>(4 * k_large);
  std::uint64_t samples = 0, ran = 0, blocks = 0, mappings = 0, phases = 0;
  std::size_t before = 0, most = 0;

  void tick(std::uint64_t now);
  void run(const char* log, std::uint64_t log_bytes);
};

// The first array has half of the samples, a block that comes and goes three tenths.
void Day::tick(std::uint64_t now) {
  char* first = memory.data();
  char* block = first + k_large;
  if (now % (k_ticks_a_second * 3) == 0) {
    char name[32];
    std::snprintf(name, sizeof name, "step %" PRIu64, phases++ / 4 % 50);
    recorder->phase(name);
  }
  if (now % k_ticks_a_second == 0)
    std::thread([this] {
      recorder->thread_begin();
      recorder->thread_end();
    }).join();
  recorder->malloc_allocated(block, now % 3 == 0 ? 100'000 : 8192, code(200));
  for (std::uint64_t i = 0; i < k_samples_a_tick; ++i, ++samples)
    source->add(i % 2 == 0 ? first + i : (i % 4 == 1 ? block + i : first + 3 * k_large));
  recorder->released(block);
  recorder->malloc_allocated(first + 5 * k_large / 2, 5000, code(2000 + now % sites));
  recorder->released(first + 5 * k_large / 2);
  recorder->small_allocated(first + 2 * k_large, 64, code(300 + now % 64), 64);
  blocks += 1;
  for (unsigned i = 0; i < 2; ++i, ++mappings) {
    const std::uint64_t logged = recorder->mappings_logged();
    recorder->mapped(first + 2 * k_large, 8192, code(400));
    recorder->unmapped(first + 2 * k_large, 4096, logged + 1);
    recorder->unmapped(first + 2 * k_large + 4096, 4096, logged + 1);
  }
  const std::uint64_t until =
      static_cast<std::uint64_t>(double(regions) * double(now + 1) / double(ticks));
  for (; ran < until; ++ran) {
    const std::uint64_t region = recorder->region_begin(code(500 + 4 * (ran / 16 % 12)), 2);
    recorder->barrier_passed(code(600));
    recorder->region_end(region);
    if (ran % 4096 == 4095) recorder->tick(); // the helper thread is woken for these
  }
  source->lose = 1;
  recorder->tick();
}

void Day::run(const char* log, std::uint64_t log_bytes) {
  RecorderOptions options;
  options.pattern = log;
  options.drain_milliseconds = 0;
  options.log_bytes = log_bytes;
  options.memory = k_memory;
  options.site_depth = options.region_depth = 1; // made up callers are in no call chain
  auto owned = std::make_unique<MadeUpSource>();
  source = owned.get();
  std::memset(memory.data(), 1, memory.size());
  before = resident();
  if (!recorder->start(options, std::move(owned))) std::exit(2);
  recorder->thread_begin();
  recorder->malloc_allocated(memory.data(), k_large, code(100));
  for (std::uint64_t now = 0; now < ticks; ++now) {
    tick(now);
    if (now % 1000 == 0) most = std::max(most, resident() - before);
  }
  most = std::max(most, resident() - before);
  recorder->finish();
}

void judge(const Day& day, const char* log, std::uint64_t log_bytes) {
  const std::string path = log;
  const Parsed<ProfileSummary> read = summarize_files({&path, 1});
  if (!read) {
    std::printf("FAILED: %s\n", read.error().c_str());
    std::exit(1);
  }
  const ProfileSummary& summary = *read;
  std::printf("%" PRIu64 " samples, %" PRIu64 " regions, %" PRIu64 " mappings, %" PRIu64
              " phases; log %.1f of %.1f MiB, %" PRIu64
              " samples kept; memory %.1f MiB (tables %.1f)\n",
              day.samples, day.ran, day.mappings, day.phases, double(summary.log_bytes) / (1 << 20),
              double(log_bytes) / (1 << 20), summary.samples, double(day.most) / (1 << 20),
              double(g_pages_taken) / (1 << 20));
  for (const std::string& note : summary.notes)
    std::printf("note: %s\n", note.c_str());
  check(summary.log_bytes <= log_bytes, "bytes of the log", double(summary.log_bytes));
  if (k_judges_memory)
    check(day.most <= k_memory + k_libraries, "bytes of memory", double(day.most));
  double all = summary.other.accesses.total() + summary.small.accesses.total(), first = 0,
         block = 0;
  std::uint64_t mappings = 0, blocks = 0;
  for (const SiteSummary& site : summary.sites) {
    all += site.accesses.total();
    if (site.bytes_largest == k_large) first += site.accesses.total();
    if (site.kind == SiteKind::mapping) mappings += site.objects;
    if (site.bytes_largest != 100'000) continue;
    block += site.accesses.total();
    blocks += site.objects;
  }
  // Weights differ: as good as an eighth of them with equal ones.
  const double made = double(day.samples), few = 4 / std::sqrt(double(summary.samples) / 8);
  check(std::abs(all / made - 1) < few, "of all samples by weight", all / made);
  check(std::abs(first / all - 0.5) < few, "share of the array", first / all);
  check(std::abs(block / all - 0.3) < few, "share of the block", block / all);
  check(mappings == day.mappings, "mappings", double(mappings));
  check(blocks == day.blocks, "blocks", double(blocks));
  std::uint64_t runs = 0, lost = 0;
  for (const RegionSummary& region : summary.regions)
    runs += region.entries;
  check(runs == day.ran, "runs of regions", double(runs));
  lost = summary.samples_lost;
  check(lost >= day.ticks, "lost samples", double(lost));
}

} // namespace

int main(int argc, char** argv) {
  if (argc < 5) return 2;
  const std::uint64_t log_bytes = std::strtoull(argv[3], nullptr, 10);
  Day day{std::strtoull(argv[1], nullptr, 10) * k_ticks_a_second,
          std::strtoull(argv[2], nullptr, 10), std::min<std::uint64_t>(log_bytes / 4096, 8000)};
  const std::string log = std::string(argv[4]) + "/day.profile";
  day.run(log.c_str(), log_bytes);
  judge(day, log.c_str(), log_bytes);
  return g_failures == 0 ? 0 : 1;
}
