// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Changes traits of live blocks, and moves live blocks according to their present traits. Only
// large blocks whose allocator has traits of ours can move, unless they are required in one kind,
// pinned, migratable=false or placed by a plan. Moves out of a tier come before moves into it;
// blocks of full tiers then change places in pieces (Placer::exchange).
#include "allocators/allocation.hpp"
#include "allocators/declarations.hpp"
#include "allocators/init_allocator.hpp"

#include "base/notices.hpp"
#include "base/page_array.hpp"

#include <cstring>

namespace omptier {
namespace {

struct Movable {
  void* block;
  std::size_t bytes;
  Allocator* allocator;
  std::size_t committed; // whole pages
};

Result merge(const Allocator& allocator, std::span<const TraitPair> traits, TraitSet& merged) {
  merged = allocator.traits;
  for (const TraitPair& trait : traits) {
    const KeyInfo* key = find_key(trait.key);
    if (key != nullptr && (!is_extended(key->key) || key->key == TraitKey::placement))
      return Result::fixed_trait;
  }
  Space space = allocator.space;
  TraitProblem problem;
  if (read_allocator(static_cast<OmpValue>(allocator.space), traits, space, merged, problem))
    return Result::success;
  problem.warn_that("the traits are left as they are",
                    static_cast<OmpValue>(allocator.space));
  return Result::bad_traits;
}

bool list_movable(Placer& placer, PageArray<Movable>& list) {
  bool complete = true;
  placer.for_each_block([&](const BlockInfo& info) {
    if (!info.large) return;
    Allocator* allocator = runtime().allocators.by_number(info.allocator);
    if (allocator == nullptr || !allocator->traits.extended || allocator->traits.stationary) return;
    if (info.required || info.locked || info.split || info.plan_entry != 0) return;
    void* block = reinterpret_cast<void*>(info.begin);
    complete = list.add({block, info.bytes, allocator, info.room}) && complete;
  });
  return complete;
}

class Apply {
public:
  Apply(Placer& placer, DecisionOrder order) : placer_(placer), order_(order) {}

  bool decide() {
    if (!list_movable(placer_, list_) || !wishes_.resize(list_.size(), Wish{})) return false;
    if (!live_.resize(AllocatorTable::k_entries, std::uint64_t{0})) return false;
    placer_.for_each_block([&](const BlockInfo& info) { live_[info.allocator] += info.bytes; });
    TierRoom room = room_now(placer_);
    for (std::size_t i = 0; i < list_.size(); ++i) {
      const Movable& movable = list_[i];
      Allocator& allocator = *movable.allocator;
      const std::uint64_t live = live_[allocator.number];
      Wish& wish = wishes_[i];
      wish.bytes = movable.bytes;
      wish.traits = &allocator.traits;
      wish.share = live > movable.bytes ? static_cast<double>(movable.bytes) / live : 1;
      wish.allowed = allowed_tiers(placer_, allocator);
      wish.group = allocator.traits.group;
      BlockInfo info;
      if (placer_.find(movable.block, true, info)) wish.now = tier_of(placer_, info);
      if (wish.now == k_nowhere) continue;
      wish.allowed |= std::uint32_t{1} << wish.now;
      // Room that the block occupies is available to itself and to others.
      room[wish.now] = sum_of_bytes(room[wish.now], movable.committed);
    }
    return decide_together(placed_tiers(placer_), wishes_.all(), room, order_);
  }

  // Repeated until nothing moves any more; moves to slower tiers first.
  void move() {
    for (bool progress = true; progress;) {
      progress = false;
      for (const bool down : {true, false})
        for (std::size_t i = 0; i < list_.size(); ++i)
          if (wants_to_move(i) && (wishes_[i].decided > wishes_[i].now) == down)
            progress = move_one(i, wishes_[i].decided) || progress;
    }
    exchange();
    rejoin_groups();
  }

  void count(Outcome& outcome) const {
    for (std::size_t i = 0; i < list_.size(); ++i) {
      ++outcome.considered;
      ++(wishes_[i].now == wishes_[i].wished ? outcome.as_wished : outcome.next_best);
    }
    outcome.bytes_moved = moved_;
  }
  // A block that had to move did not, although there was room.
  bool refused() const { return refused_; }

private:
  bool wants_to_move(std::size_t i) const {
    const Wish& wish = wishes_[i];
    return wish.now != k_nowhere && wish.decided != k_nowhere && wish.now != wish.decided;
  }

  // Freed, and perhaps reused by now?
  bool is_still_there(std::size_t i, BlockInfo& info) {
    const bool there = placer_.find(list_[i].block, true, info) && info.large &&
                       runtime().allocators.by_number(info.allocator) == list_[i].allocator;
    if (!there) wishes_[i].now = k_nowhere;
    return there;
  }

  void has_arrived(std::size_t i, std::uint8_t tier) {
    wishes_[i].now = tier;
    list_[i].allocator->decided_tier = list_[i].allocator->of_one_block ? tier : k_undecided;
  }

  // What is left waits for room that only its own moves make.
  void exchange() {
    PageArray<Exchange> blocks;
    PageArray<std::uint32_t> of_block;
    for (std::size_t i = 0; i < list_.size(); ++i) {
      BlockInfo info;
      if (!wants_to_move(i) || !is_still_there(i, info)) continue;
      Exchange one;
      one.block = list_[i].block;
      one.kind = placer_.kind_of_tier(wishes_[i].decided);
      if (!of_block.add(static_cast<std::uint32_t>(i)) || !blocks.add(one)) return;
    }
    if (blocks.size() < 2) return;
    placer_.exchange(blocks.all());
    for (std::size_t k = 0; k < blocks.size(); ++k) {
      moved_ += blocks[k].moved;
      if (blocks[k].result == MoveResult::moved)
        has_arrived(of_block[k], wishes_[of_block[k]].decided);
      else if (blocks[k].result != MoveResult::no_room)
        refused_ = true;
    }
  }

  bool move_one(std::size_t i, std::uint8_t tier) {
    BlockInfo info;
    if (!is_still_there(i, info)) return false;
    const bool has_room = placer_.room_on(tier) >= info.room;
    std::uint64_t moved = 0;
    const bool arrived = placer_.move_block(list_[i].block, placer_.kind_of_tier(tier), moved) ==
                         MoveResult::moved;
    moved_ += moved;
    if (!arrived) refused_ = refused_ || has_room;
    if (arrived) has_arrived(i, tier);
    return arrived;
  }

  // If part of a group could not follow, the whole group goes back to where that part is.
  void rejoin_groups() {
    for (std::size_t i = 0; i < list_.size(); ++i) {
      if (wishes_[i].group == 0 || !wants_to_move(i)) continue;
      for (std::size_t j = 0; j < list_.size(); ++j)
        if (wishes_[j].group == wishes_[i].group && wishes_[j].now == wishes_[j].decided)
          move_one(j, wishes_[i].now);
    }
  }

  Placer& placer_;
  DecisionOrder order_;
  PageArray<Movable> list_;
  PageArray<Wish> wishes_;
  PageArray<std::uint64_t> live_; // user bytes by number of allocator
  std::size_t moved_ = 0;
  bool refused_ = false;
};

} // namespace

Result update_allocator(OmpValue handle, std::span<const TraitPair> traits) {
  Allocator* allocator = runtime().allocators.find(handle);
  if (allocator == nullptr || allocator->predefined) return Result::not_found;
  const std::lock_guard deciding(deciding_lock());
  lock_declarations(); // a child of a fork finds all changes or none
  TraitSet merged;
  const Result result = merge(*allocator, traits, merged);
  if (result == Result::success) {
    allocator->traits.change_to(merged);
    runtime().allocators.forget_routes(*allocator);
  }
  unlock_declarations();
  return result;
}

Result update_block(void* block, std::span<const TraitPair> traits) {
  Runtime& state = runtime();
  Placer* placer = state.placer_if_ready();
  BlockInfo info;
  if (block == nullptr || placer == nullptr || !placer->find(block, true, info))
    return Result::not_found;
  Allocator* owner = state.allocators.by_number(info.allocator);
  if (owner != nullptr && owner->of_one_block && owner->live.load())
    return update_allocator(owner->handle, traits);
  // Its allocator has other blocks too, so the block gets one of its own.
  Allocator* own = state.allocators.make(owner != nullptr ? owner->space : Space::automatic,
                                         owner != nullptr ? owner->traits : TraitSet(), false);
  if (own == nullptr) return Result::out_of_memory;
  TraitSet merged;
  const Result result = merge(*own, traits, merged);
  if (result != Result::success) {
    state.allocators.destroy(own->handle);
    return result;
  }
  merged.pool_size = k_default_value;
  own->traits = merged;
  own->traits.extended = true;
  own->of_one_block = true;
  own->has_allocated.store(true, std::memory_order_relaxed);
  own->blocks.store(1, std::memory_order_relaxed);
  placer->reassign(block, own->number, true);
  if (owner != nullptr) uncharge_pool(*owner, info.bytes);
  return Result::success;
}

Result apply(DecisionOrder order, Outcome& outcome) {
  Placer* placer = runtime().placer_if_ready();
  if (placer == nullptr) return Result::success; // nothing of ours lives
  std::unique_lock deciding(deciding_lock());
  Apply attempt(*placer, order);
  const bool decided = attempt.decide();
  if (decided) attempt.move();
  deciding.unlock();
  if (!decided) return Result::out_of_memory;
  attempt.count(outcome);
  if (outcome.as_wished == outcome.considered) return Result::success;
  return attempt.refused() && outcome.bytes_moved == 0 ? Result::moves_refused : Result::incomplete;
}

} // namespace omptier
