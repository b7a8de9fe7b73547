// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Memory for our own tables inside the application's process: whole pages from the kernel, handed
// out by advancing a pointer and never given back. No malloc, so the program's allocation path may
// use it. Growing tables double, so at most half of the memory is idle. Not thread-safe: the
// owner's lock protects it.
#pragma once

#include "base/os.hpp"
#include "base/rounding.hpp"

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <sys/mman.h>

namespace omptier {

// Bytes that this library has taken, and its limit, which the recorder sets.
inline std::atomic<std::size_t> g_pages_taken{0};
inline std::atomic<std::size_t> g_most_pages{~std::size_t{0}}; // bytes

inline std::size_t in_whole_pages(std::size_t bytes) {
  return round_up(bytes, page_size());
}

// Zeroed pages; null when the kernel has none or the limit would be exceeded.
inline void* map_pages(std::size_t bytes) {
  bytes = in_whole_pages(bytes);
  if (g_pages_taken.load(std::memory_order_relaxed) + bytes >
      g_most_pages.load(std::memory_order_relaxed))
    return nullptr;
  void* pages =
      os().map(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (pages == MAP_FAILED) return nullptr;
  g_pages_taken.fetch_add(bytes, std::memory_order_relaxed);
  return pages;
}

inline void unmap_pages(void* pages, std::size_t bytes) {
  bytes = in_whole_pages(bytes);
  os().unmap(pages, bytes);
  g_pages_taken.fetch_sub(bytes, std::memory_order_relaxed);
}

class PageArena {
public:
  // Zeroed, aligned to 16 bytes; null when memory is refused.
  void* take(std::size_t bytes) {
    bytes = round_up(bytes, 16);
    if (bytes > left_) {
      const std::size_t chunk = in_whole_pages(std::max(bytes, k_chunk));
      next_ = static_cast<char*>(map_pages(chunk));
      left_ = next_ != nullptr ? chunk : 0;
      if (next_ == nullptr) return nullptr;
    }
    void* block = next_;
    next_ += bytes;
    left_ -= bytes;
    return block;
  }

  template <typename T> T* take_array(std::size_t count) {
    return static_cast<T*>(take(count * sizeof(T)));
  }

  const char* copy(const char* text) {
    const std::size_t bytes = std::strlen(text) + 1;
    char* block = static_cast<char*>(take(bytes));
    if (block == nullptr) return "";
    std::memcpy(block, text, bytes);
    return block;
  }

private:
  static constexpr std::size_t k_chunk = std::size_t{64} << 10;
  char* next_ = nullptr;
  std::size_t left_ = 0;
};

} // namespace omptier
