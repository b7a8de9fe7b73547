// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "sampling/reuse.hpp"

#include "base/kernel_files.hpp"
#include "base/os.hpp"

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <linux/hw_breakpoint.h>
#include <span>
#include <string>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <unistd.h>

namespace omptier {

namespace {

constexpr std::uint64_t k_between_watches = 25'000'000, k_window = 100'000'000; // ns
constexpr std::uint64_t k_first_look = 300'000'000;   // ns of samples before the first watch
constexpr std::uint64_t k_usage_window = 200'000'000; // ns; time in the kernel is counted in ticks
constexpr double k_many_faults = 5000;                // page faults a second
constexpr double k_much_kernel = 0.2;                 // of a processor
constexpr double k_much_slower = 2;                   // times; less is not worth a pause
constexpr unsigned k_refusals = 4;
constexpr std::uint64_t k_most_cores = 25; // that load at their highest rate at once

perf_event_attr watchpoint(std::uint64_t address) {
  perf_event_attr attributes = perf_attributes(PERF_TYPE_BREAKPOINT, 0);
  attributes.bp_type = HW_BREAKPOINT_RW;
  attributes.bp_addr = address;
  attributes.bp_len = HW_BREAKPOINT_LEN_1;
  attributes.sample_period = 1;
  attributes.sample_type = PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME;
  attributes.disabled = 1;
  return attributes;
}

// Shortest of several times, as an interrupt may fall on some of them.
std::uint64_t nanoseconds_to_clear(std::span<char> room) {
  std::uint64_t shortest = ~std::uint64_t{0};
  for (int i = 0; i < 5; ++i) {
    const std::uint64_t begin = monotonic_nanoseconds();
#if defined(__x86_64__)
    void* to = room.data();
    std::size_t bytes = room.size();
    __asm__ volatile("rep stosb" : "+D"(to), "+c"(bytes) : "a"(0) : "memory");
#endif
    shortest = std::min(shortest, monotonic_nanoseconds() - begin);
  }
  return std::max<std::uint64_t>(shortest, 1);
}

double measured_string_slowdown() {
  static char room[16 << 10];
  static std::uint64_t word = 0;
  const std::uint64_t alone = nanoseconds_to_clear(room);
  perf_event_attr attributes = watchpoint(reinterpret_cast<std::uint64_t>(&word));
  attributes.disabled = 0;
  const int fd =
      os().perf_event_open(&attributes, static_cast<pid_t>(gettid()), -1, -1, PERF_FLAG_FD_CLOEXEC);
  if (fd < 0) return k_much_slower; // unknown
  const std::uint64_t watched = nanoseconds_to_clear(room);
  os().close(fd);
  const double times = double(watched) / double(alone);
  return times >= k_much_slower ? times : 1;
}

bool is_guest() {
  return (" " + read_small_file("/proc/cpuinfo")).find(" hypervisor") != std::string::npos;
}

} // namespace

// A processor has only its part of the largest cache for itself: others fill the rest meanwhile.
// They fill it no faster than memory delivers, which is what two dozen cores load at most. A
// hypervisor names only the guest's processors as its users; other guests may have as many, but the
// cache below is the guest's. (sysconf is wrong by a factor of ten on some AMD processors.)
CacheSizes read_cache_sizes(const char* folder, bool guest) {
  struct Cache {
    std::uint64_t bytes = 0, part = 0;
  };
  std::vector<Cache> caches;
  for (unsigned index = 0; index < 8; ++index) {
    const std::string files = std::string(folder) + "/index" + std::to_string(index) + "/";
    const std::string size = read_small_file(files + "size"); // "32768K"
    const auto users = parse_number_list(read_small_file(files + "shared_cpu_list")).size();
    const std::uint64_t bytes = std::strtoull(size.c_str(), nullptr, 10) * 1024;
    if (bytes > 0 && users > 0)
      caches.push_back({bytes, bytes / std::min<std::uint64_t>(users, k_most_cores)});
  }
  if (caches.empty()) return {};
  std::ranges::sort(caches, std::greater{}, &Cache::bytes);
  CacheSizes sizes{caches[0].part, caches[0].bytes};
  if (!guest) return sizes;
  sizes.own = sizes.all / k_most_cores;
  if (caches.size() > 1) sizes.own = std::max(sizes.own, caches[1].part);
  return sizes;
}

const CacheSizes& cache_sizes() {
  static const CacheSizes sizes =
      read_cache_sizes("/sys/devices/system/cpu/cpu0/cache", is_guest());
  return sizes;
}

bool can_watch_addresses() {
  static std::uint64_t word = 0;
  perf_event_attr attributes = watchpoint(reinterpret_cast<std::uint64_t>(&word));
  const int fd =
      os().perf_event_open(&attributes, static_cast<pid_t>(gettid()), -1, -1, PERF_FLAG_FD_CLOEXEC);
  if (fd >= 0) os().close(fd);
  return fd >= 0;
}

double string_slowdown() {
  static const double times = measured_string_slowdown();
  return times;
}

// Not the shortest time: for random uses it falls with the length of the watch.
std::uint64_t reuse_time(const std::vector<std::pair<std::uint64_t, std::uint64_t>>& hits) {
  std::vector<std::uint64_t> times;
  for (std::size_t later = 1; later < hits.size(); ++later)
    for (std::size_t earlier = later; earlier-- > 0;) {
      if (hits[earlier].first != hits[later].first) continue;
      times.push_back(std::max<std::uint64_t>(hits[later].second - hits[earlier].second, 1));
      break;
    }
  if (times.empty()) return 0;
  const auto middle = times.begin() + static_cast<std::ptrdiff_t>(times.size() / 2);
  std::ranges::nth_element(times, middle);
  return *middle;
}

void ReuseWatch::visit(const AccessSample& sample) {
  if (!sample.address || !sample.thread) return;
  if (instructions_.size() >= k_kept) instructions_.clear();
  Instruction& instruction = instructions_[sample.pc];
  ++instruction.samples;
  for (Watch& watch : watches_) {
    AddressReuse& reuse = watch.reuse;
    if (reuse.pc != sample.pc || reuse.thread != sample.thread || sample.time < watch.begin)
      continue;
    ++reuse.samples;
    watch.lowest = std::min(watch.lowest, sample.address);
    watch.highest = std::max(watch.highest, sample.address);
  }
  watch(sample, instruction);
}

bool ReuseWatch::visit_string(const AccessSample& sample) {
  if (string_slowdown() == 1) return false;
  give_up(monotonic_nanoseconds());
  const auto was_watched = [&](const GivenUp& watch) {
    return watch.thread == sample.thread && watch.begin <= sample.time && sample.time < watch.end;
  };
  return std::ranges::any_of(given_up_, was_watched);
}

// What the watches saw is wrong, too: the program ran slower meanwhile.
void ReuseWatch::give_up(std::uint64_t now) {
  not_before_ = now + pause_;
  if (watches_.empty()) return;
  pause_ = std::min(2 * pause_, k_longest_pause);
  given_up_.clear();
  for (Watch& watch : watches_) {
    watch.ring.close();
    given_up_.push_back({watch.reuse.thread, watch.begin, now});
  }
  watches_.clear();
}

// Of the whole process, since it was last read: many page faults, or, for faults of huge pages and
// copies by system calls, much time in the kernel, which clears and copies by string instructions.
bool ReuseWatch::kernel_clears(std::uint64_t now) {
  if (now - usage_read_ < k_usage_window) return false;
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  const auto faults = static_cast<std::uint64_t>(usage.ru_minflt);
  const std::uint64_t kernel = static_cast<std::uint64_t>(usage.ru_stime.tv_sec) * 1'000'000'000 +
                               static_cast<std::uint64_t>(usage.ru_stime.tv_usec) * 1000;
  const double new_faults = double(faults - std::exchange(faults_, faults));
  const double new_kernel = double(kernel - std::exchange(kernel_, kernel));
  const double seconds = double(now - std::exchange(usage_read_, now)) * 1e-9;
  return new_faults > k_many_faults * seconds || new_kernel * 1e-9 > k_much_kernel * seconds;
}

void ReuseWatch::watch(const AccessSample& sample, Instruction& instruction) {
  const std::uint64_t now = monotonic_nanoseconds();
  if (not_before_ == 0) not_before_ = string_slowdown() == 1 ? now : now + k_first_look;
  if (refused_ >= k_refusals || now < not_before_ || watches_.size() >= k_watches ||
      instruction.samples < 2 || instruction.watched >= k_watched_often || now - last_begin_ < k_between_watches)
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
  made.lowest = made.highest = made.reuse.address = sample.address;
  made.reuse.pc = sample.pc;
  made.reuse.thread = sample.thread;
  ++instruction.watched;
  watches_.push_back(std::move(made));
}

void ReuseWatch::end(Watch& watch, std::uint64_t now) {
  watch.ring.close();
  watch.reuse.time = now;
  watch.reuse.range = watch.highest - watch.lowest;
  watch.reuse.watched = static_cast<float>(now - watch.begin);
  watch.reuse.until_next_use = static_cast<float>(reuse_time(watch.hits));
  ended_.push_back(watch.reuse);
}

// A complete watch waits for the next drain: by then the samples of its time are decoded.
void ReuseWatch::collect() {
  const std::uint64_t now = monotonic_nanoseconds();
  if (kernel_clears(now) && string_slowdown() != 1) give_up(now);
  for (std::size_t i = 0; i < watches_.size();) {
    Watch& watch = watches_[i];
    const bool complete = watch.hits.size() >= k_hits || now - watch.begin >= k_window;
    watch.ring.drain([&](std::uint32_t type, std::span<const std::uint64_t> words) {
      if (type == PERF_RECORD_SAMPLE && words.size() >= 3)
        watch.hits.emplace_back(words[0], words[2]);
    });
    if (!complete) {
      ++i;
      continue;
    }
    end(watch, now);
    if (i + 1 != watches_.size()) watch = std::move(watches_.back());
    watches_.pop_back();
  }
}

} // namespace omptier
