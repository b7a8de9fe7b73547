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

bool ExtentSpace::count_besides(Extent& extent, MemoryKind kind, std::size_t bytes) {
  const std::lock_guard guard(lock_);
  if (!ledger_.reserve(kind, bytes)) return false;
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
