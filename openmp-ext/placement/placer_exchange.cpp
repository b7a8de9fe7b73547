// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Several blocks move at once, where none has room before another has left. They move in pieces:
// whichever can go next takes the room that is there. A block on its way is one in parts, each
// counted under the kind that it lies in, so the ledger is right at every moment, also for a child
// that is forked in the middle. When nothing can go on, a piece of one block makes way: to a kind
// that is not full, else to its own above the limit, for a moment.
#include "placement/placer.hpp"

#include "base/rounding.hpp"

#include <algorithm>

namespace omptier {
namespace {

constexpr std::uint64_t k_piece = std::uint64_t{64} << 20; // bytes moved before the next one's turn
constexpr std::uint64_t k_making_way = std::uint64_t{8} << 20;

bool is_under_way(const Exchange& one) {
  return one.extent != nullptr && !one.stuck;
}

} // namespace

std::size_t Placer::tier_of_kind(MemoryKind kind) const {
  std::size_t tier = 0;
  while (tier < tier_count_ && kind_of_tier(tier) != kind)
    ++tier;
  return tier;
}

// What leaves a kind, and the room there is, must be enough for what comes. Pages of a block that
// are not in memory yet stay counted where its policy will bring them.
bool Placer::fit_together(std::span<const Exchange> blocks) {
  std::array<std::uint64_t, k_memory_kinds + 1> coming{}, leaving{};
  for (const Exchange& one : blocks) {
    if (one.extent == nullptr) continue;
    const Extent& extent = *one.extent;
    PageCensus census;
    count_pages(extent.begin, extent.committed, census);
    const ExtentPages pages = by_kind(extent, census);
    const auto from = static_cast<std::size_t>(extent.charged);
    coming[static_cast<std::size_t>(one.kind)] += extent.committed;
    leaving[from] += extent.committed;
    if (extent.charged == extent.space->kind()) leaving[from] -= pages.coming;
  }
  for (const MemoryKind kind : k_all_memory_kinds) {
    const auto k = static_cast<std::size_t>(kind);
    if (coming[k] > leaving[k] && coming[k] - leaving[k] > room(kind)) return false;
  }
  return true;
}

// The first bytes that do not lie where the block is going, those last that wait in the spare kind.
bool Placer::next_piece(const Exchange& one, Piece& piece) const {
  const Extent& extent = *one.extent;
  for (const bool spare : {false, true})
    for (std::size_t at = 0; at < extent.committed; at = piece.end) {
      piece = {at, extent.committed, extent.charged};
      for (const ExtentPart* part = extent.parts; part != nullptr; part = part->next) {
        if (part->begin <= at && at < part->end) {
          piece = {at, part->end, part->kind};
          break;
        }
        if (part->begin > at) piece.end = std::min(piece.end, part->begin);
      }
      if (piece.from != one.to && (piece.from == one.spare) == spare) return true;
    }
  return false;
}

// Bytes of a piece that an earlier move left in the kind, or that will come there: these are
// counted there already.
std::uint64_t Placer::counted_besides(const Extent& extent, const Piece& piece,
                                      MemoryKind kind) const {
  const auto k = static_cast<std::size_t>(kind);
  if (extent.besides[k] == 0) return 0;
  PageCensus census;
  count_pages(extent.begin + piece.begin, piece.end - piece.begin, census);
  const ExtentPages pages = by_kind(extent, census);
  return std::min<std::uint64_t>(extent.besides[k],
                                 pages.on[k] + (extent.space->kind() == kind ? pages.coming : 0));
}

// What has arrived of a piece that does not move goes back; what cannot is counted there too.
void Placer::leave_piece(Extent& extent, const Piece& piece, MemoryKind kind,
                         const MoveOutcome& outcome) {
  const std::size_t bytes = piece.end - piece.begin;
  ExtentPages pages = by_kind(extent, outcome.after);
  if (outcome.moved != 0)
    pages = by_kind(
        extent,
        move_to_nodes(extent.begin + piece.begin, bytes, way_back(extent, piece.from)).after);
  const std::uint64_t left = pages.on[static_cast<std::size_t>(kind)] + pages.unknown;
  extent.space->uncount_besides(extent, kind, bytes - std::min<std::uint64_t>(bytes, left));
}

// Moves the block's next piece, of at most so many bytes and whole huge pages, to a kind. False
// when there is none, or no room, or its pages do not move.
bool Placer::move_piece(Exchange& one, MemoryKind kind, std::uint64_t most, bool beyond) {
  Piece piece;
  const std::size_t tier = tier_of_kind(kind);
  if (!is_under_way(one) || tier == tier_count_ || !next_piece(one, piece)) return false;
  Extent& extent = *one.extent;
  const std::uintptr_t begin = extent.begin + piece.begin;
  std::uint64_t already = counted_besides(extent, piece, kind);
  const std::uint64_t whole = piece.end - piece.begin;
  if (!beyond && ledger_.room(kind) < whole - already) most = std::min(most, ledger_.room(kind));
  if (most < whole) {
    const std::uintptr_t end = round_down(begin + most, ranges_.unit());
    if (end <= begin) return false;
    piece.end = end - extent.begin;
    already = counted_besides(extent, piece, kind);
  }
  const std::size_t bytes = piece.end - piece.begin;
  TierPlace& place = places_[tier];
  if (place.nodes.empty() || (!beyond && !has_room(place, bytes - already)) ||
      !extent.space->count_besides(extent, kind, bytes - already, beyond))
    return false;
  const MoveOutcome outcome = move_to_nodes(begin, bytes, {place.nodes, &node_orders_});
  one.stuck = outcome.refused || outcome.missing > outcome.after.present() / 2;
  if (outcome.refused) one.result = MoveResult::refused;
  if (one.stuck || !extent.space->count_part_under(extent, piece.begin, piece.end, piece.from, kind,
                                                   by_kind(extent, outcome.after))) {
    one.stuck = true;
    leave_piece(extent, piece, kind, outcome);
    return false;
  }
  if (kind == one.kind) one.moved += outcome.moved;
  return true;
}

// A piece of a block that others wait for goes elsewhere: to a kind with room, else to its own
// above the limit, if another block is about to leave that kind.
bool Placer::make_way(std::span<Exchange> blocks, OpenedBeyond& opened) {
  const auto somebody = [&](auto&& holds) {
    return std::any_of(blocks.begin(), blocks.end(), [&](const Exchange& other) {
      Piece piece;
      return is_under_way(other) && next_piece(other, piece) && holds(other, piece);
    });
  };
  for (Exchange& one : blocks) {
    Piece piece;
    if (!is_under_way(one) || !next_piece(one, piece) || piece.from == one.spare) continue;
    const MemoryKind from = piece.from;
    if (!somebody([&](const Exchange& other, const Piece&) { return other.to == from; })) continue;
    for (std::size_t tier = 0; tier < tier_count_; ++tier) {
      const MemoryKind kind = kind_of_tier(tier);
      if (kind == one.to || kind == from || (one.spare != MemoryKind::unknown && one.spare != kind))
        continue;
      if (!move_piece(one, kind, std::max<std::uint64_t>(k_making_way, ranges_.unit()), false))
        continue;
      one.spare = kind;
      return true;
    }
    if (!somebody([&](const Exchange&, const Piece& next) { return next.from == one.to; }) ||
        !ledger_.begin_beyond(one.to))
      continue;
    opened[static_cast<std::size_t>(one.to)] = true;
    if (move_piece(one, one.to, Ledger::k_beyond, true)) return true;
    end_beyond(opened);
  }
  return false;
}

// Of the kinds that this exchange has opened.
void Placer::end_beyond(OpenedBeyond& opened) {
  for (const MemoryKind kind : k_all_memory_kinds)
    if (bool& is_open = opened[static_cast<std::size_t>(kind)]; is_open)
      is_open = !ledger_.end_beyond(kind);
}

// Until nothing goes on any more. False when pieces are left.
bool Placer::move_all_pieces(std::span<Exchange> blocks, OpenedBeyond& opened) {
  for (bool made_way = false;;) {
    bool progress = false, left = false;
    for (Exchange& one : blocks) {
      progress = move_piece(one, one.to, k_piece, false) || progress;
      Piece piece;
      left = left || (one.extent != nullptr && next_piece(one, piece));
    }
    end_beyond(opened);
    if (!left) return true;
    if (!progress && made_way) return false; // it was for nothing
    made_way = !progress;
    if (made_way && !make_way(blocks, opened)) return false;
  }
}

// Those that have pieces left, or all.
void Placer::turn_back(std::span<Exchange> blocks, bool all) {
  for (Exchange& one : blocks) {
    Piece piece;
    if (one.extent == nullptr || (!all && !next_piece(one, piece))) continue;
    if (one.stuck && one.result != MoveResult::refused) one.result = MoveResult::stays;
    one.to = one.from;
    one.spare = MemoryKind::unknown;
    one.stuck = false;
  }
}

// Lets go of the block, where it has come to.
void Placer::finish(Exchange& one) {
  Extent& extent = *one.extent;
  ExtentSpace& space = *extent.space;
  space.join_parts(extent);
  if (extent.parts == nullptr) {
    PageCensus census;
    count_pages(extent.begin, extent.committed, census);
    space.charge_to(extent, extent.charged, by_kind(extent, census));
    if (extent.charged == one.kind)
      one.result = MoveResult::moved;
    else
      one.moved = 0;
  }
  one.extent = nullptr;
  space.end_move(extent);
}

void Placer::exchange(std::span<Exchange> blocks) {
  job_.enter();
  for (Exchange& one : blocks) {
    ExtentSpace* space = ranges_.space_of(one.block);
    Extent* extent = space != nullptr ? space->begin_move(one.block) : nullptr;
    if (extent == nullptr) continue;
    const bool there = extent->charged == one.kind;
    if (there || extent->required || extent->parts != nullptr) {
      one.result = there ? MoveResult::moved : MoveResult::held;
      space->end_move(*extent);
      continue;
    }
    one.extent = extent;
    one.from = extent->charged;
    one.to = one.kind;
    one.result = MoveResult::no_room;
  }
  // A move of a huge page must not take along what is counted elsewhere.
  if (huge_page_size() <= ranges_.unit() && fit_together(blocks)) {
    for (const Exchange& one : blocks) {
      if (one.extent == nullptr) continue;
      one.extent->space->keep_apart(*one.extent);
      if (ledger_.room(one.kind) < one.extent->committed)
        drop_caches(one.kind, one.extent->committed);
    }
    // What cannot be finished goes back, if need be with those whose room it has.
    OpenedBeyond opened{};
    if (!move_all_pieces(blocks, opened)) {
      turn_back(blocks, false);
      if (!move_all_pieces(blocks, opened)) {
        turn_back(blocks, true);
        move_all_pieces(blocks, opened);
      }
    }
  }
  for (Exchange& one : blocks)
    if (one.extent != nullptr) finish(one);
}

} // namespace omptier
