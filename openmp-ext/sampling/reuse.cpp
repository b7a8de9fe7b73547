// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "sampling/reuse.hpp"

#include "base/kernel_files.hpp"
#include "base/os.hpp"

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <linux/hw_breakpoint.h>
#include <sys/ioctl.h>
#include <unistd.h>

namespace omptier {

namespace {

constexpr std::uint64_t k_between_watches = 50'000'000, k_window = 100'000'000; // ns
constexpr double k_fastest_rate = 16; // bytes a ns that one core loads
constexpr unsigned k_refusals = 4;

perf_event_attr watchpoint(std::uint64_t address) {
  perf_event_attr attributes = perf_attributes(PERF_TYPE_BREAKPOINT, 0);
  attributes.bp_type = HW_BREAKPOINT_RW;
  attributes.bp_addr = address & ~std::uint64_t{7};
  attributes.bp_len = HW_BREAKPOINT_LEN_8;
  attributes.sample_period = 1;
  attributes.sample_type = PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME;
  attributes.disabled = 1;
  return attributes;
}

std::string file_of_cache(unsigned index, const char* file) {
  return read_small_file("/sys/devices/system/cpu/cpu0/cache/index" + std::to_string(index) + "/" +
                         file);
}

// The first processor's largest cache, from sysfs (sysconf is wrong by a factor of ten on some AMD
// processors); without an entry there, 32 MiB, of which a processor has 2.
LastLevelCache read_last_level_cache() {
  LastLevelCache cache;
  double largest = 0;
  for (unsigned index = 0; index < 8; ++index) {
    const std::string size = file_of_cache(index, "size");
    const std::size_t sharing = parse_number_list(file_of_cache(index, "shared_cpu_list")).size();
    const double bytes = std::strtod(size.c_str(), nullptr) * 1024; // "32768K"
    if (bytes <= largest || sharing == 0) continue;
    largest = cache.all = bytes;
    cache.share = bytes / static_cast<double>(sharing);
  }
  return cache;
}

} // namespace

const LastLevelCache& last_level_cache() {
  static const LastLevelCache cache = read_last_level_cache();
  return cache;
}

bool can_watch_addresses() {
  static std::uint64_t word = 0;
  perf_event_attr attributes = watchpoint(reinterpret_cast<std::uint64_t>(&word));
  const int fd =
      os().perf_event_open(&attributes, static_cast<pid_t>(gettid()), -1, -1, PERF_FLAG_FD_CLOEXEC);
  if (fd >= 0) os().close(fd);
  return fd >= 0;
}

namespace {

// Calls visit(time of a use, time of the next use by the same instruction) for each such pair.
template <typename Visit>
void each_reuse(const std::vector<std::pair<std::uint64_t, std::uint64_t>>& hits, Visit visit) {
  for (std::size_t later = 1; later < hits.size(); ++later)
    for (std::size_t earlier = later; earlier-- > 0;) {
      if (hits[earlier].first != hits[later].first) continue;
      visit(hits[earlier].second, hits[later].second);
      break;
    }
}

} // namespace

std::uint64_t reuse_time(const std::vector<std::pair<std::uint64_t, std::uint64_t>>& hits) {
  std::uint64_t shortest = 0;
  each_reuse(hits, [&](std::uint64_t begin, std::uint64_t end) {
    const std::uint64_t time = std::max<std::uint64_t>(end - begin, 1);
    if (shortest == 0 || time < shortest) shortest = time;
  });
  return shortest;
}

BetweenUses between_uses(const std::vector<std::pair<std::uint64_t, std::uint64_t>>& hits,
                         const std::vector<std::pair<std::uint64_t, std::uint64_t>>& samples,
                         std::uint64_t address, std::uint64_t far) {
  const std::uint64_t longest = 2 * reuse_time(hits);
  const auto is_between = [&](std::uint64_t time) {
    bool between = false;
    each_reuse(hits, [&](std::uint64_t begin, std::uint64_t end) {
      between |= time > begin && time < end && end - begin <= longest;
    });
    return between;
  };
  BetweenUses between;
  for (const auto& [at, time] : samples) {
    if (!is_between(time)) continue;
    ++between.samples;
    between.far += (at > address ? at - address : address - at) >= far;
  }
  return between;
}

void ReuseWatch::visit(AccessSample& sample) {
  if (!sample.address || !sample.thread || sample.level != AccessLevel::unknown) return;
  if (instructions_.size() >= k_kept) instructions_.clear();
  Instruction& instruction = instructions_[sample.pc];
  ++instruction.samples;
  instruction.lowest = std::min(instruction.lowest, sample.address);
  instruction.highest = std::max(instruction.highest, sample.address);
  if (instruction.cache > instruction.memory) sample.level = AccessLevel::cache;
  if (instruction.memory > instruction.cache) sample.level = AccessLevel::memory;
  for (Watch& watch : watches_)
    if (watch.pc == sample.pc && watch.thread == sample.thread && watch.samples.size() < k_samples)
      watch.samples.emplace_back(sample.address, sample.time);
  watch(sample, instruction);
}

void ReuseWatch::watch(const AccessSample& sample, Instruction& instruction) {
  const std::uint64_t now = monotonic_nanoseconds();
  if (refused_ >= k_refusals || watches_.size() >= k_watches || instruction.samples < 2 ||
      instruction.watched >= k_watched_often || now - last_begin_ < k_between_watches)
    return;
  Watch made;
  const int error =
      made.ring.open(static_cast<pid_t>(sample.thread), watchpoint(sample.address), 1);
  if (error == ESRCH) return;
  // The kernel disables the event after k_hits, however late we look.
  if (error || ioctl(made.ring.descriptor(), PERF_EVENT_IOC_REFRESH, k_hits) != 0) {
    ++refused_;
    return;
  }
  refused_ = 0;
  last_begin_ = made.begin = now;
  made.pc = sample.pc;
  made.address = sample.address;
  made.thread = sample.thread;
  ++instruction.watched;
  watches_.push_back(std::move(made));
}

bool ReuseWatch::judge(const Watch& watch, Instruction& instruction) {
  const LastLevelCache& cache = last_level_cache();
  const auto soon = static_cast<double>(reuse_time(watch.hits));
  const double fits = cache.share / k_fastest_rate, exceeds = 2 * cache.all / k_fastest_rate; // ns
  const bool ranges_wide =
      static_cast<double>(instruction.highest - instruction.lowest) >= 2 * cache.all;
  const auto far = static_cast<std::uint64_t>(cache.all);
  if (soon > 0 && soon <= fits)
    ++instruction.cache;
  else if (ranges_wide && (soon == 0 || soon >= exceeds ||
                           between_uses(watch.hits, watch.samples, watch.address, far).is_wide()))
    ++instruction.memory;
  else
    return false;
  ++verdicts_;
  return true;
}

// A watch that cannot be judged when it ends is judged at the next drain: by then its last samples
// are decoded.
void ReuseWatch::collect() {
  const std::uint64_t now = monotonic_nanoseconds();
  for (std::size_t i = 0; i < watches_.size();) {
    Watch& watch = watches_[i];
    const bool ended_before = watch.ended;
    watch.ring.drain([&](std::uint32_t type, std::span<const std::uint64_t> words) {
      if (type == PERF_RECORD_SAMPLE && words.size() >= 3)
        watch.hits.emplace_back(words[0], words[2]);
    });
    watch.ended = ended_before || watch.hits.size() >= k_hits || now - watch.begin >= k_window;
    bool done = ended_before;
    if (watch.ended) {
      watch.ring.close();
      const auto known = instructions_.find(watch.pc);
      done |= known == instructions_.end() || judge(watch, known->second);
    }
    if (!done) {
      ++i;
      continue;
    }
    if (i + 1 != watches_.size()) watch = std::move(watches_.back());
    watches_.pop_back();
  }
}

} // namespace omptier
