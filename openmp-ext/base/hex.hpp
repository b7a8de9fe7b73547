// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Bytes as hexadecimal digits.
#pragma once

#include <cstddef>
#include <string>

namespace omptier {

// No terminating zero; returns the end of the digits. No malloc.
inline char* write_hex(char* out, const void* bytes, std::size_t count) {
  const auto* next = static_cast<const unsigned char*>(bytes);
  for (; count > 0; --count, ++next) {
    *out++ = "0123456789abcdef"[*next >> 4];
    *out++ = "0123456789abcdef"[*next & 15];
  }
  return out;
}

inline std::string hex_of(const void* bytes, std::size_t count) {
  std::string text(2 * count, '\0');
  write_hex(text.data(), bytes, count);
  return text;
}

} // namespace omptier
