// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Brings the objects of a plan to where it wants them for a region. Objects with less benefit that
// the region does not need there are moved out first, to where the plan places them otherwise, or
// change places with the newcomer. The work is bounded: at most 128 objects are considered, in
// order of the gain that the plan expects. All tables are fixed: no malloc.
#pragma once

#include "placement/placer.hpp"
#include "placement/plan_placement.hpp"

#include <array>
#include <atomic>
#include <span>

namespace omptier {

struct ObjectMove {
  const void* block = nullptr;
  std::size_t bytes = 0; // that arrived at the new tier
  MemoryKind from = MemoryKind::unknown, to = MemoryKind::unknown;
  double seconds = 0;
  std::uint64_t at = 0;         // CLOCK_MONOTONIC nanoseconds, begin of the move
  std::uint32_t plan_entry = 0; // index of the entry that caused the move
};

// Called as soon as an object was moved, by the thread that moved it.
struct MoveReport {
  void (*made)(void* context, const ObjectMove& move);
  void* context;
};

// Not for several threads at once.
class ObjectMoves {
public:
  struct Outcome {
    bool any = false, all = true; // of those that the plan wants
    bool tried = false;           // to move some
  };
  // region: the matcher's number; FrameMatcher::k_none: everything home. Begins no further object
  // once stop is set.
  Outcome move_for(const PlanPlacement& plan, Placer& placer, std::uint32_t region,
                   const MoveReport& report, const std::atomic<bool>* stop = nullptr);

  // Whether all objects that the plan wants somewhere for the region are there: move_for() would
  // do nothing.
  bool are_placed(const PlanPlacement& plan, Placer& placer, std::uint32_t region);

  // Entries of the plan whose objects found no room in the last move_for().
  std::span<const std::uint32_t> without_room() const { return {refused_.data(), refused_count_}; }

private:
  static constexpr std::size_t k_most_objects = 128;
  static constexpr std::size_t k_most_exchanged = 32; // objects that change places at once

  struct Object {
    const void* block = nullptr;
    std::size_t committed = 0;
    MemoryKind now = MemoryKind::unknown;
    MemoryKind home = MemoryKind::unknown;   // where it lies when no region wants it elsewhere
    MemoryKind wanted = MemoryKind::unknown; // by the region; unknown: not named
    double benefit = 0;                      // of the region's entry, ns
    std::uint32_t entry = 0;                 // the entry that gives wanted, else home

    bool is_away() const { return wanted != MemoryKind::unknown && wanted != now; }
  };

  void collect(const PlanPlacement& plan, Placer& placer, std::uint32_t region);
  static bool makes_room(const Object& object, MemoryKind kind, const Object& newcomer);
  bool stops() const { return stop_ != nullptr && stop_->load(std::memory_order_relaxed); }
  void made(const ObjectMove& move) const;
  bool move(Placer& placer, Object& object, MemoryKind to);
  void make_room(Placer& placer, MemoryKind kind, const Object& newcomer);
  bool exchange(Placer& placer, Object& newcomer);

  std::array<Object, k_most_objects> objects_;
  std::size_t count_ = 0;
  std::array<std::uint32_t, k_most_objects> refused_; // entries
  std::size_t refused_count_ = 0;
  const MoveReport* report_ = nullptr; // of the present move_for()
  const std::atomic<bool>* stop_ = nullptr;
};

} // namespace omptier
