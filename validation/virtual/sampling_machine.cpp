// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The memory-event unit read from inside the timed machine: two threads, each bound to a vCPU, load
// at random from two arrays far larger than the modelled caches, three times as often from the
// first. Shares of sampled misses must be 75 and 25 within 2 points, latencies and nodes must make
// sense, and each thread must be recognised. The kernel made the arrays' pages before: its clears
// must be recorded at the first touch of each, in the array that they are of. The first array is of
// small pages, which nobody but the program touches again; the second may be of huge ones, to which
// a kernel thread may also copy.

#include "sampling/source.hpp"

#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <pthread.h>
#include <sched.h>
#include <string>
#include <sys/mman.h>
#include <thread>
#include <unistd.h>
#include <vector>

namespace {

constexpr std::size_t k_elements = (16 << 20) / sizeof(std::uint64_t);
constexpr int k_iterations = 200'000;
std::atomic<int> running = 2;

std::uint64_t* array(bool of_small_pages) {
  constexpr std::size_t k_bytes = k_elements * 8;
  void* memory = mmap(nullptr, k_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) std::abort();
  if (of_small_pages) madvise(memory, k_bytes, MADV_NOHUGEPAGE); // fails where there are none
  if (madvise(memory, k_bytes, MADV_POPULATE_WRITE) != 0) std::abort();
  return static_cast<std::uint64_t*>(memory);
}

std::uint64_t now() {
  timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return static_cast<std::uint64_t>(time.tv_sec) * 1'000'000'000 +
         static_cast<std::uint64_t>(time.tv_nsec);
}

// The clocks' difference is known to some microseconds.
constexpr std::uint64_t k_clock_error = 1'000'000;

struct Count final : omptier::SampleSink {
  std::uint64_t *often, *seldom;
  std::uint32_t threads[2] = {};
  double hits_often = 0, hits_seldom = 0, elsewhere = 0;
  double cleared_often = 0, cleared_seldom = 0; // lines that the kernel stored to
  std::uint64_t bad = 0, of_thread[2] = {}, dropped = 0;
  std::uint64_t begin = 0;

  static bool within(std::uint64_t address, const std::uint64_t* memory) {
    auto first = reinterpret_cast<std::uint64_t>(memory);
    return address >= first && address < first + k_elements * 8;
  }
  void sample(const omptier::AccessSample& access) override {
    auto weight = static_cast<double>(access.weight);
    if (access.by_kernel) return made(access);
    bool known = true;
    if (within(access.address, often))
      hits_often += weight;
    else if (within(access.address, seldom))
      hits_seldom += weight;
    else
      known = false, elsewhere += weight;
    if (!known) return;
    if (access.kind != omptier::AccessKind::load || access.latency <= 0 ||
        access.level != omptier::AccessLevel::memory || access.node == 255 || access.time < begin ||
        access.time > now() + k_clock_error)
      ++bad, note_bad(access);
    for (int i = 0; i < 2; ++i)
      if (access.thread == threads[i]) ++of_thread[i];
  }
  // Pages elsewhere may be copies: of what a new thread or a library writes to.
  void made(const omptier::AccessSample& access) {
    const bool is_often = within(access.address, often);
    if (!is_often && !within(access.address, seldom)) return;
    const bool is_store = access.kind == omptier::AccessKind::store;
    if (is_store) (is_often ? cleared_often : cleared_seldom) += static_cast<double>(access.weight);
    if ((is_often && !is_store) || access.level != omptier::AccessLevel::memory)
      ++bad, note_bad(access);
  }
  void note_bad(const omptier::AccessSample& access) const {
    if (bad > 5) return;
    std::printf("implausible: %skind %d level %d node %u latency %.0f time %lld now %lld\n",
                access.by_kernel ? "by the kernel, " : "", static_cast<int>(access.kind),
                static_cast<int>(access.level), access.node, static_cast<double>(access.latency),
                static_cast<long long>(access.time - begin), static_cast<long long>(now() - begin));
  }
  void lost(std::uint64_t count) override { dropped += count; }
};

void load(int cpu, const std::uint64_t* often, const std::uint64_t* seldom,
          omptier::SampleSource& source, std::uint32_t& id) {
  cpu_set_t one;
  CPU_ZERO(&one);
  CPU_SET(cpu, &one);
  sched_setaffinity(0, sizeof one, &one);
  id = static_cast<std::uint32_t>(gettid());
  source.thread_begin(gettid());
  std::uint64_t state = 88172645463325252u + static_cast<std::uint64_t>(cpu);
  volatile std::uint64_t sink = 0;
  for (int i = 0; i < k_iterations; ++i) {
    std::uint64_t sum = 0;
    for (int k = 0; k < 4; ++k) {
      state ^= state << 13;
      state ^= state >> 7;
      state ^= state << 17;
      sum += (k < 3 ? often : seldom)[(state >> 20) % k_elements];
    }
    sink = sink + sum;
  }
  source.thread_end(gettid());
  --running;
}

} // namespace

int main() {
  std::string why;
  auto source = omptier::open_sample_source({"auto", 100}, why);
  std::printf("%s\n", why.c_str());
  if (!source || source->name() != std::string("machine")) return 1;
  std::printf("%s\n", source->description().c_str());
  Count count;
  count.often = array(true);
  count.seldom = array(false);
  source->drain(count); // what setting up missed
  count.hits_often = count.hits_seldom = count.elsewhere = 0;
  count.bad = count.dropped = 0;
  count.begin = now();
  std::thread first(load, 1, count.often, count.seldom, std::ref(*source),
                    std::ref(count.threads[0]));
  std::thread second(load, 2, count.often, count.seldom, std::ref(*source),
                     std::ref(count.threads[1]));
  while (running > 0) { // as the helper thread would
    usleep(50'000);
    source->drain(count);
  }
  first.join();
  second.join();
  source->drain(count);
  double sum = count.hits_often + count.hits_seldom, share = count.hits_often / sum;
  std::printf("%.0f misses sampled, %.0f elsewhere, %llu lost; first array %.1f %% (75 expected); "
              "threads %llu + %llu; %llu implausible\n",
              sum, count.elsewhere, static_cast<unsigned long long>(count.dropped), 100 * share,
              static_cast<unsigned long long>(count.of_thread[0]),
              static_cast<unsigned long long>(count.of_thread[1]),
              static_cast<unsigned long long>(count.bad));
  // A huge page is cleared twice where Linux also clears what it allocates.
  constexpr double k_lines = k_elements / 8;
  auto made = [&](double stored, double most) {
    return stored > 0.9 * k_lines && stored < most * k_lines;
  };
  std::printf("the kernel cleared %.2f and %.2f times the arrays' lines\n",
              count.cleared_often / k_lines, count.cleared_seldom / k_lines);
  bool shares = share > 0.73 && share < 0.77;
  bool threads = count.of_thread[0] + count.of_thread[1] > 0.95 * sum / 100;
  bool counted = sum > 0.8 * 2 * 4 * k_iterations; // most loads miss
  bool cleared = made(count.cleared_often, 1.1) && made(count.cleared_seldom, 2.1);
  return shares && threads && counted && cleared && count.bad == 0 ? 0 : 1;
}
