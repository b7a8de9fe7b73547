// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A declaration has an allocator of its own in the table that ends with its block: so the block
// keeps its traits, is counted and reported like any other, and can be freed with omp_free.
#include "allocators/declarations.hpp"

#include "allocators/init_allocator.hpp"
#include "base/leaky.hpp"
#include "base/notices.hpp"
#include "base/page_array.hpp"

#include <atomic>
#include <cstring>
#include <dlfcn.h>

namespace omptier {
namespace {

struct Declaration {
  void** pointer;
  std::size_t bytes;
  Allocator* allocator;
  const void* caller;
  void* block; // during a commit
  bool done;   // during a commit: no further attempt needed
};

// One call at a time. Not held during a fork: a commit allocates, which may wait for libomp, and
// libomp's own locks are held during a fork.
constinit std::mutex deciding;
constinit std::mutex lock; // of the lists, during a fork too

// A commit works on its list without the lock. It empties that list as it sets the pointers, under
// the lock, so a child of a fork finds all declarations or none.
struct Lists {
  PageArray<Declaration> declared;
  PageArray<Declaration> in_commit; // declared is empty then
};
Leaky<Lists> list_storage;
Lists* lists_made = nullptr;
// The caller holds the lock.
Lists& lists() {
  if (lists_made == nullptr) lists_made = &list_storage.make();
  return *lists_made;
}

// omp_free must free the blocks, so the runtime must be ours. Its first call loads this library.
bool runtime_is_ours() {
  Runtime& state = runtime();
  if (state.libomp.load(std::memory_order_acquire) != nullptr) return true;
  using Query = int (*)();
  if (const auto query = reinterpret_cast<Query>(::dlsym(RTLD_DEFAULT, "omp_get_max_threads")))
    query();
  return state.libomp.load(std::memory_order_acquire) != nullptr;
}

void give_back(Declaration& declaration) {
  void* block = declaration.block;
  declaration.block = nullptr;
  declaration.done = false;
  if (block == nullptr || release(block)) return;
  stock_released(block);
  runtime().libomp.load(std::memory_order_acquire)->stock_free(block);
}

// One attempt decides on the unfinished declarations with the present room, then allocates in order
// of declaration. If some members of a group missed the group's tier, because kernel or ledger gave
// less than expected, they are freed and tried again without that tier.
class Commit {
public:
  Commit(Placer* placer, DecisionOrder order, std::span<Declaration> set)
      : placer_(placer), order_(order), set_(set) {}

  bool run() {
    if (!wishes_.resize(set_.size(), Wish{})) return false;
    const std::size_t attempts = placer_ != nullptr ? placer_->tier_count() + 1 : 1;
    if (!forbidden_.resize(set_.size(), 0)) return false;
    for (std::size_t attempt = 0; attempt < attempts; ++attempt) {
      // In later attempts some blocks exist: if memory for lists is refused, traits place the rest.
      if (!decide() && attempt == 0) return false;
      allocate_all();
      if (attempt + 1 == attempts || !split_groups()) break;
    }
    return true;
  }

  void count(Outcome& outcome) const {
    for (std::size_t i = 0; i < set_.size(); ++i) {
      const std::uint8_t tier = tier_of_block(i);
      ++outcome.considered;
      if (set_[i].block == nullptr)
        ++outcome.failed;
      else if (tier == k_nowhere)
        set_[i].allocator->space == Space::standard_default ? ++outcome.as_wished
                                                            : ++outcome.fallback;
      else if (tier == wished_[i])
        ++outcome.as_wished;
      else
        ++outcome.next_best;
    }
  }

private:
  // Puts the wishes of unfinished declarations at the front of wishes_, in the order of the set.
  bool decide() {
    if (placer_ == nullptr) return true;
    const TierRoom room = room_now(*placer_);
    std::size_t count = 0;
    for (std::size_t i = 0; i < set_.size(); ++i) {
      if (set_[i].done) continue;
      Allocator& allocator = *set_[i].allocator;
      allocator.decided_tier = k_undecided;
      Wish& wish = wishes_[count++] = {};
      wish.bytes = set_[i].bytes;
      wish.traits = &allocator.traits;
      wish.allowed = allocator.space == Space::standard_default
                         ? 0
                         : allowed_tiers(*placer_, allocator) & ~forbidden_[i];
      wish.mandatory = allocator.required();
      wish.group = allocator.traits.group;
    }
    if (!decide_together(placed_tiers(*placer_), {wishes_.begin(), count}, room, order_))
      return false;
    if (wished_.empty() && !wished_.resize(set_.size(), k_nowhere)) return false;
    const bool first = count == set_.size();
    for (std::size_t i = 0, w = 0; i < set_.size(); ++i) {
      if (set_[i].done) continue;
      if (first) wished_[i] = wishes_[w].wished;
      set_[i].allocator->decided_tier = wishes_[w++].decided;
    }
    return true;
  }

  void allocate_all() {
    for (Declaration& declaration : set_) {
      if (declaration.done) continue;
      declaration.block = nullptr;
      declaration.done = true;
      allocate({declaration.bytes, 0, declaration.allocator->handle, false, declaration.caller},
               &declaration.block);
    }
  }

  std::uint8_t tier_of_block(std::size_t i) const {
    BlockInfo info;
    const void* block = set_[i].block;
    if (placer_ == nullptr || block == nullptr || !placer_->find(block, true, info))
      return k_nowhere;
    return tier_of(*placer_, info);
  }
  bool is_by_plan(std::size_t i) const {
    BlockInfo info;
    if (placer_ == nullptr || !placer_->find(set_[i].block, true, info) || !info.large)
      return false;
    return info.reason == PlacementReason::plan || info.reason == PlacementReason::strategy;
  }

  bool split_groups() {
    bool again = false;
    for (std::size_t i = 0; i < set_.size(); ++i) {
      const OmpValue group = set_[i].allocator->traits.group;
      const std::uint8_t tier = set_[i].allocator->decided_tier;
      if (group == 0 || tier == k_undecided || !set_[i].done || tier_of_block(i) == tier ||
          is_by_plan(i))
        continue;
      for (std::size_t j = 0; j < set_.size(); ++j)
        if (set_[j].allocator->traits.group == group && set_[j].done) {
          give_back(set_[j]);
          forbidden_[j] |= std::uint32_t{1} << tier;
          again = true;
        }
    }
    return again;
  }

  Placer* placer_;
  DecisionOrder order_;
  std::span<Declaration> set_;
  PageArray<Wish> wishes_;
  PageArray<std::uint32_t> forbidden_; // tiers, one bit each
  PageArray<std::uint8_t> wished_;
};

// The list to commit.
PageArray<Declaration>& take_declared() {
  const std::lock_guard guard(lock);
  lists().in_commit.swap(lists().declared);
  return lists().in_commit;
}
void put_back_declared() {
  const std::lock_guard guard(lock);
  lists().in_commit.swap(lists().declared);
}

// 0 when that is not known.
std::uint32_t allocator_of(Placer* placer, const void* block) {
  if (block == nullptr) return k_no_allocator;
  if (placer != nullptr && placer->holds(block)) return placer->held(block).allocator;
  StockBlock stock;
  return runtime().stock_blocks.find_exact(block, stock) ? stock.allocator : k_no_allocator;
}

// The allocator ends with the block. A block that a fallback allocator served stays that one's and
// in its pool, as a block of omp_alloc; the declaration's allocator then has none.
void adopt(Placer* placer, const Declaration& declaration) {
  Allocator& own = *declaration.allocator;
  if (allocator_of(placer, declaration.block) != own.number) {
    runtime().allocators.destroy(own.handle);
    return;
  }
  own.blocks.store(1, std::memory_order_relaxed);
  own.of_one_block = true;
  if (placer != nullptr) placer->reassign(declaration.block, own.number, true); // now watched
}

void hand_out(Placer* placer, PageArray<Declaration>& set) {
  const std::lock_guard guard(lock);
  for (const Declaration& declaration : set) {
    adopt(placer, declaration);
    // Last, because another thread may wait for the pointer and free the block at once.
    std::atomic_ref(*declaration.pointer).store(declaration.block, std::memory_order_release);
  }
  set.release();
}

} // namespace

Result declare(void** pointer, std::size_t bytes, OmpValue number,
               std::span<const TraitPair> traits, const void* caller) {
  if (pointer == nullptr || bytes == 0) return Result::invalid_argument;
  Space space = Space::standard_default;
  TraitSet set;
  TraitProblem problem;
  if (!read_allocator(number, traits, space, set, problem)) {
    problem.warn_that("the declaration is refused", number);
    return Result::bad_traits;
  }
  const std::scoped_lock guard(deciding, lock);
  PageArray<Declaration>& others = lists().declared;
  for (const Declaration& other : others)
    if (other.pointer == pointer) return Result::invalid_argument;
  Allocator* allocator = runtime().allocators.make(space, set, false);
  if (allocator == nullptr) return Result::out_of_memory;
  if (!others.add({pointer, bytes, allocator, caller, nullptr, false})) {
    runtime().allocators.destroy(allocator->handle);
    return Result::out_of_memory;
  }
  *pointer = nullptr;
  return Result::success;
}

Result withdraw(void** pointer) {
  const std::scoped_lock guard(deciding, lock);
  PageArray<Declaration>& set = lists().declared;
  for (std::size_t i = 0; i < set.size(); ++i)
    if (set[i].pointer == pointer) {
      runtime().allocators.destroy(set[i].allocator->handle);
      set.remove(i);
      return Result::success;
    }
  return Result::not_found;
}

Result commit(DecisionOrder order, Outcome& outcome) {
  if (!runtime_is_ours()) return Result::no_runtime;
  const std::lock_guard guard(deciding);
  PageArray<Declaration>& set = take_declared();
  if (set.empty()) return Result::success;
  for (Declaration& declaration : set)
    give_back(declaration); // what a commit had taken that this child of a fork cut off
  Placer* placer = runtime().placer();
  Commit attempt(placer, order, set.all());
  if (!attempt.run()) {
    put_back_declared();
    return Result::out_of_memory;
  }
  attempt.count(outcome);
  hand_out(placer, set);
  return outcome.as_wished == outcome.considered ? Result::success : Result::incomplete;
}

std::mutex& deciding_lock() {
  return deciding;
}
void lock_declarations() {
  lock.lock();
}
void unlock_declarations() {
  lock.unlock();
}
void cut_off_commit() {
  new (&deciding) std::mutex;
  if (lists_made != nullptr && !lists_made->in_commit.empty())
    lists_made->in_commit.swap(lists_made->declared);
}

} // namespace omptier
