// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Objects of our own tables, in pages of our own, so that nothing on an allocation path calls the
// program's malloc: allocated one at a time, recycled through a free list, never returned to the
// system. Not thread-safe: the owner's lock protects it.
#pragma once

#include "base/page_arena.hpp"

#include <new>
#include <type_traits>

namespace omptier {

template <typename T> class ObjectPool {
  static_assert(std::is_trivially_destructible_v<T>);
  union Slot {
    Slot* next;
    alignas(T) char object[sizeof(T)];
  };

public:
  // Null when the kernel refuses memory.
  T* make() {
    Slot* slot = free_;
    if (slot != nullptr)
      free_ = slot->next;
    else
      slot = static_cast<Slot*>(arena_.take(sizeof(Slot)));
    return slot != nullptr ? new (slot) T() : nullptr;
  }
  void drop(T* object) {
    auto* slot = reinterpret_cast<Slot*>(object);
    slot->next = free_;
    free_ = slot;
  }

private:
  PageArena arena_;
  Slot* free_ = nullptr;
};

} // namespace omptier
