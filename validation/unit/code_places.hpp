// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Labels of assembly that tests look at. Asm that begins with PLACES may say "place NAME", which
// is an array NAME to C++. (Each says it anew: compilers choose the order of a unit's asm.)
#pragma once

#include <cstdint>

#define PLACES                                                                                     \
  ".ifndef has_places\n .set has_places, 1\n"                                                      \
  ".macro place name\n .globl \\name\n .hidden \\name\n \\name:\n .endm\n .endif\n"

inline std::uint64_t at(const void* place) {
  return reinterpret_cast<std::uint64_t>(place);
}
