// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Structures that begin with their size (struct_size), filled for programs built with an older or
// newer header than this library's, as the kernel does for its system calls. A shorter structure
// gets the members that it has. In a longer one the members unknown here must be zero and stay
// zero, so that a request of a newer header is refused, not overlooked.
#pragma once

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstring>

namespace omptier {

inline constexpr std::size_t k_largest_struct = 4096; // larger: the size was never set

// 0, or the errno for an unacceptable size. first: the size in the structure's first release.
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

// Copies all but the size, as far as theirs has room; problem_with_size has accepted theirs.
template <typename T> void give_struct(const T& ours, T& theirs) {
  constexpr std::size_t k_size = sizeof ours.struct_size;
  std::memcpy(reinterpret_cast<char*>(&theirs) + k_size,
              reinterpret_cast<const char*>(&ours) + k_size,
              std::min(theirs.struct_size, sizeof ours) - k_size);
}

} // namespace omptier
