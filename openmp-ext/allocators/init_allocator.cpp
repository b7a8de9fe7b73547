// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// omp_init_allocator: which calls are ours, and which are refused.
#include "allocators/init_allocator.hpp"

#include "base/notices.hpp"

#include <algorithm>

namespace omptier {
namespace {

// Spaces and allocators that only libomp defines (device memory).
bool is_device_number(OmpValue number) {
  return number >= 100 && number <= 102;
}

// Ours, predefined, or (from 1024 on) a pointer of libomp's, which only libomp can check.
bool may_be_allocator(OmpValue value) {
  AllocatorTable& allocators = runtime().allocators;
  if (allocators.made_here(value)) return allocators.find(value) != nullptr;
  return allocators.find(value) != nullptr || value == 1 || is_device_number(value) || value > 1024;
}

// For the default space with these traits libomp conforms to the specification, so the memory stays
// libomp's. libomp aborts at bad values and at omp_atv_default, ignores pinned, partition and the
// scopes of a pool, and accepts no allocator of ours.
bool libomp_serves(std::span<const TraitPair> traits) {
  bool pool = false, narrow = false, to_allocator = false, allocator = false;
  for (const TraitPair& trait : traits) {
    if (trait.value == k_default_value || !is_valid_trait(trait, may_be_allocator)) return false;
    switch (static_cast<TraitKey>(trait.key)) {
    case TraitKey::sync_hint:
    case TraitKey::alignment:
      break;
    case TraitKey::access:
      narrow = !value::is_everybody(trait.value);
      break;
    case TraitKey::pool_size:
      pool = true;
      break;
    case TraitKey::fallback:
      to_allocator = trait.value == value::allocator_fb;
      break;
    case TraitKey::fb_data:
      if (runtime().allocators.find(trait.value) != nullptr) return false;
      allocator = true;
      break;
    case TraitKey::pinned:
      if (trait.value == value::yes) return false;
      break;
    case TraitKey::partition:
      if (trait.value != value::environment) return false;
      break;
    default:
      return false;
    }
  }
  return !(pool && narrow) && !(to_allocator && !allocator);
}

// Directly or through others. Handles are reused after their allocator was destroyed, so a fallback
// may name another allocator by now.
bool falls_back_on_itself(const Allocator& allocator) {
  const Allocator* at = &allocator;
  for (;;) { // ends unless this allocator closes a circle: older ones were refused if they did
    if (at->traits.fallback != value::allocator_fb) return false;
    at = runtime().allocators.find(at->traits.fallback_allocator);
    if (at == nullptr) return false;
    if (at == &allocator) return true;
  }
}

} // namespace

bool read_allocator(OmpValue number, std::span<const TraitPair> traits, Space& space, TraitSet& set,
                    TraitProblem& problem) {
  const auto known = space_of_number(number);
  if (!known)
    return problem.set(Notice::unknown_memory_space, "Unknown memory space %llu",
                       static_cast<unsigned long long>(number));
  space = *known;
  return read_traits(space, traits, may_be_allocator, set, problem);
}

bool concerns_us(OmpValue number, std::span<const TraitPair> traits) {
  if (space_of_number(number) == Space::standard_default) return !libomp_serves(traits);
  if (!is_device_number(number)) return true;
  return std::any_of(traits.begin(), traits.end(), [](const TraitPair& trait) {
    const KeyInfo* key = find_key(trait.key);
    return key == nullptr || is_extended(key->key);
  });
}

void make_allocator(OmpValue number, std::span<const TraitPair> traits, OmpValue* handle) {
  *handle = k_null_allocator;
  Space space = Space::standard_default;
  TraitSet set;
  TraitProblem problem;
  if (!read_allocator(number, traits, space, set, problem))
    return problem.warn_that("the null allocator is returned", number);
  const Allocator* allocator =
      runtime().allocators.make(space, set, !is_extended(space) && !set.extended);
  if (allocator == nullptr) {
    warn_once(Notice::allocators_used_up,
              "There is no room for another allocator (%u can exist at a time): the null allocator is "
              "returned.",
              AllocatorTable::k_entries);
    return;
  }
  if (falls_back_on_itself(*allocator)) {
    warn_once(
        Notice::circular_fallback,
        "Trait fb_data names an allocator that falls back on this one, directly or through others: "
        "the null allocator is returned.");
    runtime().allocators.destroy(allocator->handle);
    return;
  }
  *handle = allocator->handle;
}

bool init_allocator(OmpValue number, std::span<const TraitPair> traits, OmpValue* handle) {
  if (!concerns_us(number, traits)) return false;
  make_allocator(number, traits, handle);
  return true;
}

} // namespace omptier
