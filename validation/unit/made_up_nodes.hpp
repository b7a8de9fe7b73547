// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// NUMA nodes that are not there: the kernel says which pages are present, a table here on which
// node. A page that comes is on the node that its range prefers (mbind), until move_pages takes it
// elsewhere or it is given up. Thread-safe without locks, so that a race detector sees what threads
// do, not what this does.
#pragma once

#include "base/os.hpp"

#include <atomic>
#include <cerrno>
#include <cstdint>
#include <sys/mman.h>

namespace omptier::made_up_nodes {

inline constexpr unsigned k_page_shift = 12, k_area_shift = 20, k_address_bits = 47;

// What the kernel does with a page that is to move: 0, or the error that its status becomes.
using Verdict = int (*)(std::uintptr_t page, int from, int to);
inline std::atomic<Verdict> verdict{nullptr};

// Of each page 1 + its node, if it was moved; of each area 1 + the node that it prefers.
inline std::atomic<std::uint8_t>* of_page = nullptr;
inline std::atomic<std::uint8_t>* of_area = nullptr;
inline const OsCalls* real = nullptr;

inline int node_of(std::uintptr_t page) {
  const int moved = of_page[page >> k_page_shift].load(std::memory_order_relaxed);
  const int preferred = of_area[page >> k_area_shift].load(std::memory_order_relaxed);
  return moved != 0 ? moved - 1 : preferred != 0 ? preferred - 1 : 0;
}

inline void forget(void* at, std::size_t bytes) {
  const auto begin = reinterpret_cast<std::uintptr_t>(at);
  for (std::uintptr_t page = begin; page < begin + bytes; page += 1u << k_page_shift)
    if (std::atomic<std::uint8_t>& moved = of_page[page >> k_page_shift]; moved.load() != 0)
      moved.store(0, std::memory_order_relaxed);
}

// Not there, as the query says, or being moved about by the kernel itself just now.
inline bool is_absent(void* page) {
  unsigned char there = 0;
  return ::mincore(page, std::size_t{1} << k_page_shift, &there) != 0 || (there & 1) == 0;
}

inline long move_pages(int pid, unsigned long count, void** pages, const int* nodes, int* status,
                       int flags) {
  if (const long result = real->move_pages(pid, count, pages, nullptr, status, flags); result < 0)
    return result;
  long left = 0;
  for (unsigned long i = 0; i < count; ++i) {
    const auto page = reinterpret_cast<std::uintptr_t>(pages[i]);
    if (status[i] < 0 && (status[i] != -ENOENT || is_absent(pages[i]))) continue;
    const int from = node_of(page);
    const Verdict judge = verdict.load();
    const int error = nodes == nullptr || judge == nullptr ? 0 : judge(page, from, nodes[i]);
    if (nodes != nullptr && error == 0)
      of_page[page >> k_page_shift].store(static_cast<std::uint8_t>(1 + nodes[i]),
                                          std::memory_order_relaxed);
    status[i] = error != 0 ? error : node_of(page);
    left += error != 0;
  }
  return left;
}

// Pages that are there stay where they are. (Ranges larger than this are fresh slices.)
inline void pin(std::uintptr_t begin, std::size_t bytes) {
  constexpr std::size_t k_most = std::size_t{64} << 20;
  for (std::uintptr_t page = begin; bytes <= k_most && page < begin + bytes;
       page += 1u << k_page_shift) {
    void* at = reinterpret_cast<void*>(page);
    int status = 0;
    if (real->move_pages(0, 1, &at, nullptr, &status, 0) == 0 && status >= 0)
      of_page[page >> k_page_shift].store(static_cast<std::uint8_t>(1 + node_of(page)),
                                          std::memory_order_relaxed);
  }
}

inline long bind(void* at, std::size_t bytes, int, const unsigned long* nodes, unsigned long,
                 unsigned) {
  const auto begin = reinterpret_cast<std::uintptr_t>(at);
  pin(begin, bytes);
  const auto node = nodes != nullptr ? 1 + __builtin_ctzl(*nodes) : 0;
  for (std::uintptr_t area = begin >> k_area_shift; area << k_area_shift < begin + bytes; ++area)
    of_area[area].store(static_cast<std::uint8_t>(node), std::memory_order_relaxed);
  return 0;
}

inline int advise(void* at, std::size_t bytes, int advice) {
  constexpr int k_dontneed_locked = 24;
  if (advice == MADV_DONTNEED || advice == k_dontneed_locked) forget(at, bytes);
  return real->advise(at, bytes, advice);
}

// The calls in use, with these nodes. Tables last as long as the process; what was is forgotten.
inline OsCalls calls() {
  const auto table = [](std::atomic<std::uint8_t>*& entries, unsigned shift) {
    const std::size_t bytes = std::size_t{1} << (k_address_bits - shift);
    constexpr int k_flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;
    if (entries == nullptr)
      entries = static_cast<std::atomic<std::uint8_t>*>(
          ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, k_flags, -1, 0));
    else
      ::madvise(static_cast<void*>(entries), bytes, MADV_DONTNEED);
  };
  table(of_page, k_page_shift);
  table(of_area, k_area_shift);
  verdict = nullptr;
  real = &os();
  OsCalls calls = *real;
  calls.move_pages = move_pages;
  calls.bind_memory = bind;
  calls.advise = advise;
  return calls;
}

} // namespace omptier::made_up_nodes
