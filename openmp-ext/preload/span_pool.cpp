// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// See span_pool.hpp.
#include "preload/span_pool.hpp"

#include "base/rounding.hpp"

#include <algorithm>
#include <ctime>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace omptier::preload {
namespace {

constexpr std::size_t k_step = std::size_t{1} << 20;        // by which the range is made accessible
constexpr std::size_t k_least_range = 16 * k_step;
constexpr std::size_t k_always_idle = std::size_t{1} << 20; // may lie idle whatever is in use
constexpr std::size_t k_idle_part = 16;
constexpr std::uint32_t k_empty_with_pages = 16;

std::uint64_t now() {
  timespec time;
  ::clock_gettime(CLOCK_MONOTONIC, &time);
  return static_cast<std::uint64_t>(time.tv_sec) * 1'000'000'000 +
         static_cast<std::uint64_t>(time.tv_nsec);
}

// At most the machine's memory; where address space is limited, a sixteenth of the limit.
std::size_t wanted_range() {
  auto bytes = static_cast<std::size_t>(::sysconf(_SC_PHYS_PAGES)) *
               static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
  rlimit limit;
  if (::getrlimit(RLIMIT_AS, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY)
    bytes = std::min<std::size_t>(bytes, limit.rlim_cur / 16);
  return bytes;
}

} // namespace

void* map_directly(std::size_t bytes, int protection) {
  const long at = ::syscall(SYS_mmap, nullptr, bytes, protection,
                            MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  return at == -1 ? nullptr : reinterpret_cast<void*>(at);
}

bool SpanPool::begin() {
  for (std::size_t bytes = round_down(wanted_range(), k_step); bytes >= k_least_range;
       bytes = round_down(bytes / 2, k_step)) {
    void* range = map_directly(bytes + k_span, PROT_NONE);
    if (range == nullptr) continue;
    spans_ =
        static_cast<Span*>(map_directly(bytes / k_span * sizeof(Span), PROT_READ | PROT_WRITE));
    if (spans_ == nullptr) {
      ::syscall(SYS_munmap, range, bytes + k_span);
      continue;
    }
    begin_.store(round_up(reinterpret_cast<std::uintptr_t>(range), k_span),
                 std::memory_order_relaxed);
    bytes_.store(bytes, std::memory_order_release);
    return true;
  }
  return false;
}

void SpanPool::link(Bin& bin, std::uint32_t number) {
  Span& span = spans_[number];
  span.previous = k_none;
  span.next = bin.spans;
  if (bin.spans != k_none) spans_[bin.spans].previous = number;
  bin.spans = number;
  span.listed = true;
}

void SpanPool::unlink(Bin& bin, std::uint32_t number) {
  Span& span = spans_[number];
  (span.previous != k_none ? spans_[span.previous].next : bin.spans) = span.next;
  if (span.next != k_none) spans_[span.next].previous = span.previous;
  span.listed = false;
}

std::uint32_t SpanPool::empty_or_new() {
  if (empty_ != k_none) {
    const std::uint32_t number = empty_;
    empty_ = spans_[number].next;
    --empty_count_;
    return number;
  }
  const std::size_t end = (used_ + std::size_t{1}) * k_span;
  if (end > bytes_.load(std::memory_order_relaxed)) return k_none;
  if (end > accessible_) {
    if (::mprotect(reinterpret_cast<void*>(begin_of(used_)), k_step, PROT_READ | PROT_WRITE) != 0)
      return k_none;
    accessible_ += k_step;
  }
  return used_++;
}

std::uint32_t SpanPool::cut(const Bin& bin) {
  if (touched() - out_ > std::max(k_always_idle, touched() / k_idle_part)) return k_none;
  const std::uint32_t number = empty_or_new();
  if (number == k_none) return k_none;
  Span& span = spans_[number];
  // Blocks are aligned as the largest power of two in their size.
  const std::uint32_t alignment = std::min(bin.room & (~bin.room + 1), k_most_alignment);
  const auto blocks = static_cast<std::uint32_t>(k_span / (bin.room + 1));
  span.first = round_up(blocks, alignment);
  span.blocks = static_cast<std::uint16_t>(
      std::min<std::size_t>((k_span - span.first) / bin.room, span.first)); // a state each
  // Else the first blocks of all spans would lie in the same sets of the cache.
  const auto spare = static_cast<std::uint32_t>(k_span) - span.first - span.blocks * bin.room;
  span.first += number * 17 % (spare / alignment + 1) * alignment;
  span.room = bin.room;
  span.reciprocal =
      static_cast<std::uint32_t>(((std::uint64_t{1} << 32) + bin.room - 1) / bin.room);
  span.bin = bin.number;
  span.begun = span.free = span.hint = 0;
  auto* states = reinterpret_cast<BlockState*>(begin_of(number));
  for (std::uint32_t i = 0; i < span.blocks; ++i)
    states[i].store(k_block_free, std::memory_order_relaxed);
  span.before = span.now;
  span.now = {now(), ++cut_, bin.site, bin.room, span.first};
  return number;
}

unsigned SpanPool::take_from(Bin& bin, std::uint32_t number, FreeBlock* out, unsigned most) {
  Span& span = spans_[number];
  auto* states = reinterpret_cast<BlockState*>(begin_of(number));
  char* blocks = reinterpret_cast<char*>(begin_of(number)) + span.first;
  if (idle_ == number) idle_ = k_none;
  unsigned taken = 0;
  const auto take_block = [&](std::uint32_t index) {
    states[index].store(k_block_kept, std::memory_order_relaxed);
    out[taken++] = {blocks + std::size_t{index} * span.room, &states[index]};
  };
  for (; span.free != 0 && taken < most; ++span.hint) {
    if (states[span.hint].load(std::memory_order_relaxed) != k_block_free) continue;
    take_block(span.hint);
    --span.free;
  }
  const unsigned begun_before = span.begun;
  for (; span.begun < span.blocks && taken < most; ++span.begun)
    take_block(span.begun);
  touched_ = touched_ + std::size_t{span.begun - begun_before} * span.room;
  if (span.free == 0) span.hint = span.begun;
  if (span.free == 0 && span.begun == span.blocks) unlink(bin, number);
  return taken;
}

unsigned SpanPool::take(Bin& bin, FreeBlock* out, unsigned most) {
  unsigned taken = 0;
  while (taken < most) {
    if (bin.spans == k_none) {
      const std::uint32_t number = cut(bin);
      if (number == k_none) break;
      link(bin, number);
    }
    const unsigned more = take_from(bin, bin.spans, out + taken, most - taken);
    taken += more;
    out_ += std::size_t{more} * bin.room;
  }
  bin.out += taken;
  bin.most_out = std::max(bin.most_out, bin.out);
  return taken;
}

void SpanPool::put(Bin& bin, const FreeBlock& block) {
  const std::uint32_t number = span_at(reinterpret_cast<std::uintptr_t>(block.begin));
  Span& span = spans_[number];
  const auto index =
      static_cast<std::uint16_t>(block.state - reinterpret_cast<BlockState*>(begin_of(number)));
  block.state->store(k_block_free, std::memory_order_relaxed);
  ++span.free;
  span.hint = std::min(span.hint, index);
  --bin.out;
  if (is_counted(span)) out_ -= bin.room;
  if (!span.listed) link(bin, number);
  if (span.free != span.begun) return;
  if (idle_ != k_none) retire(*idle_bin_, idle_);
  idle_ = number;
  idle_bin_ = &bin;
}

void SpanPool::retire(Bin& bin, std::uint32_t number) {
  Span& span = spans_[number];
  unlink(bin, number);
  if (is_counted(span)) touched_ = touched_ - std::size_t{span.begun} * span.room;
  span.next = empty_;
  empty_ = number;
  if (++empty_count_ > k_empty_with_pages)
    ::madvise(reinterpret_cast<void*>(begin_of(number)), k_span, MADV_DONTNEED);
}

void SpanPool::forget_sites() {
  sites_from_ = cut_;
  touched_ = 0;
  out_ = 0;
}

int SpanPool::find(std::uint64_t address, std::uint64_t time, omptier_small_place& place) const {
  if (!holds(reinterpret_cast<const void*>(address))) return 0;
  const std::uint32_t number = span_at(address);
  if (number >= used_) return 0;
  const Span& span = spans_[number];
  const Use& use = time >= span.now.since ? span.now : span.before;
  if (time < use.since || use.room == 0) return 0;
  const auto offset = static_cast<std::uint32_t>(address - begin_of(number));
  if (use.cut <= sites_from_ || offset < use.first) return -1;
  place = {use.site, use.room, (offset - use.first) % use.room};
  return 1;
}

const char* SpanPool::what_is_wrong(const Bin* bins, unsigned count) const {
  std::size_t touched = 0, out = 0;
  for (unsigned i = 0; i < count; ++i) {
    std::uint32_t before = k_none;
    for (std::uint32_t at = bins[i].spans; at != k_none; before = at, at = spans_[at].next) {
      const Span& span = spans_[at];
      if (!span.listed || span.previous != before || span.bin != bins[i].number)
        return "a list of spans is broken";
      if (span.free == 0 && span.begun == span.blocks) return "a full span is listed";
      if (span.free == span.begun && span.begun != 0 && idle_ != at)
        return "an empty span is not known as such";
    }
  }
  std::uint32_t empty = 0;
  for (std::uint32_t at = empty_; at != k_none; at = spans_[at].next)
    ++empty;
  if (empty != empty_count_) return "empty spans are miscounted";
  for (std::uint32_t at = 0; at < used_; ++at) {
    const Span& span = spans_[at];
    const auto* states = reinterpret_cast<const BlockState*>(begin_of(at));
    std::uint32_t free = 0;
    for (std::uint32_t i = 0; i < span.begun; ++i)
      free += states[i].load() == k_block_free ? 1 : 0;
    if (free != span.free) return "a span's free blocks are miscounted";
    if (!is_counted(span) || (span.free == span.begun && !span.listed)) continue;
    touched += std::size_t{span.begun} * span.room;
    out += std::size_t{span.begun - free} * span.room;
  }
  if (touched != touched_ || out != out_) return "bytes are miscounted";
  return nullptr;
}

} // namespace omptier::preload
