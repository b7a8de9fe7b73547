// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Lists of spans with free blocks, and the exchange of blocks with threads' magazines.
#include "placement/heap.hpp"

#include "base/linked_list.hpp"
#include "base/os.hpp"

#include <algorithm>

namespace omptier {

Heap::Heap(ExtentSpace& space)
    : space_(space), chunks_(*this, space), number_(thread_caches::register_heap(*this)) {
  space.set_heap(this);
}

Heap::~Heap() {
  space_.set_heap(nullptr);
  thread_caches::forget_heap(*this);
}

void Heap::push(ClassList& list, Span& span) {
  omptier::push(list.spans, &span);
  span.listed = true;
}

void Heap::remove(ClassList& list, Span& span) {
  omptier::remove(list.spans, &span);
  span.listed = false;
}

unsigned Heap::take(unsigned size_class, FreeBlock* out, unsigned most) {
  ClassList& list = classes_[size_class];
  const std::lock_guard guard(list.lock);
  const unsigned passed = std::min(most, list.passing_count);
  if (passed == 0) return take_from_spans(list, size_class, out, most);
  list.passing_count -= passed;
  std::copy_n(list.passing + list.passing_count, passed, out);
  return passed;
}

unsigned Heap::take_from_spans(ClassList& list, unsigned size_class, FreeBlock* out,
                               unsigned most) {
  unsigned taken = 0;
  while (taken < most) {
    // A partly used span is used up before the empty one.
    Span* span = list.spans;
    if (span != nullptr && span == list.empty && span->next != nullptr) span = span->next;
    if (span == nullptr) {
      if (taken != 0) break; // enough for now
      span = chunks_.cut(size_class, static_cast<std::uint16_t>(number_));
      if (span == nullptr) break;
      push(list, *span);
    }
    taken += span->take(out + taken, most - taken);
    if (span == list.empty) list.empty = nullptr;
    if (span->free == 0) remove(list, *span);
  }
  return taken;
}

void Heap::put(unsigned size_class, const FreeBlock* blocks, unsigned count) {
  ClassList& list = classes_[size_class];
  const std::lock_guard guard(list.lock);
  put_into_spans(list, size_class, blocks, count);
}

unsigned Heap::pass(ClassList& list, unsigned size_class, const FreeBlock* blocks,
                    unsigned count) {
  const unsigned most = passing_capacity(size_class);
  if (space_.decay() == 0 || most == 0) return 0;
  if (list.passing == nullptr) {
    const std::lock_guard guard(passing_lock_);
    list.passing = static_cast<FreeBlock*>(passing_arena_.take(most * sizeof(FreeBlock)));
    if (list.passing == nullptr) return 0;
  }
  const unsigned passed = std::min(count, most - list.passing_count);
  std::copy_n(blocks, passed, list.passing + list.passing_count);
  list.passing_count += passed;
  list.passed_at = coarse_nanoseconds();
  return passed;
}

void Heap::put_into_spans(ClassList& list, unsigned size_class, const FreeBlock* blocks,
                          unsigned count) {
  for (unsigned i = 0; i < count; ++i) {
    Span* span = space_.ranges().span_of(reinterpret_cast<const void*>(blocks[i].begin));
    if (span == nullptr || span->size_class != size_class || !span->put(blocks[i].begin)) continue;
    if (!span->listed) push(list, *span);
    if (span->free != span->blocks) continue;
    // One wholly free span is kept; granules of others become free for any class.
    remove(list, *span);
    if (list.empty != nullptr) {
      chunks_.retire(*span);
    } else {
      push(list, *span);
      list.empty = span;
      list.empty_since = space_.decay() != 0 ? monotonic_nanoseconds() : 0;
    }
  }
  if (space_.decay() == 0 && list.empty != nullptr) {
    Span* span = list.empty;
    list.empty = nullptr;
    remove(list, *span);
    chunks_.retire(*span);
  }
}

// Half of a full magazine's blocks, the oldest, go back. They leave the magazine before others can
// take them: a child forked in between must not find them in both places.
void Heap::empty_magazine(unsigned size_class, Magazine& magazine) {
  const unsigned half = (magazine.count() + 1) / 2;
  std::rotate(magazine.begin, magazine.begin + half, magazine.top);
  magazine.top -= half;
  magazine.used = true;
  ClassList& list = classes_[size_class];
  const std::lock_guard guard(list.lock);
  const unsigned passed = pass(list, size_class, magazine.top, half);
  put_into_spans(list, size_class, magazine.top + passed, half - passed);
}

bool Heap::refill(unsigned size_class, Magazine& magazine) {
  magazine.batch = static_cast<std::uint16_t>(
      std::clamp(magazine.batch * 2u, first_batch(size_class), magazine.capacity() / 2));
  const unsigned got = take(size_class, magazine.begin, magazine.batch);
  std::reverse(magazine.begin, magazine.begin + got); // lowest address on top
  magazine.top = magazine.begin + got;
  magazine.used = true;
  return got != 0;
}

void* Heap::allocate(std::size_t bytes, std::size_t alignment, std::uint32_t owner,
                     const void* caller) {
  const unsigned size_class = class_of(bytes, alignment);
  if (size_class == k_no_class) return nullptr;
  ThreadCache* cache = ThreadCache::make_mine();
  Magazine* magazine = cache != nullptr ? cache->magazine(*this, size_class) : nullptr;
  FreeBlock block;
  do {
    if (magazine == nullptr) {
      if (take(size_class, &block, 1) == 0) return nullptr;
    } else {
      if (magazine->is_empty()) {
        cache->look_after(space_.decay());
        if (!refill(size_class, *magazine)) return nullptr;
      }
      block = *--magazine->top;
    }
  } while (block.record->is_live()); // was freed by two threads at the same time
  block.record->hand_out(static_cast<std::uint32_t>(bytes), owner, caller);
  return reinterpret_cast<void*>(block.begin);
}

BlockRecord* Heap::find(const Span& span, const void* address, bool exact, std::uintptr_t* begin) {
  const auto at = reinterpret_cast<std::uintptr_t>(address);
  const std::uint32_t block = span.index_of(at);
  if (block >= span.blocks) return nullptr;
  const std::uintptr_t block_begin = span.address_of(block);
  if (exact && block_begin != at) return nullptr;
  BlockRecord& record = span.records[block];
  if (record.bytes() == 0) return nullptr;
  if (begin != nullptr) *begin = block_begin;
  return &record;
}

bool Heap::release(Span& span, void* block) {
  const auto begin = reinterpret_cast<std::uintptr_t>(block);
  if (!span.is_begin(begin)) return false;
  BlockRecord* record = span.record_from(begin);
  if (!record->is_live()) return false;
  const unsigned size_class = span.size_class;
  record->clear();
  const FreeBlock freed{begin, record};
  ThreadCache* cache = ThreadCache::make_mine();
  Magazine* magazine = cache != nullptr ? cache->magazine(*this, size_class) : nullptr;
  if (magazine == nullptr) {
    put(size_class, &freed, 1);
    return true;
  }
  if (magazine->is_full()) {
    empty_magazine(size_class, *magazine);
    cache->look_after(space_.decay());
  }
  magazine->push(freed);
  return true;
}

std::size_t Heap::drop_empty(std::uint64_t since) {
  for (ClassList& list : classes_) {
    const std::lock_guard guard(list.lock);
    const auto size_class = static_cast<unsigned>(&list - classes_.data());
    if (list.passing_count != 0 && list.passed_at <= since) {
      put_into_spans(list, size_class, list.passing, list.passing_count);
      list.passing_count = 0;
    }
    Span* span = list.empty;
    if (span == nullptr || list.empty_since > since) continue;
    list.empty = nullptr;
    remove(list, *span);
    chunks_.retire(*span);
  }
  return chunks_.drop_empty(since);
}

bool Heap::is_sound(std::string& why_not, bool quiet) {
  if (!chunks_.is_sound(why_not)) return false;
  std::array<std::uint32_t, k_size_classes> kept{};
  bool sound = true;
  {
    const std::lock_guard guard(chunks_);
    chunks_.for_each_span([&](const Span& span) {
      std::uint32_t of_span = 0;
      sound = sound && span.is_sound(of_span, why_not);
      kept[span.size_class] += of_span;
    });
  }
  if (!sound) return false;
  for (unsigned c = 0; c < k_size_classes; ++c) {
    const unsigned in_magazines = number_ < k_most_heaps ? thread_caches::kept(*this, c) : kept[c];
    const std::lock_guard guard(classes_[c].lock);
    const ClassList& list = classes_[c];
    if (list.passing_count > passing_capacity(c))
      return why_not = "more blocks pass between threads than may", false;
    if (quiet && kept[c] != in_magazines + list.passing_count)
      return why_not = "blocks are neither live, free, passing, nor in a magazine", false;
    const Span* before = nullptr;
    for (const Span* span = list.spans; span != nullptr; before = span, span = span->next) {
      if (span->size_class != c || !span->listed || span->previous != before)
        return why_not = "a list of spans is broken", false;
      if (span->free == span->blocks && span != list.empty)
        return why_not = "a wholly free span is not known as such", false;
    }
  }
  return true;
}

void Heap::lock() {
  for (ClassList& list : classes_)
    list.lock.lock();
  chunks_.lock();
}

void Heap::unlock() {
  chunks_.unlock();
  for (ClassList& list : classes_)
    list.lock.unlock();
}

} // namespace omptier
