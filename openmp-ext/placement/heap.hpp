// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Small blocks (below 256 KiB) of one binding. Chunks (chunk.hpp) are cut into spans of one size
// class each (span.hpp), spans into blocks. A list per class, with a lock of its own, holds the
// spans with free blocks; threads exchange blocks with it in batches and otherwise use their
// magazines (thread_cache.hpp). If one thread allocates and another frees, whole batches pass
// between them without touching their spans.
//
// Blocks carry no header: a record of 12 bytes beside the span holds the owner, so live blocks can
// be listed, and a second free, or a free of a foreign address, does nothing. Two threads that free
// one block at the same time may both put it into their magazines; a block whose record is live is
// never handed out, so it still has one owner while its span exists.
//
// Order of locks: all caches, a class, the chunks, the extents.
#pragma once

#include "placement/chunk.hpp"
#include "placement/extents.hpp"
#include "placement/size_classes.hpp"
#include "placement/span.hpp"
#include "placement/thread_cache.hpp"

#include <array>
#include <cstdint>
#include <mutex>

namespace omptier {

class Heap {
public:
  explicit Heap(ExtentSpace& space);
  // Used by tests only.
  ~Heap();
  Heap(const Heap&) = delete;
  Heap& operator=(const Heap&) = delete;

  // Index among the process's heaps with magazines; k_most_heaps: this one has none.
  unsigned number() const { return number_; }
  static Heap& of(const Span& span) { return *span.chunk->heap; }

  // bytes: 1 to k_large_block - 1; alignment: power of two, at most 64 KiB. Null when the binding's
  // memory is full or elsewhere.
  void* allocate(std::size_t bytes, std::size_t alignment, std::uint32_t owner, const void* caller);
  // The live block that begins at an address inside a span (or, if exact is false, contains it);
  // null if none. begin: of the block. The caller owns the block, or holds a lock.
  static BlockRecord* find(const Span& span, const void* address, bool exact,
                           std::uintptr_t* begin = nullptr);
  // Calls visit(begin, room, record) with the chunks' lock held for the live block that contains
  // the address, if any. Accepts any address of this heap's space at any time.
  template <typename F> void visit_at(const void* address, F&& visit);
  // False when no live block begins there (freed twice, or never ours).
  bool release(Span& span, void* block);

  // Directly from and to the spans.
  unsigned take(unsigned size_class, FreeBlock* out, unsigned most);
  void put(unsigned size_class, const FreeBlock* blocks, unsigned count);

  // What has been empty since before a time (ns); returns the bytes.
  std::size_t drop_empty(std::uint64_t since);

  // Holds the block's class's and the chunks' locks.
  template <typename F> void for_each(F&& visit);
  // quiet: no thread uses the heap, so magazines are checked too.
  bool is_sound(std::string& why_not, bool quiet = true);

  void lock();
  void unlock();

private:
  struct ClassList {
    std::mutex lock;
    Span* spans = nullptr;         // with free blocks
    Span* empty = nullptr;         // the one of these that is wholly free, if any
    std::uint64_t empty_since = 0; // ns
    // Kept blocks on their way from one magazine to another, a stack.
    FreeBlock* passing = nullptr;
    unsigned passing_count = 0;
    std::uint64_t passed_at = 0; // ns, of the last one
  };
  void push(ClassList& list, Span& span);
  void remove(ClassList& list, Span& span);
  unsigned take_from_spans(ClassList& list, unsigned size_class, FreeBlock* out, unsigned most);
  void put_into_spans(ClassList& list, unsigned size_class, const FreeBlock* blocks,
                      unsigned count);
  unsigned pass(ClassList& list, unsigned size_class, const FreeBlock* blocks, unsigned count);
  bool refill(unsigned size_class, Magazine& magazine); // an empty one; false: memory is full
  void empty_magazine(unsigned size_class, Magazine& magazine);

  ExtentSpace& space_;
  Chunks chunks_;
  std::array<ClassList, k_size_classes> classes_;
  std::mutex passing_lock_; // protects only the arena
  PageArena passing_arena_;
  unsigned number_;
};

template <typename F> void Heap::visit_at(const void* address, F&& visit) {
  const std::lock_guard guard(chunks_); // so that its span stays
  const Span* span = space_.ranges().span_of(address);
  std::uintptr_t begin = 0;
  const BlockRecord* record = span != nullptr ? find(*span, address, false, &begin) : nullptr;
  if (record != nullptr) visit(begin, std::size_t{span->block_bytes}, *record);
}

// A locked class keeps its spans; while the chunks are locked no span goes away.
template <typename F> void Heap::for_each(F&& visit) {
  for (unsigned size_class = 0; size_class < k_size_classes; ++size_class) {
    const std::lock_guard guard(classes_[size_class].lock);
    const std::lock_guard chunk_guard(chunks_);
    chunks_.for_each_span([&](const Span& span) {
      if (span.size_class != size_class) return;
      for (std::uint32_t b = 0; b < span.blocks; ++b)
        if (span.records[b].bytes() != 0) visit(span.address_of(b), span.records[b]);
    });
  }
}

} // namespace omptier
