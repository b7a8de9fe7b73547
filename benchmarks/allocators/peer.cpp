// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Times one allocator in this process: peer PEER SECONDS [PATTERN] prints one JSON line a cell. If
// PATTERN is one of the programs of programs.hpp, it prints the peak of resident memory instead.
// LD_PRELOAD and LD_LIBRARY_PATH select the library that serves malloc or omp_alloc (see
// compare.py). All functions are called through pointers from dlsym, which cost as much as calls
// into a shared library. Times are CPU time of the threads, to be less sensitive to other load.
#include "programs.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <linux/mempolicy.h>
#include <string>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <thread>
#include <time.h>
#include <unistd.h>
#include <vector>

namespace {

using Handle = std::uintptr_t;
void* (*omp_alloc_)(std::size_t, Handle);
void (*omp_free_)(void*, Handle);
void* (*omp_realloc_)(void*, std::size_t, Handle, Handle);
void* (*memkind_malloc_)(void*, std::size_t);
void (*memkind_free_)(void*, void*);
void* (*memkind_realloc_)(void*, void*, std::size_t);
void* kind;
void* (*hwloc_alloc_)(void*, std::size_t, const void*, int, int);
int (*hwloc_free_)(void*, void*, std::size_t);
void *topology, *nodes;
Handle handle = 1;

struct Malloc {
  static void* take(std::size_t n) { return std::malloc(n); }
  static void give(void* p, std::size_t) { std::free(p); }
  static void* grow(void* p, std::size_t n) { return std::realloc(p, n); }
};
struct Omp {
  static void* take(std::size_t n) { return omp_alloc_(n, handle); }
  static void give(void* p, std::size_t) { omp_free_(p, handle); }
  static void* grow(void* p, std::size_t n) { return omp_realloc_(p, n, handle, handle); }
};
struct Memkind {
  static void* take(std::size_t n) { return memkind_malloc_(kind, n); }
  static void give(void* p, std::size_t) { memkind_free_(kind, p); }
  static void* grow(void* p, std::size_t n) { return memkind_realloc_(kind, p, n); }
};
struct Hwloc {
  static void* take(std::size_t n) { return hwloc_alloc_(topology, n, nodes, 2, 1 << 5); }
  static void give(void* p, std::size_t n) { hwloc_free_(topology, p, n); }
  static void* grow(void*, std::size_t) { return nullptr; }
};
// mmap and mbind with small pages, for comparison with first touch.
struct Mmap {
  static void* take(std::size_t n) {
    void* p = ::mmap(nullptr, n, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    ::madvise(p, n, MADV_NOHUGEPAGE);
    const unsigned long mask = 1;
    ::syscall(SYS_mbind, p, n, MPOL_PREFERRED, &mask, 65ul, 0u);
    return p;
  }
  static void give(void* p, std::size_t n) { ::munmap(p, n); }
  static void* grow(void*, std::size_t) { return nullptr; }
};

double seconds_of(clockid_t clock) {
  timespec now{};
  ::clock_gettime(clock, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}

std::string peer;
double budget = 0.02; // seconds a cell
std::string only;     // pattern, empty = all

bool wanted(const char* pattern) {
  return only.empty() || only == pattern;
}

void report(const char* pattern, std::size_t bytes, int threads, double ns) {
  std::printf("{\"peer\": \"%s\", \"pattern\": \"%s\", \"bytes\": %zu, \"threads\": %d, "
              "\"ns\": %.2f}\n",
              peer.c_str(), pattern, bytes, threads, ns);
  std::fflush(stdout);
}

// Nanoseconds of CPU time an operation, mean over threads. work(n) does n operations.
template <typename Work> double time_of(int threads, Work&& work) {
  std::atomic<int> ready{0};
  std::vector<double> ns(static_cast<std::size_t>(threads));
  std::vector<std::thread> team;
  for (int t = 0; t < threads; ++t)
    team.emplace_back([&, t] {
      work(1); // first use
      ++ready;
      while (ready < threads)
        std::this_thread::yield();
      double best = 1e30, spent = 0;
      for (long n = 1; spent < budget;
           n = best * 1e-9 * static_cast<double>(n) * 8 < budget ? n * 2 : n) {
        const double begin = seconds_of(CLOCK_THREAD_CPUTIME_ID);
        work(n);
        const double took = seconds_of(CLOCK_THREAD_CPUTIME_ID) - begin;
        spent += took;
        best = std::min(best, took * 1e9 / static_cast<double>(n));
      }
      ns[static_cast<std::size_t>(t)] = best;
    });
  for (auto& thread : team)
    thread.join();
  double sum = 0;
  for (const double one : ns)
    sum += one;
  return sum / threads;
}

template <typename P> void pair(std::size_t bytes, int threads, bool touched) {
  const double ns = time_of(threads, [&](long n) {
    for (long i = 0; i < n; ++i) {
      auto* p = static_cast<volatile char*>(P::take(bytes));
      if (p == nullptr) std::exit(3);
      if (touched)
        for (std::size_t at = 0; at < bytes; at += 4096)
          p[at] = 1;
      P::give(const_cast<char*>(p), bytes);
    }
  });
  report(touched ? "touched" : "pair", bytes, threads, ns);
}

template <typename P> void churn(int threads) {
  const double ns = time_of(threads, [](long n) {
    struct Slot {
      void* p = nullptr;
      std::size_t bytes = 0;
    };
    static thread_local std::vector<Slot> slots(1000);
    std::uint32_t state = 1;
    for (long i = 0; i < n; ++i) {
      state = state * 1664525u + 1013904223u;
      Slot& slot = slots[(state >> 8) % slots.size()];
      if (slot.p != nullptr) P::give(slot.p, slot.bytes);
      slot.bytes = 16 + (state >> 20 & 127);
      slot.p = P::take(slot.bytes);
      if (slot.p == nullptr) std::exit(3);
    }
  });
  report("churn", 80, threads, ns);
}

// One thread allocates, another frees: two batches go back and forth, and a thread without one
// sleeps, so that CPU time is the allocator's.
template <typename P> void producer_consumer(int threads) {
  constexpr std::size_t k_bytes = 64;
  struct Batch {
    std::array<void*, 1024> blocks{};
    std::atomic<int> full{0};
  };
  const int pairs = std::max(1, threads / 2);
  const long batches = static_cast<long>(budget * 4e3) + 4;
  std::vector<std::array<Batch, 2>> lanes(static_cast<std::size_t>(pairs));
  std::vector<double> spent(2 * lanes.size());
  std::vector<std::thread> team;
  const auto side = [&](std::array<Batch, 2>& lane, int waits_for, double& seconds, auto&& work) {
    team.emplace_back([&lane, waits_for, &seconds, batches, work] {
      for (long i = 0; i < batches; ++i) {
        Batch& batch = lane[static_cast<std::size_t>(i & 1)];
        batch.full.wait(1 - waits_for, std::memory_order_acquire);
        for (void*& block : batch.blocks)
          work(block);
        batch.full.store(1 - waits_for, std::memory_order_release);
        batch.full.notify_one();
      }
      seconds = seconds_of(CLOCK_THREAD_CPUTIME_ID);
    });
  };
  for (std::size_t lane = 0; lane < lanes.size(); ++lane) {
    side(lanes[lane], 0, spent[2 * lane], [](void*& block) { block = P::take(k_bytes); });
    side(lanes[lane], 1, spent[2 * lane + 1], [](void*& block) { P::give(block, k_bytes); });
  }
  for (auto& thread : team)
    thread.join();
  double sum = 0;
  for (const double one : spent)
    sum += one;
  const auto blocks = static_cast<double>(batches) * 1024 * pairs;
  report("handover", k_bytes, pairs * 2, sum * 1e9 / blocks);
}

// One block grown by half from 16 B to 1 MiB.
template <typename P> void growth(int threads) {
  const double ns = time_of(threads, [](long n) {
    for (long i = 0; i < n; ++i) {
      std::size_t bytes = 16;
      void* p = P::take(bytes);
      while (bytes < std::size_t{1} << 20) {
        bytes += bytes / 2;
        p = P::grow(p, bytes);
        static_cast<volatile char*>(p)[bytes - 1] = 1;
      }
      P::give(p, bytes);
    }
  });
  report("growth", 1 << 20, threads, ns);
}

// Peak of this process's resident memory, in bytes.
std::size_t fullest() {
  std::FILE* file = std::fopen("/proc/self/status", "r");
  std::size_t kib = 0;
  char line[256];
  while (file != nullptr && std::fgets(line, sizeof line, file) != nullptr)
    if (std::sscanf(line, "VmHWM: %zu kB", &kib) == 1) break;
  if (file != nullptr) std::fclose(file);
  return kib * 1024;
}

template <typename P> bool ran_program() {
  const programs::Program<P>* program = programs::named<P>(only);
  if (program == nullptr) return false;
  const std::size_t live = program->run();
  std::printf("{\"peer\": \"%s\", \"program\": \"%s\", \"live\": %zu, \"peak\": %zu}\n",
              peer.c_str(), only.c_str(), live, fullest());
  return true;
}

template <typename P> void run(bool whole_pages_only, bool fast) {
  if (ran_program<P>()) return;
  for (const int threads : {1, 2, 8}) {
    if (whole_pages_only) break;
    for (const std::size_t bytes : {16, 64, 1024, 16384, 65536})
      if (wanted("pair")) pair<P>(bytes, threads, false);
    if (wanted("churn")) churn<P>(threads);
    if (threads > 1 && wanted("handover")) producer_consumer<P>(threads);
    if (wanted("growth")) growth<P>(threads);
  }
  if (!wanted("touched")) return;
  for (const std::size_t mib : {2, 16, 64, 1024})
    if (!fast || mib <= 64) pair<P>(mib << 20, 1, true);
}

template <typename F> void find(void* library, const char* name, F& function) {
  function = reinterpret_cast<F>(::dlsym(library, name));
  if (function == nullptr) {
    std::fprintf(stderr, "%s: no %s\n", peer.c_str(), name);
    std::exit(2);
  }
}

void* open_library(const char* name) {
  void* library = ::dlopen(name, RTLD_NOW | RTLD_GLOBAL);
  if (library == nullptr) {
    std::fprintf(stderr, "%s: %s\n", peer.c_str(), ::dlerror());
    std::exit(2);
  }
  return library;
}

} // namespace

int main(int count, char** arguments) {
  if (count != 3 && count != 4) {
    std::fprintf(stderr, "Usage: allocators_peer PEER SECONDS-A-CELL [PATTERN]\n");
    return 2;
  }
  peer = arguments[1];
  budget = std::atof(arguments[2]);
  if (count == 4) only = arguments[3];
  const bool fast = budget < 0.01;
  if (peer.rfind("omptier", 0) == 0 || peer.rfind("libomp", 0) == 0) {
    void* library = open_library("libomp.so.5");
    find(library, "omp_alloc", omp_alloc_);
    find(library, "omp_free", omp_free_);
    find(library, "omp_realloc", omp_realloc_);
    if (peer.rfind("omptier", 0) == 0) handle = 501; // ompx_dram_mem_alloc
    run<Omp>(peer == "omptier-fresh", fast);
  } else if (peer.rfind("memkind", 0) == 0) {
    void* library = open_library("libmemkind.so.0");
    find(library, "memkind_malloc", memkind_malloc_);
    find(library, "memkind_free", memkind_free_);
    find(library, "memkind_realloc", memkind_realloc_);
    if (peer == "memkind-fixed") {
      int (*create)(void*, std::size_t, void**) = nullptr;
      find(library, "memkind_create_fixed", create);
      const std::size_t bytes = std::size_t{4} << 30;
      void* area = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                          MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
      if (create(area, bytes, &kind) != 0) return 2;
    } else {
      kind = *static_cast<void**>(::dlsym(library, "MEMKIND_DEFAULT"));
    }
    run<Memkind>(false, fast);
  } else if (peer == "hwloc") {
    void* library = open_library("libhwloc.so.15");
    int (*init)(void**) = nullptr;
    int (*load)(void*) = nullptr;
    const void* (*all)(void*) = nullptr;
    find(library, "hwloc_topology_init", init);
    find(library, "hwloc_topology_load", load);
    find(library, "hwloc_topology_get_topology_nodeset", all);
    find(library, "hwloc_alloc_membind", hwloc_alloc_);
    find(library, "hwloc_free", hwloc_free_);
    if (init(&topology) != 0 || load(topology) != 0) return 2;
    nodes = const_cast<void*>(all(topology));
    run<Hwloc>(true, fast);
    if (wanted("pair")) pair<Hwloc>(64, 1, false);
  } else if (peer == "mmap-4k") {
    run<Mmap>(true, fast);
  } else {
    run<Malloc>(false, fast);
  }
}
