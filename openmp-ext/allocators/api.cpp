// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The functions of include/ompx_memory.h. The header is not included because it needs an omp.h; a
// conformance test compiles it together with the declarations repeated here.
#include "allocators/chunked.hpp"
#include "allocators/declarations.hpp"
#include "allocators/existing_memory.hpp"
#include "allocators/placement_text.hpp"
#include "base/sized_struct.hpp"
#include "traits/interned.hpp"

#include <cerrno>
#include <cstring>

#define OMPTIER_EXPORT extern "C" __attribute__((visibility("default")))

using namespace omptier;

namespace {

// Sizes of the structures in their first releases.
constexpr std::size_t k_first_placement = 784, k_first_outcome = 56, k_first_chunked_array = 96,
                      k_first_chunk = 96;

int errno_of(Result result) {
  switch (result) {
  case Result::success:
  case Result::incomplete:
  case Result::see_errno:
    return 0;
  case Result::invalid_argument:
  case Result::bad_traits:
    return EINVAL;
  case Result::fixed_trait:
  case Result::moves_refused:
    return EPERM;
  case Result::not_found:
    return ENOENT;
  case Result::no_runtime:
    return ENOSYS;
  case Result::out_of_memory:
    return ENOMEM;
  }
  return 0;
}

int answer(Result result) {
  if (const int error = errno_of(result); error != 0) errno = error;
  return static_cast<int>(result);
}

// For functions whose errors differ by errno only.
int answer_by_errno(int error) {
  if (error == 0) return static_cast<int>(Result::success);
  errno = error;
  return static_cast<int>(Result::see_errno);
}

// For a structure's size, which has two errnos.
int answer_as_invalid(int error) {
  errno = error;
  return static_cast<int>(Result::invalid_argument);
}

bool is_list(int count, const TraitPair* traits) {
  return count >= 0 && (count == 0 || traits != nullptr);
}
std::span<const TraitPair> list(int count, const TraitPair* traits) {
  return {traits, static_cast<std::size_t>(count)};
}

// decide gets an Outcome of this library's size, even if the caller passes none.
template <typename F> int with_outcome(int order, Outcome* outcome, F&& decide) {
  if (order < 0 || order > static_cast<int>(DecisionOrder::declaration))
    return answer(Result::invalid_argument);
  if (outcome != nullptr)
    if (const int error = problem_with_size(*outcome, k_first_outcome); error != 0)
      return answer_as_invalid(error);
  Outcome counted{};
  const Result result = decide(static_cast<DecisionOrder>(order), counted);
  if (outcome != nullptr) give_struct(counted, *outcome);
  return answer(result);
}

} // namespace

OMPTIER_EXPORT uintptr_t ompx_name(const char* name) {
  const std::string_view text(name != nullptr ? name : "",
                              name != nullptr ? ::strnlen(name, k_longest_name + 1) : 0);
  const uintptr_t value = intern_name(text);
  if (value == 0) errno = is_valid_name(text) ? ENOMEM : EINVAL;
  return value;
}

OMPTIER_EXPORT int ompx_get_placement(const void* address, size_t bytes, PlacementReport* result) {
  if (result == nullptr) return answer_by_errno(EINVAL);
  if (const int error = problem_with_size(*result, k_first_placement); error != 0)
    return answer_by_errno(error);
  PlacementReport report;
  if (!describe_placement(address, bytes, report)) return answer_by_errno(EINVAL);
  give_struct(report, *result);
  return answer_by_errno(0);
}

OMPTIER_EXPORT int ompx_place_range(void* begin, size_t bytes, uintptr_t allocator) {
  return answer_by_errno(place_range(begin, bytes, allocator));
}

OMPTIER_EXPORT int ompx_dump(int fd) {
  return answer_by_errno(write_dump(fd) ? 0 : errno);
}

OMPTIER_EXPORT int ompx_phase(const char* name) {
  const uintptr_t interned = name != nullptr ? ompx_name(name) : 0;
  if (name != nullptr && interned == 0) return answer_by_errno(errno);
  const omptier_observer* observer = runtime().observer.load(std::memory_order_acquire);
  if (observer != nullptr && observer->phase != nullptr)
    observer->phase(name != nullptr ? interned_text(interned) : "");
  return answer_by_errno(0);
}

OMPTIER_EXPORT int ompx_declare(void* pointer, size_t bytes, uintptr_t space, int count,
                                const TraitPair* traits) {
  if (!is_list(count, traits)) return answer(Result::invalid_argument);
  return answer(declare(static_cast<void**>(pointer), bytes, space, list(count, traits),
                        __builtin_return_address(0)));
}

OMPTIER_EXPORT int ompx_withdraw(void* pointer) {
  return answer(withdraw(static_cast<void**>(pointer)));
}

OMPTIER_EXPORT int ompx_commit(int order, Outcome* outcome) {
  return with_outcome(order, outcome, commit);
}

OMPTIER_EXPORT int ompx_update_traits(void* block, int count, const TraitPair* traits) {
  if (!is_list(count, traits)) return answer(Result::invalid_argument);
  return answer(update_block(block, list(count, traits)));
}

OMPTIER_EXPORT int ompx_update_allocator(uintptr_t allocator, int count, const TraitPair* traits) {
  if (!is_list(count, traits)) return answer(Result::invalid_argument);
  return answer(update_allocator(allocator, list(count, traits)));
}

OMPTIER_EXPORT int ompx_apply(int order, Outcome* outcome) {
  return with_outcome(order, outcome, apply);
}

OMPTIER_EXPORT int ompx_chunked_begin(const ChunkedArray* array, Chunked** chunked) {
  if (chunked != nullptr) *chunked = nullptr;
  if (array == nullptr || chunked == nullptr) return answer(Result::invalid_argument);
  if (const int error = problem_with_size(*array, k_first_chunked_array); error != 0)
    return answer_as_invalid(error);
  Result why = Result::success;
  ChunkedArray known{};
  std::memcpy(&known, array, std::min(array->struct_size, sizeof known));
  Chunked* made = Chunked::begin(known, __builtin_return_address(0), why);
  if (made == nullptr) return answer(why);
  *chunked = made;
  return answer(Result::success);
}

OMPTIER_EXPORT int ompx_chunked_next(Chunked* chunked, Chunk* chunk) {
  if (chunked == nullptr || chunk == nullptr) return answer(Result::invalid_argument);
  if (const int error = problem_with_size(*chunk, k_first_chunk); error != 0)
    return answer_as_invalid(error);
  Chunk found;
  chunked->next(found);
  give_struct(found, *chunk);
  return answer(Result::success);
}

OMPTIER_EXPORT int ompx_chunked_end(Chunked* chunked) {
  if (chunked == nullptr) return answer(Result::invalid_argument);
  Chunked::end(chunked);
  return answer(Result::success);
}
