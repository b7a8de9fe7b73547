// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Chunks: heap extents of 4 MiB from which spans are cut, in granules of 64 KiB. A chunk becomes
// accessible step by step, and each step is made present and verified to lie on the binding's
// nodes; so every small block is on them, or its allocation fails. An empty chunk is kept for a
// while (decay) before it goes back to the system.
#pragma once

#include "base/object_pool.hpp"
#include "placement/extents.hpp"
#include "placement/span.hpp"

#include <array>
#include <cstdint>
#include <mutex>

namespace omptier {

struct HeapChunk {
  Extent* extent = nullptr;
  Heap* heap = nullptr;
  HeapChunk* next = nullptr;
  std::uint64_t taken = 0;       // one bit per granule
  std::uint64_t empty_since = 0; // ns; while taken is 0
};
static_assert(k_chunk_granules == 64);

class Chunks {
public:
  Chunks(Heap& heap, ExtentSpace& space) : heap_(heap), space_(space) {}

  // Null when the binding's memory is full or elsewhere.
  Span* cut(unsigned size_class, std::uint16_t heap_number);
  // All its blocks must be free.
  void retire(Span& span);
  // Gives back chunks empty since before a time (ns); returns their bytes.
  std::size_t drop_empty(std::uint64_t since);
  // Holds the lock.
  template <typename F> void for_each_span(F&& visit);
  bool is_sound(std::string& why_not);

  void lock() { lock_.lock(); }
  void unlock() { lock_.unlock(); }

private:
  Span* span_beginning_at(std::uintptr_t granule);
  Span* cut_at(HeapChunk& chunk, unsigned first, unsigned granules);
  Span* cut_from_chunks(unsigned granules);
  HeapChunk* new_chunk();
  bool commit(HeapChunk& chunk, std::size_t bytes);
  bool grow(Extent& extent, std::size_t least, std::size_t step);
  bool take_records(Span& span);
  void drop(HeapChunk& chunk);

  Heap& heap_;
  ExtentSpace& space_;
  std::mutex lock_;
  HeapChunk* chunks_ = nullptr;
  std::size_t committed_ = 0; // bytes of all chunks together
  ObjectPool<HeapChunk> chunk_pool_;
  ObjectPool<Span> span_pool_;
  PageArena record_arena_;
  struct Spare { // records and bits of a retired span
    Spare* next;
  };
  std::array<Spare*, k_size_classes> spare_records_{};
};

template <typename F> void Chunks::for_each_span(F&& visit) {
  for (const HeapChunk* chunk = chunks_; chunk != nullptr; chunk = chunk->next)
    for (unsigned i = 0; i < k_chunk_granules;) {
      const Span* span = (chunk->taken >> i & 1) != 0
                             ? span_beginning_at(chunk->extent->begin + i * k_granule)
                             : nullptr;
      if (span != nullptr) visit(*span);
      i += span != nullptr ? span->granules : 1;
    }
}

} // namespace omptier
