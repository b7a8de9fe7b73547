// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Moves at the begin of a region. The work is bounded: at most 128 objects are considered, in order
// of the gain that the plan expects. All tables are fixed or in our own pages: no malloc.
#include "migration/region_moves.hpp"

#include "base/notices.hpp"
#include "base/os.hpp"
#include "migration/rounds.hpp"
#include "objects/stack.hpp"

#include <algorithm>
#include <array>
#include <atomic>

namespace omptier {
namespace {

constexpr std::size_t k_most_objects = 128;
constexpr std::size_t k_most_exchanged = 32; // objects that change places at once
constexpr std::size_t k_most_entries = 1024; // entries whose totals are kept

struct Totals {
  std::atomic<std::uint64_t> moves{0}, bytes{0}, nanoseconds{0}, first{0}, last{0}, without_room{0};
};

struct PlannedObject {
  const void* block = nullptr;
  std::size_t committed = 0;
  MemoryKind now = MemoryKind::unknown;
  MemoryKind home = MemoryKind::unknown;   // where it lies when no region wants it elsewhere
  MemoryKind wanted = MemoryKind::unknown; // by the region that begins; unknown: not named
  double benefit = 0;                      // of the region's entry, ns
  std::uint32_t entry = 0;                 // the entry that gives wanted, else home
};

struct Objects {
  std::array<PlannedObject, k_most_objects> list;
  std::size_t count = 0;
};

// One region at a time moves pages, and no thread waits for its turn. Whoever set this has the
// rest.
std::atomic<bool> moving{false};
std::uint32_t last_region = FrameMatcher::k_none;
std::uint64_t last_allocations = 0; // plan matches at the last look: more mean new objects
Rounds rounds;
bool moves_here = true, all_at_home = false; // in the last region
Objects objects;
Totals totals[k_most_entries];

const PlanEntry* entry_for(const PlanPlacement& plan, std::uint32_t placed_by,
                           std::uint32_t instance, std::uint32_t region, std::uint32_t& index) {
  for (const std::uint32_t entry : plan.matcher().entries(plan.site_of_entry(placed_by)))
    if (plan.matcher().region_of_entry(entry) == region && plan.covers(entry, instance)) {
      index = entry;
      return &plan.plan().entries[entry];
    }
  return nullptr;
}

MemoryKind first_present(const Placer& placer, const std::vector<MemoryKind>& kinds) {
  for (const MemoryKind kind : kinds)
    for (std::size_t tier = 0; tier < placer.tier_count(); ++tier)
      if (placer.kind_of_tier(tier) == kind) return kind;
  return MemoryKind::unknown;
}

// Where an object goes when it must leave a kind: the first other kind in the plan's order.
MemoryKind other_kind(const Placer& placer, const std::vector<MemoryKind>& kinds,
                      MemoryKind not_it) {
  for (const MemoryKind kind : kinds)
    if (kind != not_it)
      for (std::size_t tier = 0; tier < placer.tier_count(); ++tier)
        if (placer.kind_of_tier(tier) == kind) return kind;
  return MemoryKind::unknown;
}

void collect(const PlanPlacement& plan, Placer& placer, std::uint32_t region) {
  objects.count = 0;
  placer.for_each_block([&](const BlockInfo& info) {
    const bool may_move = info.large && !info.required && !info.locked && !info.split;
    if (!may_move || info.plan_entry == 0 || objects.count == k_most_objects) return;
    const std::uint32_t placed_by = info.plan_entry - 1;
    PlannedObject object;
    object.block = reinterpret_cast<const void*>(info.begin);
    object.committed = info.room;
    object.now = info.charged;
    object.entry = placed_by; // a move home belongs to that entry
    const PlanEntry* home =
        entry_for(plan, placed_by, info.plan_instance, FrameMatcher::k_none, object.entry);
    if (home != nullptr) object.home = first_present(placer, home->kinds);
    const PlanEntry* here = entry_for(plan, placed_by, info.plan_instance, region, object.entry);
    if (here != nullptr) {
      object.wanted = first_present(placer, here->kinds);
      object.benefit = here->benefit;
    }
    // An object without a home of its own goes to the next kind that its entries name.
    if (object.home == MemoryKind::unknown || object.home == object.now)
      object.home = other_kind(placer, plan.plan().entries[placed_by].kinds, object.now);
    objects.list[objects.count++] = object;
  });
}

void count_move(const RegionMove& move) {
  if (move.plan_entry >= k_most_entries) return;
  Totals& total = totals[move.plan_entry];
  total.moves.fetch_add(1, std::memory_order_relaxed);
  total.bytes.fetch_add(move.bytes, std::memory_order_relaxed);
  total.nanoseconds.fetch_add(static_cast<std::uint64_t>(move.seconds * 1e9),
                              std::memory_order_relaxed);
  if (total.first.load(std::memory_order_relaxed) == 0) total.first.store(move.at);
  total.last.store(move.at, std::memory_order_relaxed);
}

bool move(Placer& placer, PlannedObject& object, MemoryKind to, const void* codeptr,
          void (*moved)(const RegionMove&)) {
  RegionMove step;
  step.block = object.block;
  step.from = object.now;
  step.to = to;
  step.codeptr = codeptr;
  step.plan_entry = object.entry;
  step.at = monotonic_nanoseconds();
  std::uint64_t bytes = 0;
  const bool arrived = placer.move_block(object.block, to, bytes) == MoveResult::moved;
  step.seconds = static_cast<double>(monotonic_nanoseconds() - step.at) / 1e9;
  step.bytes = bytes;
  if (arrived) object.now = to;
  if (bytes != 0) {
    count_move(step);
    if (moved != nullptr) moved(step);
  }
  return arrived;
}

bool makes_room(const PlannedObject& object, MemoryKind kind, const PlannedObject& newcomer) {
  if (object.now != kind || object.block == newcomer.block) return false;
  const bool has_claim = object.wanted == kind && object.benefit >= newcomer.benefit;
  return !has_claim && object.home != MemoryKind::unknown && object.home != kind;
}

// Moves out objects that the region does not want there, least benefit first, until newcomer fits.
void make_room(Placer& placer, MemoryKind kind, const PlannedObject& newcomer, const void* codeptr,
               void (*moved)(const RegionMove&)) {
  for (std::size_t i = objects.count; i-- > 0 && placer.room(kind) < newcomer.committed;) {
    PlannedObject& object = objects.list[i];
    if (makes_room(object, kind, newcomer)) move(placer, object, object.home, codeptr, moved);
  }
}

// The newcomer changes places with objects that the region does not want there, in pieces, where
// neither can move first. True when it arrived.
bool exchange(Placer& placer, PlannedObject& newcomer, const void* codeptr,
              void (*moved)(const RegionMove&)) {
  const MemoryKind kind = newcomer.wanted;
  std::array<PlannedObject*, k_most_exchanged> of_block{&newcomer};
  std::array<Exchange, k_most_exchanged> blocks{};
  blocks[0].block = newcomer.block;
  blocks[0].kind = kind;
  std::size_t count = 1;
  std::uint64_t room = placer.room(kind), bytes = 0;
  for (std::size_t i = objects.count; i-- > 0 && room < newcomer.committed;) {
    PlannedObject& object = objects.list[i];
    if (count == k_most_exchanged || !makes_room(object, kind, newcomer)) continue;
    of_block[count] = &object;
    blocks[count].block = object.block;
    blocks[count++].kind = object.home;
    room += object.committed;
  }
  if (count == 1 || room < newcomer.committed) return false;
  const std::uint64_t begin = monotonic_nanoseconds();
  placer.exchange({blocks.data(), count});
  const double seconds = static_cast<double>(monotonic_nanoseconds() - begin) / 1e9;
  for (std::size_t i = 0; i < count; ++i)
    bytes += blocks[i].moved;
  for (std::size_t i = 0; i < count; ++i) {
    PlannedObject& object = *of_block[i];
    const RegionMove step{object.block,
                          blocks[i].moved,
                          object.now,
                          blocks[i].kind,
                          seconds * static_cast<double>(blocks[i].moved) /
                              static_cast<double>(std::max<std::uint64_t>(bytes, 1)),
                          begin,
                          codeptr,
                          object.entry};
    if (blocks[i].result == MoveResult::moved) object.now = blocks[i].kind;
    if (step.bytes == 0) continue;
    count_move(step);
    if (moved != nullptr) moved(step);
  }
  return blocks[0].result == MoveResult::moved;
}

struct Moves {
  bool any = false, all = true; // of those that the plan wants
};

// Moves objects to where the plan wants them for this region; k_none: home.
Moves move_for(const PlanPlacement& plan, Placer& placer, std::uint32_t region, const void* codeptr,
               void (*moved)(const RegionMove&)) {
  collect(plan, placer, region);
  // Greatest gain first; objects that the region does not name come last.
  std::sort(objects.list.begin(), objects.list.begin() + objects.count,
            [](const PlannedObject& a, const PlannedObject& b) { return a.benefit > b.benefit; });
  Moves moves;
  for (std::size_t i = 0; i < objects.count; ++i) {
    PlannedObject& object = objects.list[i];
    if (object.wanted == MemoryKind::unknown || object.wanted == object.now) continue;
    if (placer.room(object.wanted) < object.committed)
      make_room(placer, object.wanted, object, codeptr, moved);
    const bool has_room = placer.room(object.wanted) >= object.committed;
    // Room that only the runtime's own caches hold is found by moving.
    const bool arrived = (!has_room && exchange(placer, object, codeptr, moved)) ||
                         move(placer, object, object.wanted, codeptr, moved);
    moves.any = moves.any || arrived;
    moves.all = moves.all && arrived;
    if (!arrived && object.entry < k_most_entries)
      totals[object.entry].without_room.fetch_add(1, std::memory_order_relaxed);
  }
  return moves;
}

void say_that_moving_ends(const Rounds::Verdict& verdict) {
  constexpr double k_milliseconds = 1e-6;
  warn_once(
      Notice::moves_end,
      "Moving memory for parallel regions does not pay and ends: a round of them takes %.3g ms "
      "with its moves, %.3g ms without. Memory stays where the plan places it for all other "
      "regions.",
      verdict.with * k_milliseconds, verdict.without * k_milliseconds);
}

void begin_region(const PlanPlacement& plan, Placer& placer, std::uint32_t region,
                  const void* codeptr, void (*moved)(const RegionMove&)) {
  const bool other_region = region != last_region;
  const bool new_objects = plan.matched() != last_allocations;
  if (!other_region && !new_objects) return;
  last_region = region;
  last_allocations = plan.matched();
  const std::uint64_t now = monotonic_nanoseconds();
  if (other_region) {
    const bool paid = rounds.verdict().pays;
    moves_here = rounds.begin(region, now);
    if (paid && !rounds.verdict().pays) say_that_moving_ends(rounds.verdict());
  }
  if (!moves_here && all_at_home && !new_objects) return;
  const Moves moves =
      move_for(plan, placer, moves_here ? region : FrameMatcher::k_none, codeptr, moved);
  all_at_home = !moves_here && moves.all;
  if (moves.any) rounds.moved_for(monotonic_nanoseconds() - now);
}

} // namespace

void region_begins(const PlanPlacement& plan, Placer& placer, const void* codeptr,
                   void (*moved)(const RegionMove&)) {
  ReturnAddress stack[k_max_frames];
  const unsigned depth = std::clamp(plan.matcher().region_depth(), 1u, k_max_frames);
  const unsigned count = capture_stack(codeptr, stack, depth);
  const std::uint32_t region = plan.matcher().match_region(stack, count);
  if (region == FrameMatcher::k_none) return;
  if (moving.exchange(true, std::memory_order_acquire)) return;
  begin_region(plan, placer, region, codeptr, moved);
  moving.store(false, std::memory_order_release);
}

void end_region_moves_of_parent() {
  moving.store(false);
  last_region = FrameMatcher::k_none;
  rounds = {}; // may be half written
  moves_here = true;
}

Rounds::Verdict move_verdict() {
  if (moving.exchange(true, std::memory_order_acquire)) return {};
  const Rounds::Verdict verdict = rounds.verdict();
  moving.store(false, std::memory_order_release);
  return verdict;
}

MoveTotals move_totals(std::uint32_t plan_entry) {
  MoveTotals result;
  if (plan_entry >= k_most_entries) return result;
  const Totals& total = totals[plan_entry];
  result.moves = total.moves.load();
  result.bytes = total.bytes.load();
  result.nanoseconds = total.nanoseconds.load();
  result.first = total.first.load();
  result.last = total.last.load();
  result.without_room = total.without_room.load();
  return result;
}

} // namespace omptier
