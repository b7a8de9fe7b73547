// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Structures that begin with their size (struct_size), filled for programs that were built with an
// older or a newer header than this library, as the kernel does with those of its system calls: a
// shorter one gets what it has room for; in a longer one, what we do not know must be zero, so that
// a wish of tomorrow's is refused instead of overlooked, and stays zero.
#pragma once

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstring>

namespace omptier {

inline constexpr std::size_t k_largest_struct = 4096; // else the size was never set

// 0, or the errno that says why theirs is not acceptable. first: size that the structure had in the
// first release.
template <typename T> int problem_with_size(const T& theirs, std::size_t first) {
  static_assert(offsetof(T, struct_size) == 0 && sizeof(T) <= k_largest_struct);
  if (theirs.struct_size < first) return EINVAL;
  if (theirs.struct_size > k_largest_struct) return E2BIG;
  const char* bytes = reinterpret_cast<const char*>(&theirs);
  const auto is_set = [](char byte) { return byte != 0; };
  return theirs.struct_size > sizeof(T) &&
                 std::any_of(bytes + sizeof(T), bytes + theirs.struct_size, is_set)
             ? E2BIG
             : 0;
}

// Everything but the size, as far as theirs, which has no problem, has room.
template <typename T> void give_struct(const T& ours, T& theirs) {
  constexpr std::size_t k_size = sizeof ours.struct_size;
  std::memcpy(reinterpret_cast<char*>(&theirs) + k_size,
              reinterpret_cast<const char*>(&ours) + k_size,
              std::min(theirs.struct_size, sizeof ours) - k_size);
}

} // namespace omptier
