// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Numbers call stacks: the same return addresses get the same number, from 0 in the order in which
// they are first met. Open addressing in pages of its own, doubled when half full; no malloc. The
// caller's lock covers it. Addresses mean something only until a module is unloaded: the table
// starts its look-ups anew (numbers go on) when the modules have changed.
#pragma once

#include "base/page_arena.hpp"
#include "objects/modules.hpp"
#include "objects/site.hpp"

#include <cstdint>
#include <cstring>

namespace omptier {

class StackTable {
public:
  static constexpr std::uint32_t k_full = ~std::uint32_t{0};

  // Of a stack that is known, else k_full.
  std::uint32_t known(const ReturnAddress* stack, unsigned count) {
    if (capacity_ == 0 || generation_ != module_generation()) return k_full;
    const Slot* slot = find(hash_of(stack, count), stack, count);
    return slot->stack != nullptr ? slot->number : k_full;
  }

  // The stack's number; fresh tells whether it is new. k_full when memory is refused.
  std::uint32_t number_of(const ReturnAddress* stack, unsigned count, bool& fresh) {
    fresh = false;
    if (generation_ != module_generation()) {
      generation_ = module_generation();
      if (slots_ != nullptr) std::memset(slots_, 0, capacity_ * sizeof(Slot));
      used_ = 0;
    }
    if (2 * (used_ + 1) > capacity_ && !grow()) return k_full;
    const std::uint64_t hash = hash_of(stack, count);
    Slot* slot = find(hash, stack, count);
    if (slot->stack != nullptr) return slot->number;
    auto* copy = arena_.take_array<ReturnAddress>(count);
    if (copy == nullptr) return k_full;
    std::memcpy(copy, stack, count * sizeof *stack);
    *slot = {copy, hash, next_number_++, count};
    ++used_;
    fresh = true;
    return slot->number;
  }

  // Numbers start again from 0 (a new log in a forked child).
  void restart() {
    if (slots_ != nullptr) std::memset(slots_, 0, capacity_ * sizeof(Slot));
    used_ = 0;
    next_number_ = 0;
  }

  std::uint32_t count() const { return next_number_; }

private:
  struct Slot {
    const ReturnAddress* stack; // null = empty
    std::uint64_t hash;
    std::uint32_t number;
    std::uint32_t count;
  };

  static std::uint64_t hash_of(const ReturnAddress* stack, unsigned count) {
    std::uint64_t hash = count;
    for (unsigned i = 0; i < count; ++i) {
      hash = (hash ^ stack[i]) * 0x9e3779b97f4a7c15u;
      hash ^= hash >> 29;
    }
    return hash;
  }

  Slot* find(std::uint64_t hash, const ReturnAddress* stack, unsigned count) {
    std::size_t at = hash & (capacity_ - 1);
    for (;; at = (at + 1) & (capacity_ - 1)) {
      Slot& slot = slots_[at];
      if (slot.stack == nullptr) return &slot;
      if (slot.hash == hash && slot.count == count &&
          std::memcmp(slot.stack, stack, count * sizeof *stack) == 0)
        return &slot;
    }
  }

  bool grow() {
    const std::size_t capacity = capacity_ == 0 ? 256 : 2 * capacity_;
    auto* slots = static_cast<Slot*>(map_pages(capacity * sizeof(Slot)));
    if (slots == nullptr) return false;
    Slot* old = slots_;
    const std::size_t old_capacity = capacity_;
    slots_ = slots;
    capacity_ = capacity;
    for (std::size_t i = 0; i < old_capacity; ++i)
      if (old[i].stack != nullptr) *find(old[i].hash, old[i].stack, old[i].count) = old[i];
    if (old != nullptr) unmap_pages(old, old_capacity * sizeof(Slot));
    return true;
  }

  Slot* slots_ = nullptr;
  std::size_t capacity_ = 0, used_ = 0;
  std::uint32_t next_number_ = 0;
  std::uint32_t generation_ = 0;
  PageArena arena_;
};

} // namespace omptier
