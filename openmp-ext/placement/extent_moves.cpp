// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The accounting of an extent while its pages move, and afterwards. The ledger counts at least what
// lies in a kind: a move reserves before it begins, and gives back what is verified to be
// elsewhere. No thread waits for a move: the moving thread gives back a block that was freed
// meanwhile.
#include "placement/extents.hpp"

#include <algorithm>

namespace omptier {

Extent* ExtentSpace::begin_move(const void* block) {
  const std::lock_guard guard(lock_);
  Extent* extent = used_at(block);
  if (!moves_pages() || extent == nullptr || extent->use != ExtentUse::block || extent->moving ||
      extent->locked || extent->begin != reinterpret_cast<std::uintptr_t>(block))
    return nullptr;
  extent->moving = true;
  in_hands_.fetch_add(1, std::memory_order_relaxed);
  return extent;
}

void ExtentSpace::let_go(Extent& extent) {
  extent.moving = false;
  in_hands_.fetch_sub(1, std::memory_order_relaxed);
  if (extent.leaving) put_back(extent, extent.keep);
}

void ExtentSpace::end_move(Extent& extent) {
  const std::lock_guard guard(lock_);
  let_go(extent);
}

bool ExtentSpace::count_besides(Extent& extent, MemoryKind kind, std::size_t bytes, bool beyond) {
  const std::lock_guard guard(lock_);
  if (beyond ? !ledger_.reserve_beyond(kind, bytes) : !ledger_.reserve(kind, bytes)) return false;
  extent.besides[static_cast<std::size_t>(kind)] += bytes;
  return true;
}

void ExtentSpace::uncount_besides(Extent& extent, MemoryKind kind, std::size_t bytes) {
  const std::lock_guard guard(lock_);
  std::uint64_t& besides = extent.besides[static_cast<std::size_t>(kind)];
  besides -= bytes;
  if (besides != 0) extent.moved = true, extent.verified = false;
  ledger_.give_back(kind, bytes);
}

// Takes the bytes out of the parts that overlap them.
bool ExtentSpace::cut_parts(Extent& extent, std::size_t begin, std::size_t end) {
  for (ExtentPart** at = &extent.parts; *at != nullptr;) {
    ExtentPart& part = **at;
    const std::size_t low = std::max(begin, part.begin), high = std::min(end, part.end);
    if (low >= high) {
      at = &part.next;
      continue;
    }
    if (low > part.begin && high < part.end) { // from the middle
      ExtentPart* behind = part_pool_.make();
      if (behind == nullptr) return false;
      *behind = {high, part.end, part.kind, part.next};
      part.next = behind;
      part.end = low;
    } else if (low > part.begin) {
      part.end = low;
    } else {
      part.begin = high;
    }
    extent.apart -= high - low;
    if (part.begin < part.end) {
      at = &part.next;
    } else {
      *at = part.next;
      part_pool_.drop(&part);
    }
  }
  return true;
}

bool ExtentSpace::count_part_under(Extent& extent, std::size_t begin, std::size_t end,
                                   MemoryKind from, MemoryKind kind, const ExtentPages& pages) {
  const auto at = [](MemoryKind k) { return static_cast<std::size_t>(k); };
  const std::lock_guard guard(lock_);
  ExtentPart* before = extent.parts; // the part that ends where these begin
  while (before != nullptr && (before->end != begin || before->kind != kind))
    before = before->next;
  ExtentPart* fresh = nullptr;
  if (kind != extent.charged && before == nullptr) {
    fresh = part_pool_.make();
    if (fresh == nullptr) return false;
  }
  if (from != extent.charged && !cut_parts(extent, begin, end)) {
    if (fresh != nullptr) part_pool_.drop(fresh);
    return false;
  }
  if (kind != extent.charged) {
    if (before != nullptr) {
      before->end = end;
    } else {
      *fresh = {begin, end, kind, extent.parts};
      extent.parts = fresh;
    }
    extent.apart += end - begin;
  }
  const std::uint64_t left = pages.on[at(from)] + (kind_ == from ? pages.coming : 0);
  const std::uint64_t stay = std::min<std::uint64_t>(end - begin, left + pages.unknown);
  extent.besides[at(kind)] -= end - begin;
  extent.besides[at(from)] += stay;
  ledger_.give_back(from, end - begin - stay);
  extent.moved = true;
  extent.verified = false;
  return true;
}

void ExtentSpace::join_parts(Extent& extent) {
  const std::lock_guard guard(lock_);
  if (extent.parts == nullptr || extent.apart != extent.committed) return;
  const MemoryKind kind = extent.parts->kind;
  for (const ExtentPart* part = extent.parts; part != nullptr; part = part->next)
    if (part->kind != kind) return;
  while (ExtentPart* part = extent.parts) {
    extent.parts = part->next;
    part_pool_.drop(part);
  }
  extent.apart = 0;
  extent.charged = kind;
}

void ExtentSpace::charge_to(Extent& extent, MemoryKind kind, const ExtentPages& pages) {
  const std::lock_guard guard(lock_);
  recharge(extent, kind, pages);
}

void ExtentSpace::recharge(Extent& extent, MemoryKind kind, const ExtentPages& pages) {
  const auto at = [](MemoryKind k) { return static_cast<std::size_t>(k); };
  if (kind != extent.charged) {
    extent.besides[at(extent.charged)] += extent.committed - extent.apart;
    extent.besides[at(kind)] -= extent.committed - extent.apart;
    extent.charged = kind;
  }
  // Bytes that neither the extent's account nor those of the parts count yet.
  KindBytes uncounted = pages.on;
  uncounted[at(kind_)] += pages.coming; // where the memory policy brings them
  for (std::uint64_t& bytes : uncounted)
    bytes += pages.unknown;
  uncounted[at(kind)] = 0;
  for (const ExtentPart* part = extent.parts; part != nullptr; part = part->next)
    uncounted[at(part->kind)] -= std::min(uncounted[at(part->kind)], part->end - part->begin);

  extent.moved = extent.parts != nullptr || !pages.home || kind != kind_;
  for (const MemoryKind k : k_all_memory_kinds) {
    std::uint64_t& besides = extent.besides[at(k)];
    const std::uint64_t kept = std::min(besides, uncounted[at(k)]);
    ledger_.give_back(k, besides - kept);
    besides = kept;
    extent.moved = extent.moved || kept != 0;
  }
  extent.verified = extent.verified && !extent.moved;
}

} // namespace omptier
