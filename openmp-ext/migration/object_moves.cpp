// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// See object_moves.hpp.
#include "migration/object_moves.hpp"

#include "base/os.hpp"

#include <algorithm>

namespace omptier {
namespace {

const PlanEntry* entry_for(const PlanPlacement& plan, std::uint32_t placed_by,
                           std::uint32_t instance, std::uint32_t region, std::uint32_t& index) {
  for (const std::uint32_t entry : plan.matcher().entries(plan.site_of_entry(placed_by)))
    if (plan.matcher().region_of_entry(entry) == region && plan.covers(entry, instance)) {
      index = entry;
      return &plan.plan().entries[entry];
    }
  return nullptr;
}

// not_it: a kind that the object must leave.
MemoryKind first_present(const Placer& placer, const std::vector<MemoryKind>& kinds,
                         MemoryKind not_it = MemoryKind::unknown) {
  for (const MemoryKind kind : kinds)
    if (kind != not_it)
      for (std::size_t tier = 0; tier < placer.tier_count(); ++tier)
        if (placer.kind_of_tier(tier) == kind) return kind;
  return MemoryKind::unknown;
}

double seconds_since(std::uint64_t begin) {
  return static_cast<double>(monotonic_nanoseconds() - begin) / 1e9;
}

} // namespace

void ObjectMoves::collect(const PlanPlacement& plan, Placer& placer, std::uint32_t region) {
  count_ = 0;
  placer.for_each_block([&](const BlockInfo& info) {
    const bool may_move = info.large && !info.required && !info.locked && !info.split;
    if (!may_move || info.plan_entry == 0 || count_ == k_most_objects) return;
    const std::uint32_t placed_by = info.plan_entry - 1;
    Object object;
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
      object.home = first_present(placer, plan.plan().entries[placed_by].kinds, object.now);
    objects_[count_++] = object;
  });
}

void ObjectMoves::made(const ObjectMove& move) const {
  if (move.bytes != 0) report_->made(report_->context, move);
}

bool ObjectMoves::move(Placer& placer, Object& object, MemoryKind to) {
  ObjectMove step{object.block, 0, object.now, to, 0, monotonic_nanoseconds(), object.entry};
  std::uint64_t bytes = 0;
  const bool arrived = placer.move_block(object.block, to, bytes) == MoveResult::moved;
  step.seconds = seconds_since(step.at);
  step.bytes = bytes;
  if (arrived) object.now = to;
  made(step);
  return arrived;
}

bool ObjectMoves::makes_room(const Object& object, MemoryKind kind, const Object& newcomer) {
  if (object.now != kind || object.block == newcomer.block) return false;
  const bool has_claim = object.wanted == kind && object.benefit >= newcomer.benefit;
  return !has_claim && object.home != MemoryKind::unknown && object.home != kind;
}

// Moves out objects that the region does not want there, least benefit first, until newcomer fits.
void ObjectMoves::make_room(Placer& placer, MemoryKind kind, const Object& newcomer) {
  for (std::size_t i = count_; i-- > 0 && placer.room(kind) < newcomer.committed && !stops();)
    if (makes_room(objects_[i], kind, newcomer)) move(placer, objects_[i], objects_[i].home);
}

// The newcomer changes places with objects that the region does not want there, in pieces, where
// neither can move first. True when it arrived.
bool ObjectMoves::exchange(Placer& placer, Object& newcomer) {
  const MemoryKind kind = newcomer.wanted;
  std::array<Object*, k_most_exchanged> of_block{&newcomer};
  std::array<Exchange, k_most_exchanged> blocks{};
  blocks[0].block = newcomer.block;
  blocks[0].kind = kind;
  std::size_t count = 1;
  std::uint64_t room = placer.room(kind), bytes = 0;
  for (std::size_t i = count_; i-- > 0 && room < newcomer.committed;) {
    Object& object = objects_[i];
    if (count == k_most_exchanged || !makes_room(object, kind, newcomer)) continue;
    of_block[count] = &object;
    blocks[count].block = object.block;
    blocks[count++].kind = object.home;
    room += object.committed;
  }
  if (count == 1 || room < newcomer.committed) return false;
  const std::uint64_t begin = monotonic_nanoseconds();
  placer.exchange({blocks.data(), count});
  const double seconds = seconds_since(begin);
  for (std::size_t i = 0; i < count; ++i)
    bytes += blocks[i].moved;
  for (std::size_t i = 0; i < count; ++i) {
    Object& object = *of_block[i];
    const double part = static_cast<double>(blocks[i].moved) /
                        static_cast<double>(std::max<std::uint64_t>(bytes, 1));
    made({object.block, blocks[i].moved, object.now, blocks[i].kind, seconds * part, begin,
          object.entry});
    if (blocks[i].result == MoveResult::moved) object.now = blocks[i].kind;
  }
  return blocks[0].result == MoveResult::moved;
}

bool ObjectMoves::are_placed(const PlanPlacement& plan, Placer& placer, std::uint32_t region) {
  refused_count_ = 0;
  collect(plan, placer, region);
  return std::none_of(objects_.begin(), objects_.begin() + count_,
                      [](const Object& object) { return object.is_away(); });
}

ObjectMoves::Outcome ObjectMoves::move_for(const PlanPlacement& plan, Placer& placer,
                                           std::uint32_t region, const MoveReport& report,
                                           const std::atomic<bool>* stop) {
  refused_count_ = 0;
  report_ = &report;
  stop_ = stop;
  collect(plan, placer, region);
  // Greatest gain first; objects that the region does not name come last.
  std::sort(objects_.begin(), objects_.begin() + count_,
            [](const Object& a, const Object& b) { return a.benefit > b.benefit; });
  Outcome outcome;
  for (std::size_t i = 0; i < count_ && !stops(); ++i) {
    Object& object = objects_[i];
    if (!object.is_away()) continue;
    outcome.tried = true;
    if (placer.room(object.wanted) < object.committed) make_room(placer, object.wanted, object);
    if (stops()) break;
    const bool has_room = placer.room(object.wanted) >= object.committed;
    // Room that only the runtime's own caches hold is found by moving.
    const bool arrived =
        (!has_room && exchange(placer, object)) || move(placer, object, object.wanted);
    outcome.any = outcome.any || arrived;
    outcome.all = outcome.all && arrived;
    if (!arrived) refused_[refused_count_++] = object.entry;
  }
  return outcome;
}

} // namespace omptier
