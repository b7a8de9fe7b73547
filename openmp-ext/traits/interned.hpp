// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Names as trait values: ompx_name copies a text once and gives it a number, so that a trait value
// is never a pointer that somebody may have made up. A number is a mark in the upper half and the
// place in our table below; anything else is refused without being looked at.
#pragma once

#include "traits/names.hpp"

#include <string_view>

namespace omptier {

inline constexpr std::size_t k_longest_name = 255;

// 1 to 255 characters of [A-Za-z0-9_.-].
bool is_valid_name(std::string_view text);

// The number of a text, the same for the same text; 0 when it is not a valid name or memory is
// exhausted. Thread-safe, takes no malloc.
OmpValue intern_name(std::string_view text);

// The text of a number made by intern_name, ended by a zero; null for any other value. Lock-free.
const char* interned_text(OmpValue value);

// fork: held in the parent while the process is copied.
void lock_names();
void unlock_names();

} // namespace omptier
