// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Cuts and retires spans. One lock, taken before the extents'.
#include "placement/chunk.hpp"

#include "base/os.hpp"
#include "base/rounding.hpp"

#include <algorithm>
#include <bit>

namespace omptier {
namespace {

std::uint64_t run_of(unsigned granules) {
  return granules == 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << granules) - 1;
}

// A run must end within the first `within` granules; k_chunk_granules: there is none.
unsigned free_run(const HeapChunk& chunk, unsigned granules, unsigned within) {
  const std::uint64_t run = run_of(granules);
  for (unsigned first = 0; first + granules <= within; ++first) {
    first += static_cast<unsigned>(std::countr_one(chunk.taken >> first));
    if (first + granules <= within && (chunk.taken >> first & run) == 0) return first;
  }
  return k_chunk_granules;
}

} // namespace

// By a step, or at least as needed; all of the extent is then present on the nodes.
bool Chunks::grow(Extent& extent, std::size_t least, std::size_t step) {
  const std::size_t before = extent.committed;
  for (const std::size_t wanted : {std::min(std::max(least, before + step), extent.bytes), least}) {
    if (!space_.grow(extent, wanted)) continue;
    const std::size_t more = extent.committed - before;
    if (populate(extent.begin + before, more) &&
        (!space_.bound() ||
         settle(extent.begin + before, more, space_.nodes(), space_.binding().home)))
      return true;
    space_.shrink(extent, before);
  }
  return false;
}

// A sixteenth of the heap: little is present too early, and a large heap gets huge pages.
bool Chunks::commit(HeapChunk& chunk, std::size_t bytes) {
  Extent& extent = *chunk.extent;
  const std::size_t before = extent.committed;
  if (bytes <= before) return true;
  const std::size_t step = round_down(committed_ / 16, k_granule);
  const bool grown = grow(extent, bytes, std::clamp(step, k_granule, k_chunk_bytes / 2));
  committed_ += extent.committed - before; // also counts what the kernel refused to take back
  return grown;
}

// Records first, then bits, in one piece of the size that any span of the class needs.
bool Chunks::take_records(Span& span) {
  const unsigned size_class = span.size_class;
  const std::size_t blocks = granules_of_span(size_class) * k_granule / k_class_bytes[size_class];
  const std::size_t record_bytes = ((blocks + 1) * sizeof(BlockRecord) + 7) / 8 * 8;
  void* piece = spare_records_[size_class];
  if (piece != nullptr)
    spare_records_[size_class] = spare_records_[size_class]->next;
  else
    piece = record_arena_.take(record_bytes + (blocks + 63) / 64 * 8);
  if (piece == nullptr) return false;
  span.records = static_cast<BlockRecord*>(piece);
  span.free_bits = reinterpret_cast<std::uint64_t*>(static_cast<char*>(piece) + record_bytes);
  return true;
}

Span* Chunks::cut_at(HeapChunk& chunk, unsigned first, unsigned granules) {
  if (!commit(chunk, (std::size_t{first} + granules) * k_granule)) return nullptr;
  Span* span = span_pool_.make();
  if (span == nullptr) return nullptr;
  chunk.taken |= run_of(granules) << first;
  span->begin = chunk.extent->begin + first * k_granule;
  span->granules = static_cast<std::uint16_t>(granules);
  span->chunk = &chunk;
  return span;
}

// Uses up what is present before any chunk grows.
Span* Chunks::cut_from_chunks(unsigned granules) {
  for (HeapChunk* chunk = chunks_; chunk != nullptr; chunk = chunk->next) {
    const auto present = static_cast<unsigned>(chunk->extent->committed / k_granule);
    const unsigned first = free_run(*chunk, granules, present);
    if (first != k_chunk_granules) return cut_at(*chunk, first, granules);
  }
  for (HeapChunk* chunk = chunks_; chunk != nullptr; chunk = chunk->next) {
    const unsigned first = free_run(*chunk, granules, k_chunk_granules);
    if (first == k_chunk_granules) continue;
    if (Span* span = cut_at(*chunk, first, granules)) return span;
  }
  return nullptr;
}

HeapChunk* Chunks::new_chunk() {
  bool fresh = false;
  HeapChunk* chunk = chunk_pool_.make();
  if (chunk == nullptr) return nullptr;
  chunk->extent = space_.take(k_chunk_bytes, 0, 1, ExtentUse::heap, fresh);
  if (chunk->extent == nullptr) {
    chunk_pool_.drop(chunk);
    return nullptr;
  }
  chunk->heap = &heap_;
  chunk->extent->chunk = chunk;
  chunk->next = chunks_;
  chunks_ = chunk;
  return chunk;
}

Span* Chunks::cut(unsigned size_class, std::uint16_t heap_number) {
  const unsigned granules = granules_of_span(size_class);
  const std::lock_guard guard(lock_);
  Span* span = cut_from_chunks(granules);
  if (span == nullptr) {
    HeapChunk* chunk = new_chunk();
    if (chunk == nullptr) return nullptr;
    span = cut_at(*chunk, 0, granules);
    if (span == nullptr) { // no room on the node: nothing of the chunk is kept
      drop(*chunk);
      return nullptr;
    }
  }
  span->size_class = static_cast<std::uint16_t>(size_class);
  span->heap = heap_number;
  if (!take_records(*span)) { // out of memory: the granules stay free for later
    HeapChunk& chunk = *span->chunk;
    chunk.taken &= ~(run_of(granules) << (span->begin - chunk.extent->begin) / k_granule);
    span_pool_.drop(span);
    return nullptr;
  }
  span->open(size_class);
  space_.ranges().set_span(span->begin, granules, span);
  return span;
}

void Chunks::retire(Span& span) {
  const std::lock_guard guard(lock_);
  HeapChunk& chunk = *span.chunk;
  space_.ranges().set_span(span.begin, span.granules, nullptr);
  chunk.taken &= ~(run_of(span.granules) << (span.begin - chunk.extent->begin) / k_granule);
  auto* piece = reinterpret_cast<Spare*>(span.records);
  piece->next = spare_records_[span.size_class];
  spare_records_[span.size_class] = piece;
  span_pool_.drop(&span);
  if (chunk.taken != 0) return;
  if (space_.decay() == 0)
    drop(chunk);
  else
    chunk.empty_since = monotonic_nanoseconds();
}

// The caller holds the lock.
void Chunks::drop(HeapChunk& chunk) {
  for (HeapChunk** link = &chunks_; *link != nullptr; link = &(*link)->next)
    if (*link == &chunk) {
      *link = chunk.next;
      break;
    }
  chunk.extent->chunk = nullptr;
  committed_ -= chunk.extent->committed;
  space_.give_back(*chunk.extent, false);
  chunk_pool_.drop(&chunk);
}

std::size_t Chunks::drop_empty(std::uint64_t since) {
  const std::lock_guard guard(lock_);
  std::size_t dropped = 0;
  for (HeapChunk* chunk = chunks_; chunk != nullptr;) {
    HeapChunk* next = chunk->next;
    if (chunk->taken == 0 && chunk->empty_since <= since) {
      dropped += chunk->extent->committed;
      drop(*chunk);
    }
    chunk = next;
  }
  return dropped;
}

Span* Chunks::span_beginning_at(std::uintptr_t granule) {
  Span* span = space_.ranges().span_of(reinterpret_cast<const void*>(granule));
  return span != nullptr && span->begin == granule ? span : nullptr;
}

bool Chunks::is_sound(std::string& why_not) {
  const std::lock_guard guard(lock_);
  std::size_t committed = 0;
  for (const HeapChunk* chunk = chunks_; chunk != nullptr; chunk = chunk->next) {
    if (chunk->extent->chunk != chunk) return why_not = "an extent does not know its chunk", false;
    std::uint64_t covered = 0;
    for (unsigned i = 0; i < k_chunk_granules; ++i) {
      const std::uintptr_t granule = chunk->extent->begin + i * k_granule;
      const Span* span = space_.ranges().span_of(reinterpret_cast<const void*>(granule));
      if (span == nullptr) continue;
      covered |= std::uint64_t{1} << i;
      if (span->chunk != chunk || granule - span->begin >= span->granules * k_granule)
        return why_not = "a granule names a span it is not part of", false;
      if ((i + 1) * k_granule > chunk->extent->committed)
        return why_not = "a span lies where its chunk is not accessible", false;
    }
    if (covered != chunk->taken)
      return why_not = "a chunk's taken granules are not its spans'", false;
    committed += chunk->extent->committed;
  }
  if (committed != committed_) return why_not = "bytes of chunks do not add up", false;
  return true;
}

} // namespace omptier
