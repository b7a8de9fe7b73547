// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Names as trait values: ompx_name copies a text once and gives it a number, so a trait value is
// never an untrusted pointer. A number is a mark in the upper half and an index of our table in the
// lower; any other value is refused without being dereferenced.
#pragma once

#include "traits/names.hpp"

#include <string_view>

namespace omptier {

inline constexpr std::size_t k_longest_name = 255;

// 1 to 255 characters of [A-Za-z0-9_.-].
bool is_valid_name(std::string_view text);

// 0 if it is no valid name or memory is exhausted. Thread-safe, no malloc.
OmpValue intern_name(std::string_view text);

// Zero-terminated; null for any value that is not of intern_name. Lock-free.
const char* interned_text(OmpValue value);

// Held in the parent while it forks.
void lock_names();
void unlock_names();

} // namespace omptier
