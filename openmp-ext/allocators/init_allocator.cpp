// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// omp_init_allocator: which calls concern us, and what is refused.
#include "allocators/allocation.hpp"
#include "base/log.hpp"

#include <algorithm>
#include <cstdio>

namespace omptier {
namespace {

// Spaces and allocators that libomp 19 itself knows beside the standard ones (device memory).
bool is_device_number(OmpValue number) {
  return number >= 100 && number <= 102;
}

// Anything that may be an allocator: ours, predefined, or (from 1024 on) a pointer of libomp's,
// which only libomp can judge.
bool may_be_allocator(OmpValue value) {
  return runtime().allocators.find(value) != nullptr || (value >= 1 && value <= 8) ||
         is_device_number(value) || value > 1024;
}

bool is_ours(OmpValue number, std::span<const TraitPair> traits) {
  if (number != static_cast<OmpValue>(Space::standard_default) && !is_device_number(number))
    return true;
  return std::any_of(traits.begin(), traits.end(), [](const TraitPair& trait) {
    const KeyInfo* key = find_key(trait.key);
    if (key == nullptr || is_extended(key->key)) return true;
    return key->key == TraitKey::fb_data && runtime().allocators.find(trait.value) != nullptr;
  });
}

} // namespace

bool read_allocator(OmpValue number, std::span<const TraitPair> traits, Space& space, TraitSet& set,
                    TraitProblem& problem) {
  const auto known = space_of_number(number);
  if (!known) {
    problem.notice = Notice::unknown_memory_space;
    std::snprintf(problem.text, sizeof problem.text,
                  "Unknown memory space %llu: the null allocator is returned.",
                  static_cast<unsigned long long>(number));
    return false;
  }
  space = *known;
  return read_traits(space, traits, may_be_allocator, set, problem);
}

bool init_allocator(OmpValue number, std::span<const TraitPair> traits, OmpValue* handle) {
  if (!is_ours(number, traits)) return false;
  *handle = k_null_allocator;
  Space space = Space::standard_default;
  TraitSet set;
  TraitProblem problem;
  if (!read_allocator(number, traits, space, set, problem)) {
    warn(problem.notice, "%s", problem.text);
    return true;
  }
  const Allocator* allocator =
      runtime().allocators.make(space, set, !is_extended(space) && !set.extended);
  if (allocator != nullptr) *handle = allocator->handle;
  return true;
}

} // namespace omptier
