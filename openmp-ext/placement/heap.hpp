// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Small blocks (below 256 KiB) of one binding. The interface is what a back end must offer; this is
// the first one: chunks of 4 MiB taken from the binding's extents are cut into spans of one size
// class each, spans into blocks. A chunk becomes accessible step by step, and each step is made
// present and verified to lie on the binding's nodes, so every small block is where it says, or
// refused.
//
// Each block has a 16-byte record beside the span (size as asked, allocator, caller): frees need no
// header in front of the block, and live blocks can be listed.
#pragma once

#include "placement/extents.hpp"

#include <array>
#include <cstdint>
#include <mutex>

namespace omptier {

inline constexpr std::size_t k_large_block = 256 * 1024; // from here on blocks are extents

struct BlockRecord {
  std::uint32_t bytes = 0; // as asked; 0 = the block is free
  std::uint32_t allocator = 0;
  const void* caller = nullptr;
};

struct Span {
  std::uintptr_t begin = 0;
  std::uint32_t block_bytes = 0;
  std::uint32_t blocks = 0;
  std::uint32_t live = 0;
  std::uint32_t hint = 0; // no free block below this one
  std::uint16_t size_class = 0;
  std::uint16_t granules = 0;
  bool listed = false; // in the list of spans with free blocks
  HeapChunk* chunk = nullptr;
  Span *previous = nullptr, *next = nullptr;
  BlockRecord* records = nullptr; // one a block
};

class Heap;

inline constexpr std::size_t k_chunk_bytes = 4 << 20;
inline constexpr std::size_t k_granule = 64 * 1024;
inline constexpr unsigned k_chunk_granules = k_chunk_bytes / k_granule;

struct HeapChunk {
  Extent* extent = nullptr;
  Heap* heap = nullptr;
  HeapChunk* next = nullptr;
  std::uint64_t taken = 0;                    // one bit a granule
  std::array<Span*, k_chunk_granules> span{}; // owner of each granule
};
static_assert(k_chunk_granules == 64);

class Heap {
public:
  explicit Heap(ExtentSpace& space) : space_(space) {}

  // A block of bytes (1 to k_large_block - 1) at an address aligned to alignment (power of two, at
  // most 64 KiB), or null when the binding's memory is full or elsewhere.
  void* allocate(std::size_t bytes, std::size_t alignment, std::uint32_t allocator,
                 const void* caller);
  // The record of the live block that begins at (or, exact false, contains) an address inside a
  // chunk; null when there is none. begin: of the block.
  static BlockRecord* find(const Extent& extent, const void* address, bool exact,
                           std::uintptr_t* begin = nullptr, std::size_t* room = nullptr);
  // False when no live block begins there (freed twice, or never ours).
  bool release(const Extent& extent, void* block);

  // Calls visit(address, record) for every live block; locks are held.
  template <typename F> void for_each(const Extent& extent, F&& visit);
  bool is_sound(const Extent& extent, std::string& why_not);

  // Smallest class that holds bytes at that alignment; none: larger than the classes.
  static unsigned class_of(std::size_t bytes, std::size_t alignment);
  static std::size_t class_bytes(unsigned size_class);
  static constexpr unsigned k_no_class = ~0u;
  static constexpr unsigned k_classes = 52;

  void lock();
  void unlock();

private:
  Span* new_span(unsigned size_class);
  BlockRecord* take_records(unsigned size_class, std::size_t count);
  Span* cut_span(HeapChunk& chunk, unsigned granules);
  bool commit(HeapChunk& chunk, std::size_t bytes);
  void retire(Span& span);

  struct ClassList {
    std::mutex lock;
    Span* spans = nullptr; // with free blocks
  };
  ExtentSpace& space_;
  std::array<ClassList, k_classes> classes_;
  std::mutex chunk_lock_; // chunks, spans, records
  HeapChunk* chunks_ = nullptr;
  ObjectPool<HeapChunk> chunk_pool_;
  ObjectPool<Span> span_pool_;
  PageArena record_arena_;
  std::array<BlockRecord*, k_classes> spare_records_{}; // of retired spans, linked by caller
};

template <typename F> void Heap::for_each(const Extent& extent, F&& visit) {
  for (unsigned i = 0; i < k_chunk_granules; ++i) {
    // The class's lock comes first; which class it is has to be found out without it.
    const auto span_here = [&]() -> Span* {
      Span* span = extent.chunk != nullptr ? extent.chunk->span[i] : nullptr;
      return span != nullptr && span->begin == extent.begin + i * k_granule ? span : nullptr;
    };
    unsigned size_class = 0;
    {
      const std::lock_guard guard(chunk_lock_);
      const Span* span = span_here();
      if (span == nullptr) continue;
      size_class = span->size_class;
    }
    const std::lock_guard guard(classes_[size_class].lock);
    const Span* span = nullptr;
    {
      const std::lock_guard chunk_guard(chunk_lock_);
      span = span_here();
      if (span == nullptr || span->size_class != size_class) continue; // retired meanwhile
    }
    for (std::uint32_t b = 0; b < span->blocks; ++b)
      if (span->records[b].bytes != 0)
        visit(span->begin + std::size_t{b} * span->block_bytes, span->records[b]);
  }
}

} // namespace omptier
