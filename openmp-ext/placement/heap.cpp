// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The span heap. Locks: one a size class for its spans and records, one for chunks; a thread takes
// the class first, then the chunks, then the extents below.
#include "placement/heap.hpp"

#include "base/os.hpp"

#include <algorithm>
#include <bit>
#include <cstring>
#include <sys/mman.h>

namespace omptier {
namespace {

// 16 to 128 bytes in steps of 16, then four classes a doubling up to 256 KiB.
constexpr auto k_sizes = [] {
  std::array<std::uint32_t, Heap::k_classes> sizes{};
  std::uint32_t size = 16;
  for (auto& entry : sizes) {
    entry = size;
    size += size < 128 ? 16 : std::bit_floor(size) / 4;
  }
  return sizes;
}();
static_assert(k_sizes[7] == 128 && k_sizes[Heap::k_classes - 1] == k_large_block);

// Granules of a span: at least eight blocks where that stays below half a chunk.
unsigned granules_for(std::size_t block_bytes) {
  const std::size_t wanted = block_bytes <= 8192 ? k_granule : block_bytes * 8;
  return static_cast<unsigned>(
      std::min((wanted + k_granule - 1) / k_granule, std::size_t{k_chunk_granules} / 2));
}

} // namespace

std::size_t Heap::class_bytes(unsigned size_class) {
  return k_sizes[size_class];
}

unsigned Heap::class_of(std::size_t bytes, std::size_t alignment) {
  if (alignment > k_granule) return k_no_class;
  unsigned first = 0;
  if (bytes <= 128) {
    first = static_cast<unsigned>((std::max(bytes, std::size_t{1}) + 15) / 16 - 1);
  } else {
    first = static_cast<unsigned>(std::lower_bound(k_sizes.begin(), k_sizes.end(), bytes) -
                                  k_sizes.begin());
  }
  for (unsigned c = first; c < k_classes; ++c)
    if (k_sizes[c] % alignment == 0) return c;
  return k_no_class;
}

bool Heap::commit(HeapChunk& chunk, std::size_t bytes) {
  Extent& extent = *chunk.extent;
  const std::size_t before = extent.committed;
  if (bytes <= before) return true;
  // Steps double, so that a small use stays small; when the step is refused, the bare need is
  // tried.
  const std::size_t steps[] = {std::min(std::max(bytes, before * 2), extent.bytes), bytes};
  for (const std::size_t step : steps) {
    if (!space_.grow(extent, step)) continue;
    const std::size_t more = extent.committed - before;
    if (populate(extent.begin + before, more) &&
        (!space_.bound() || settle(extent.begin + before, more, space_.nodes())))
      return true;
    space_.shrink(extent, before);
  }
  return false;
}

BlockRecord* Heap::take_records(unsigned size_class, std::size_t count) {
  BlockRecord* records = spare_records_[size_class];
  if (records == nullptr) return record_arena_.take_array<BlockRecord>(count);
  spare_records_[size_class] = static_cast<BlockRecord*>(const_cast<void*>(records->caller));
  std::fill_n(records, count, BlockRecord{});
  return records;
}

// Granules of a chunk for a new span; the chunk lock is held.
Span* Heap::cut_span(HeapChunk& chunk, unsigned granules) {
  const std::uint64_t run = granules == 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << granules) - 1;
  for (unsigned first = 0; first + granules <= k_chunk_granules; ++first) {
    if ((chunk.taken >> first & run) != 0) continue;
    if (!commit(chunk, (std::size_t{first} + granules) * k_granule)) return nullptr;
    Span* span = span_pool_.make();
    if (span == nullptr) return nullptr;
    chunk.taken |= run << first;
    span->begin = chunk.extent->begin + first * k_granule;
    span->granules = static_cast<std::uint16_t>(granules);
    span->chunk = &chunk;
    for (unsigned i = 0; i < granules; ++i)
      chunk.span[first + i] = span;
    return span;
  }
  return nullptr;
}

Span* Heap::new_span(unsigned size_class) {
  const std::size_t block_bytes = class_bytes(size_class);
  const unsigned granules = granules_for(block_bytes);
  const std::lock_guard guard(chunk_lock_);
  Span* span = nullptr;
  for (HeapChunk* chunk = chunks_; chunk != nullptr && span == nullptr; chunk = chunk->next)
    span = cut_span(*chunk, granules);
  if (span == nullptr) {
    bool fresh = false;
    HeapChunk* chunk = chunk_pool_.make();
    if (chunk == nullptr) return nullptr;
    chunk->extent = space_.take(k_chunk_bytes, 0, 1, ExtentUse::heap, fresh);
    if (chunk->extent == nullptr) {
      chunk_pool_.drop(chunk);
      return nullptr;
    }
    chunk->heap = this;
    chunk->extent->chunk = chunk;
    span = cut_span(*chunk, granules);
    if (span == nullptr) { // no room on the node: nothing of the chunk is kept
      chunk->extent->chunk = nullptr;
      space_.give_back(*chunk->extent, false);
      chunk_pool_.drop(chunk);
      return nullptr;
    }
    chunk->next = chunks_;
    chunks_ = chunk;
  }
  span->size_class = static_cast<std::uint16_t>(size_class);
  span->block_bytes = static_cast<std::uint32_t>(block_bytes);
  span->blocks = static_cast<std::uint32_t>(granules * k_granule / block_bytes);
  span->records = take_records(size_class, span->blocks);
  if (span->records == nullptr) {
    span->blocks = 0; // stays cut and unused: the process is out of memory anyway
    return nullptr;
  }
  return span;
}

void* Heap::allocate(std::size_t bytes, std::size_t alignment, std::uint32_t allocator,
                     const void* caller) {
  const unsigned size_class = class_of(bytes, alignment);
  if (size_class == k_no_class) return nullptr;
  ClassList& list = classes_[size_class];
  const std::lock_guard guard(list.lock);
  if (list.spans == nullptr) {
    Span* span = new_span(size_class);
    if (span == nullptr) return nullptr;
    span->listed = true;
    list.spans = span;
  }
  Span& span = *list.spans;
  std::uint32_t block = span.hint;
  while (span.records[block].bytes != 0)
    ++block;
  span.records[block] = {static_cast<std::uint32_t>(bytes), allocator, caller};
  span.hint = block + 1;
  if (++span.live == span.blocks) {
    list.spans = span.next;
    if (span.next != nullptr) span.next->previous = nullptr;
    span.previous = span.next = nullptr;
    span.listed = false;
  }
  return reinterpret_cast<void*>(span.begin + std::size_t{block} * span.block_bytes);
}

BlockRecord* Heap::find(const Extent& extent, const void* address, bool exact,
                        std::uintptr_t* begin, std::size_t* room) {
  const auto at = reinterpret_cast<std::uintptr_t>(address);
  const HeapChunk* chunk = extent.chunk;
  if (chunk == nullptr || at - extent.begin >= k_chunk_bytes) return nullptr;
  const Span* span = chunk->span[(at - extent.begin) / k_granule];
  if (span == nullptr) return nullptr;
  const std::size_t block = (at - span->begin) / span->block_bytes;
  const std::uintptr_t block_begin = span->begin + block * span->block_bytes;
  if (block >= span->blocks || (exact && block_begin != at)) return nullptr;
  BlockRecord& record = span->records[block];
  if (record.bytes == 0) return nullptr;
  if (begin != nullptr) *begin = block_begin;
  if (room != nullptr) *room = span->block_bytes;
  return &record;
}

bool Heap::release(const Extent& extent, void* block) {
  const auto at = reinterpret_cast<std::uintptr_t>(block);
  if (extent.chunk == nullptr || at - extent.begin >= k_chunk_bytes) return false;
  Span* found = extent.chunk->span[(at - extent.begin) / k_granule];
  if (found == nullptr) return false;
  Span& span = *found;
  ClassList& list = classes_[span.size_class];
  const std::lock_guard guard(list.lock);
  const auto index = static_cast<std::uint32_t>((at - span.begin) / span.block_bytes);
  if (index >= span.blocks || span.records[index].bytes == 0 ||
      span.begin + std::size_t{index} * span.block_bytes != at)
    return false;
  span.records[index] = {};
  span.hint = std::min(span.hint, index);
  --span.live;
  if (!span.listed) {
    span.previous = nullptr;
    span.next = list.spans;
    if (list.spans != nullptr) list.spans->previous = &span;
    list.spans = &span;
    span.listed = true;
  } else if (span.live == 0 && (span.previous != nullptr || span.next != nullptr)) {
    retire(span); // another span of the class has room: this one may serve any class
  }
  return true;
}

// Gives an empty span's granules back to its chunk, and an empty chunk back to the extents. The
// class's lock is held.
void Heap::retire(Span& span) {
  ClassList& list = classes_[span.size_class];
  if (span.previous != nullptr)
    span.previous->next = span.next;
  else
    list.spans = span.next;
  if (span.next != nullptr) span.next->previous = span.previous;

  const std::lock_guard guard(chunk_lock_);
  HeapChunk& chunk = *span.chunk;
  const unsigned first = static_cast<unsigned>((span.begin - chunk.extent->begin) / k_granule);
  for (unsigned i = 0; i < span.granules; ++i) {
    chunk.span[first + i] = nullptr;
    chunk.taken &= ~(std::uint64_t{1} << (first + i));
  }
  span.records->caller = spare_records_[span.size_class];
  spare_records_[span.size_class] = span.records;
  span_pool_.drop(&span);
  if (chunk.taken != 0) return;
  for (HeapChunk** link = &chunks_; *link != nullptr; link = &(*link)->next)
    if (*link == &chunk) {
      *link = chunk.next;
      break;
    }
  chunk.extent->chunk = nullptr;
  space_.give_back(*chunk.extent, false);
  chunk_pool_.drop(&chunk);
}

bool Heap::is_sound(const Extent& extent, std::string& why_not) {
  for (unsigned i = 0; i < k_chunk_granules; ++i) {
    const Span* span = extent.chunk != nullptr ? extent.chunk->span[i] : nullptr;
    if (span == nullptr) continue;
    const std::lock_guard guard(classes_[span->size_class].lock);
    std::uint32_t live = 0;
    for (std::uint32_t b = 0; b < span->blocks; ++b) {
      const bool used = span->records[b].bytes != 0;
      live += used ? 1 : 0;
      if (!used && b < span->hint) return why_not = "a free block lies before the hint", false;
      if (span->records[b].bytes > span->block_bytes)
        return why_not = "a block is larger than its class", false;
    }
    if (live != span->live) return why_not = "live blocks do not add up", false;
    if (span->listed != (span->live < span->blocks))
      return why_not = "a span is in the wrong list", false;
    if ((extent.chunk->taken >> i & 1) == 0)
      return why_not = "a span's granule is not taken", false;
  }
  return true;
}

void Heap::lock() {
  for (ClassList& list : classes_)
    list.lock.lock();
  chunk_lock_.lock();
}

void Heap::unlock() {
  chunk_lock_.unlock();
  for (ClassList& list : classes_)
    list.lock.unlock();
}

} // namespace omptier
