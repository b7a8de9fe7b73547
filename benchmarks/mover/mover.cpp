// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// mover [FROM TO [MIB [REPEATS [PAGE]]]]: moves memory between two NUMA nodes, in 4 KiB and in 2
// MiB pages (or in those of PAGE KiB only), by each of these ways and by 1, 2 and 4 threads:
// move_pages with one address a call, the same in batches, mbind with MPOL_MF_MOVE, memcpy to
// memory that is already there, and OMPTier's move_to_nodes. Prints the median MB/s (10^6 bytes),
// and the system calls and TLB shoot-downs per MB. After every move all bytes and the node of every
// page are checked.
//
// The threads of the kernel's ways share the range; move_to_nodes is called by one thread that may
// run on so many processors, and starts its own. If a processor is left, a thread of this process
// spins there, as a team that waits at a barrier does, so that unmapping pages needs shoot-downs.
// In a timed virtual machine only the moves are timed; seconds are the guest's.
#include "base/os.hpp"
#include "borders/model_marks.h"
#include "placement/pages.hpp"

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <linux/mempolicy.h>
#include <sched.h>
#include <sys/mman.h>
#include <thread>
#include <vector>

using namespace omptier;

namespace {

constexpr std::size_t k_huge = std::size_t{2} << 20, k_small = 4096, k_batch = 512;
constexpr unsigned k_most_threads = 4;

[[noreturn]] void give_up(const char* what) {
  std::fprintf(stderr, "mover: %s: %s\n", what, std::strerror(errno));
  std::exit(1);
}

// Calls of all threads that a way of moving makes, counted in a table in front of the kernel's.
std::atomic<std::uint64_t> calls{0};
const OsCalls* kernel = nullptr;

long counted_move(int pid, unsigned long count, void** pages, const int* nodes, int* status,
                  int flags) {
  calls.fetch_add(1, std::memory_order_relaxed);
  return kernel->move_pages(pid, count, pages, nodes, status, flags);
}
long counted_bind(void* at, std::size_t bytes, int mode, const unsigned long* nodes,
                  unsigned long limit, unsigned flags) {
  calls.fetch_add(1, std::memory_order_relaxed);
  return kernel->bind_memory(at, bytes, mode, nodes, limit, flags);
}

// ---- Memory with a content that tells every word's place.

std::uint64_t word_at(std::size_t index) {
  return (index + 1) * UINT64_C(0x9e3779b97f4a7c15);
}

struct Memory {
  char* begin = nullptr;
  std::size_t bytes = 0;
  std::size_t page = k_small; // its size

  std::uintptr_t address() const { return reinterpret_cast<std::uintptr_t>(begin); }
  void fill() const {
    auto* words = reinterpret_cast<std::uint64_t*>(begin);
    for (std::size_t i = 0; i < bytes / sizeof *words; ++i)
      words[i] = word_at(i);
  }
  bool is_unchanged() const {
    const auto* words = reinterpret_cast<const std::uint64_t*>(begin);
    for (std::size_t i = 0; i < bytes / sizeof *words; ++i)
      if (words[i] != word_at(i)) return false;
    return true;
  }
};

Memory memory_on(unsigned node, std::size_t bytes, std::size_t page) {
  void* raw =
      ::mmap(nullptr, bytes + k_huge, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (raw == MAP_FAILED) give_up("mmap");
  const auto begin = (reinterpret_cast<std::uintptr_t>(raw) + k_huge - 1) & ~(k_huge - 1);
  Memory memory{reinterpret_cast<char*>(begin), bytes, page};
  ::madvise(memory.begin, bytes, page == k_huge ? MADV_HUGEPAGE : MADV_NOHUGEPAGE);
  const unsigned long nodes = 1ul << node;
  if (os().bind_memory(memory.begin, bytes, MPOL_PREFERRED, &nodes, k_max_nodes + 1, 0) != 0)
    give_up("mbind");
  memory.fill();
  return memory;
}

void check(const Memory& memory, unsigned node, const char* after) {
  PageCensus census;
  count_pages(memory.address(), memory.bytes, census);
  const bool there = census.node[node] == memory.bytes, unchanged = memory.is_unchanged();
  if (there && unchanged) return;
  std::fprintf(stderr, "mover: after %s, %llu of %zu bytes are on node %u, their content is %s\n",
               after, static_cast<unsigned long long>(census.node[node]), memory.bytes, node,
               unchanged ? "unchanged" : "changed");
  std::exit(1);
}

// ---- The ways.

struct Job {
  char* begin;
  std::size_t bytes;
  std::size_t page;
  unsigned node;
  char* copy_to; // memcpy's
};

void move_in_batches(const Job& job, std::size_t batch) {
  void* pages[k_batch];
  int nodes[k_batch], status[k_batch];
  for (std::size_t at = 0; at < job.bytes;) {
    std::size_t n = 0;
    for (; n < batch && at < job.bytes; at += job.page, ++n) {
      pages[n] = job.begin + at;
      nodes[n] = static_cast<int>(job.node);
    }
    if (os().move_pages(0, n, pages, nodes, status, MPOL_MF_MOVE) < 0) give_up("move_pages");
  }
}
void by_single_calls(const Job& job) {
  move_in_batches(job, 1);
}
void by_batches(const Job& job) {
  move_in_batches(job, k_batch);
}
void by_mbind(const Job& job) {
  const unsigned long nodes = 1ul << job.node;
  if (os().bind_memory(job.begin, job.bytes, MPOL_PREFERRED, &nodes, k_max_nodes + 1,
                       MPOL_MF_MOVE) != 0)
    give_up("mbind with MPOL_MF_MOVE");
}
void by_memcpy(const Job& job) {
  std::memcpy(job.copy_to, job.begin, job.bytes);
}
void by_mover(const Job& job) {
  NodeSet nodes;
  nodes.add(job.node);
  if (move_to_nodes(reinterpret_cast<std::uintptr_t>(job.begin), job.bytes, {nodes}).refused)
    give_up("move_to_nodes");
}

struct Way {
  const char* name;
  void (*move)(const Job&);
  bool own_threads; // it starts its threads itself
};
constexpr Way k_memcpy{"memcpy", by_memcpy, false};
constexpr Way k_ways[] = {{"move_pages, one address a call", by_single_calls, false},
                          {"move_pages, 512 addresses a call", by_batches, false},
                          {"mbind(MPOL_MF_MOVE)", by_mbind, false},
                          k_memcpy,
                          {"OMPTier move_to_nodes", by_mover, true}};

// ---- Threads and processors.

std::vector<int> processors() {
  cpu_set_t set;
  std::vector<int> list;
  if (sched_getaffinity(0, sizeof set, &set) != 0) give_up("sched_getaffinity");
  for (int i = 0; i < CPU_SETSIZE; ++i)
    if (CPU_ISSET(i, &set)) list.push_back(i);
  return list;
}

void run_on(const std::vector<int>& list, std::size_t first, std::size_t count) {
  cpu_set_t set;
  CPU_ZERO(&set);
  for (std::size_t i = first; i < std::min(first + count, list.size()); ++i)
    CPU_SET(list[i], &set);
  sched_setaffinity(0, sizeof set, &set);
}

// Spins on the last processor, if it is beyond the first ones, while it lives.
class Waiting {
public:
  Waiting(const std::vector<int>& list, std::size_t first) {
    if (first >= list.size()) return;
    thread_ = std::thread([this, &list] {
      run_on(list, list.size() - 1, 1);
      while (!over_.load(std::memory_order_relaxed))
        std::atomic_signal_fence(std::memory_order_seq_cst);
    });
  }
  ~Waiting() {
    over_ = true;
    if (thread_.joinable()) thread_.join();
  }

private:
  std::atomic<bool> over_{false};
  std::thread thread_;
};

// Sum of the processors' shoot-downs since the start; false where the kernel does not count them.
bool read_shoot_downs(std::uint64_t& sum) {
  std::FILE* file = std::fopen("/proc/interrupts", "re");
  if (file == nullptr) return false;
  char line[16384];
  bool found = false;
  while (!found && std::fgets(line, sizeof line, file) != nullptr) {
    const char* at = std::strstr(line, "TLB:");
    if (at == nullptr) continue;
    found = true;
    sum = 0;
    char* end = nullptr;
    for (at += 4;; at = end) {
      const unsigned long long count = std::strtoull(at, &end, 10);
      if (end == at) break;
      sum += count;
    }
  }
  std::fclose(file);
  return found;
}

struct Measured {
  double seconds = 0;
  double calls = 0, shoot_downs = -1;
};

Measured measure(const Way& way, const Job& whole, unsigned threads, const std::vector<int>& list) {
  const unsigned parts = way.own_threads ? 1 : threads;
  std::atomic<unsigned> ready{0};
  std::atomic<bool> go{false};
  const std::size_t part = whole.bytes / parts / k_huge * k_huge;
  const auto work = [&](unsigned i) {
    const std::size_t begin = i * part, end = i + 1 == parts ? whole.bytes : begin + part;
    const Job job{whole.begin + begin, end - begin, whole.page, whole.node, whole.copy_to + begin};
    way.move(job);
  };
  std::vector<std::thread> others;
  for (unsigned i = 1; i < parts; ++i)
    others.emplace_back([&, i] {
      run_on(list, i, 1);
      ready.fetch_add(1);
      while (!go.load())
        std::this_thread::yield();
      work(i);
    });
  run_on(list, 0, way.own_threads ? threads : 1);
  while (ready.load() != parts - 1)
    std::this_thread::yield();
  Measured measured;
  std::uint64_t before = 0, after = 0;
  const bool counted = read_shoot_downs(before);
  calls = 0;
  omptier_model_reset();
  omptier_model_on();
  const std::uint64_t start = monotonic_nanoseconds();
  go = true;
  work(0);
  for (std::thread& thread : others)
    thread.join();
  measured.seconds = static_cast<double>(monotonic_nanoseconds() - start) / 1e9;
  omptier_model_off();
  measured.calls = static_cast<double>(calls.load());
  if (counted && read_shoot_downs(after))
    measured.shoot_downs = static_cast<double>(after - before);
  run_on(list, 0, list.size());
  return measured;
}

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

// Each repeat moves there and back; only the way there is measured.
void compare(const Way& way, std::size_t page, unsigned from, unsigned to, std::size_t bytes,
             unsigned threads, unsigned repeats, const std::vector<int>& list) {
  const Memory memory = memory_on(from, bytes, page);
  Memory target = memory;
  const bool copies = way.move == k_memcpy.move;
  if (copies) target = memory_on(to, bytes, page);
  NodeSet home;
  home.add(from);
  std::vector<double> seconds, system_calls, shoot_downs;
  for (unsigned i = 0; i < repeats; ++i) {
    move_to_nodes(memory.address(), bytes, {home});
    check(memory, from, "moving home");
    if (copies) std::memset(target.begin, 0, bytes);
    const Job job{memory.begin, bytes, page, to, target.begin};
    const Waiting waiting(list, threads);
    const Measured one = measure(way, job, threads, list);
    check(target, to, way.name);
    seconds.push_back(one.seconds);
    system_calls.push_back(one.calls);
    shoot_downs.push_back(one.shoot_downs);
  }
  const double megabytes = static_cast<double>(bytes) / 1e6;
  const double shot = median(shoot_downs);
  std::printf("%-34s %7s %7u %9.0f %11.2f", way.name, page == k_huge ? "2 MiB" : "4 KiB", threads,
              megabytes / median(seconds), median(system_calls) / megabytes);
  if (shot < 0)
    std::printf(" %15s\n", "-");
  else
    std::printf(" %15.2f\n", shot / megabytes);
  std::fflush(stdout);
  ::munmap(memory.begin, bytes);
  if (copies) ::munmap(target.begin, bytes);
}

// The first two nodes with memory; false with one.
bool find_nodes(unsigned& from, unsigned& to) {
  unsigned found = 0;
  for (unsigned node = 0; node < k_max_nodes && found < 2; ++node) {
    unsigned long nodes = 1ul << node;
    if (os().set_policy(MPOL_BIND, &nodes, k_max_nodes + 1) != 0) continue;
    (found++ == 0 ? from : to) = node;
  }
  os().set_policy(MPOL_DEFAULT, nullptr, 0);
  return found == 2;
}

} // namespace

int main(int count, char** arguments) {
  unsigned from = 0, to = 1, repeats = 5;
  std::size_t bytes = std::size_t{64} << 20;
  std::size_t only = 0;
  if (count == 2 || count > 6) {
    std::fprintf(stderr, "usage: mover [FROM TO [MIB [REPEATS [PAGE]]]]\n");
    return 2;
  }
  if (!find_nodes(from, to)) {
    std::printf("mover: this machine has one node with memory, so nothing can be moved; run it in "
                "omptier sandbox\n");
    return 0;
  }
  if (count >= 3) {
    from = static_cast<unsigned>(std::atoi(arguments[1]));
    to = static_cast<unsigned>(std::atoi(arguments[2]));
  }
  if (count >= 4) bytes = static_cast<std::size_t>(std::atoi(arguments[3])) << 20;
  if (count >= 5) repeats = static_cast<unsigned>(std::atoi(arguments[4]));
  if (count >= 6) only = static_cast<std::size_t>(std::atoi(arguments[5])) << 10;
  if (bytes == 0 || bytes % (k_most_threads * k_huge) != 0 || repeats == 0 || from == to ||
      from >= k_max_nodes || to >= k_max_nodes) {
    std::fprintf(stderr, "mover: needs two nodes, a multiple of 8 MiB, at least one repeat\n");
    return 2;
  }
  omptier_model_off();
  kernel = &os();
  OsCalls counting = *kernel;
  counting.move_pages = counted_move;
  counting.bind_memory = counted_bind;
  replace_os_calls(&counting);
  const std::vector<int> list = processors();
  std::printf("%zu MiB from node %u to node %u, %zu processors, median of %u\n", bytes >> 20, from,
              to, list.size(), repeats);
  std::printf("%-34s %7s %7s %9s %11s %15s\n", "way", "pages", "threads", "MB/s", "calls per MB",
              "shoot-downs/MB");
  for (const std::size_t page : {k_small, k_huge}) {
    if (only != 0 && only != page) continue;
    for (const Way& way : k_ways)
      for (unsigned threads = 1; threads <= k_most_threads && threads <= list.size(); threads *= 2)
        compare(way, page, from, to, bytes, threads, repeats, list);
  }
  return 0;
}
