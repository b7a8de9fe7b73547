// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The functions of include/ompx_memory.h. The header itself is not included here: it needs an
// omp.h; the declarations are repeated and a conformance test compiles both together.
#include "allocators/declarations.hpp"
#include "allocators/existing_memory.hpp"
#include "allocators/placement_text.hpp"
#include "traits/interned.hpp"

#include <cerrno>
#include <cstring>

#define OMPTIER_EXPORT extern "C" __attribute__((visibility("default")))

using namespace omptier;

OMPTIER_EXPORT uintptr_t ompx_name(const char* name) {
  if (name == nullptr) return 0;
  return intern_name(std::string_view(name, ::strnlen(name, k_longest_name + 1)));
}

OMPTIER_EXPORT int ompx_get_placement(const void* address, size_t bytes, PlacementReport* result) {
  if (result == nullptr || result->struct_size != sizeof(PlacementReport)) {
    errno = EINVAL;
    return -1;
  }
  if (!describe_placement(address, bytes, *result)) {
    errno = EINVAL;
    return -1;
  }
  return 0;
}

OMPTIER_EXPORT int ompx_place_range(void* begin, size_t bytes, uintptr_t allocator) {
  const int error = place_range(begin, bytes, allocator);
  if (error == 0) return 0;
  errno = error;
  return -1;
}

OMPTIER_EXPORT int ompx_dump(int fd) {
  return write_dump(fd) ? 0 : -1;
}

OMPTIER_EXPORT int ompx_phase(const char* name) {
  const omptier_observer* observer = runtime().observer.load(std::memory_order_acquire);
  if (name == nullptr) {
    if (observer != nullptr && observer->phase != nullptr) observer->phase("");
    return 0;
  }
  const uintptr_t interned = ompx_name(name);
  if (interned == 0) {
    errno = EINVAL;
    return -1;
  }
  if (observer != nullptr && observer->phase != nullptr) observer->phase(interned_text(interned));
  return 0;
}

namespace {

bool is_list(int count, const TraitPair* traits) {
  return count >= 0 && (count == 0 || traits != nullptr);
}
std::span<const TraitPair> list(int count, const TraitPair* traits) {
  return {traits, static_cast<std::size_t>(count)};
}

// Calls decide(order, outcome) with an outcome of the size this library knows; the caller's may be
// absent.
template <typename F> int with_outcome(int order, Outcome* outcome, F&& decide) {
  if (order < 0 || order > static_cast<int>(DecisionOrder::declaration) ||
      (outcome != nullptr && outcome->struct_size != sizeof(Outcome)))
    return static_cast<int>(Result::invalid_argument);
  Outcome counted{};
  counted.struct_size = sizeof counted;
  const Result result = decide(static_cast<DecisionOrder>(order), counted);
  if (outcome != nullptr) *outcome = counted;
  return static_cast<int>(result);
}

} // namespace

OMPTIER_EXPORT int ompx_declare(void* pointer, size_t bytes, uintptr_t space, int count,
                                const TraitPair* traits) {
  if (!is_list(count, traits)) return static_cast<int>(Result::invalid_argument);
  return static_cast<int>(declare(static_cast<void**>(pointer), bytes, space, list(count, traits),
                                  __builtin_return_address(0)));
}

OMPTIER_EXPORT int ompx_withdraw(void* pointer) {
  return static_cast<int>(withdraw(static_cast<void**>(pointer)));
}

OMPTIER_EXPORT int ompx_commit(int order, Outcome* outcome) {
  return with_outcome(order, outcome, commit);
}

OMPTIER_EXPORT int ompx_update_traits(void* block, int count, const TraitPair* traits) {
  if (!is_list(count, traits)) return static_cast<int>(Result::invalid_argument);
  return static_cast<int>(update_block(block, list(count, traits)));
}

OMPTIER_EXPORT int ompx_update_allocator(uintptr_t allocator, int count, const TraitPair* traits) {
  if (!is_list(count, traits)) return static_cast<int>(Result::invalid_argument);
  return static_cast<int>(update_allocator(allocator, list(count, traits)));
}

OMPTIER_EXPORT int ompx_apply(int order, Outcome* outcome) {
  return with_outcome(order, outcome, apply);
}
