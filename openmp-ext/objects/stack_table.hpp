// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Numbers call stacks: equal return addresses get the same number, from 0 in order of first
// occurrence. Open addressing in pages of its own, doubled when half full; no malloc. The caller's
// lock protects it. Addresses are valid only while the same modules lie there: after the list of
// modules has changed, a stack is recognised if its modules are the same as before, so libraries
// that come and go do not change the numbers of other stacks.
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

  // Number of a known stack, else k_full.
  std::uint32_t known(const ReturnAddress* stack, unsigned count) {
    if (capacity_ == 0) return k_full;
    const Slot* slot = find(hash_of(stack, count), stack, count);
    return slot->stack != nullptr ? slot->number : k_full;
  }

  // fresh: whether it is new. k_full when memory is refused.
  std::uint32_t number_of(const ReturnAddress* stack, unsigned count, bool& fresh) {
    fresh = false;
    if (2 * (used_ + 1) > capacity_ && !grow()) return k_full;
    const std::uint64_t hash = hash_of(stack, count);
    Slot* slot = find(hash, stack, count);
    if (slot->stack != nullptr) return slot->number;
    auto* copy = arena_.take_array<ReturnAddress>(count);
    if (copy == nullptr) return k_full;
    std::memcpy(copy, stack, count * sizeof *stack);
    const std::uint32_t generation = module_generation(); // before the modules are looked up
    *slot = {copy, hash, next_number_++, count, generation, modules_of(stack, count)};
    ++used_;
    fresh = true;
    return slot->number;
  }

  // Numbers start again from 0 (for a new log in a forked child).
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
    std::uint32_t generation; // of the module list when the entry was last verified
    std::uint32_t modules;    // a hash of the modules' identities and places
  };

  static std::uint64_t hash_of(const ReturnAddress* stack, unsigned count) {
    std::uint64_t hash = count;
    for (unsigned i = 0; i < count; ++i) {
      hash = (hash ^ stack[i]) * 0x9e3779b97f4a7c15u;
      hash ^= hash >> 29;
    }
    return hash;
  }

  static std::uint32_t modules_of(const ReturnAddress* stack, unsigned count) {
    std::uint64_t hash = 0;
    const LoadedModule* last = nullptr;
    for (unsigned i = 0; i < count; ++i) {
      const LoadedModule* module = known_module_of(stack[i]);
      if (module == last || module == nullptr) continue;
      last = module;
      hash = hash_bytes(hash + module->bias, module->identity,
                        module->is_identified() ? std::strlen(module->identity) : 0);
    }
    return static_cast<std::uint32_t>(hash ^ hash >> 32);
  }

  // Or the empty slot where the stack belongs.
  Slot* find(std::uint64_t hash, const ReturnAddress* stack, unsigned count) {
    const std::uint32_t generation = module_generation();
    std::size_t at = hash & (capacity_ - 1);
    for (;; at = (at + 1) & (capacity_ - 1)) {
      Slot& slot = slots_[at];
      if (slot.stack == nullptr) return &slot;
      if (slot.hash != hash || slot.count != count ||
          std::memcmp(slot.stack, stack, count * sizeof *stack) != 0)
        continue;
      if (slot.generation == generation) return &slot;
      if (slot.modules != modules_of(stack, count)) continue; // other libraries were loaded there
      slot.generation = generation;
      return &slot;
    }
  }

  Slot* empty_for(std::uint64_t hash) {
    std::size_t at = hash & (capacity_ - 1);
    while (slots_[at].stack != nullptr)
      at = (at + 1) & (capacity_ - 1);
    return &slots_[at];
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
      if (old[i].stack != nullptr) *empty_for(old[i].hash) = old[i];
    if (old != nullptr) unmap_pages(old, old_capacity * sizeof(Slot));
    return true;
  }

  Slot* slots_ = nullptr;
  std::size_t capacity_ = 0, used_ = 0;
  std::uint32_t next_number_ = 0;
  PageArena arena_;
};

} // namespace omptier
