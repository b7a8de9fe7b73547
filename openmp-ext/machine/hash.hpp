// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A short name for a long text, for files in the cache (FNV-1a, 64 bits). Not cryptographic.
#pragma once

#include <cstdint>
#include <cstdio>
#include <string>
#include <string_view>

namespace omptier {

inline std::string hash_text(std::string_view text) {
  std::uint64_t hash = 14695981039346656037ull;
  for (unsigned char c : text)
    hash = (hash ^ c) * 1099511628211ull;
  char digits[17];
  std::snprintf(digits, sizeof digits, "%016llx", static_cast<unsigned long long>(hash));
  return digits;
}

} // namespace omptier
