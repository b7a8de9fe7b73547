// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Functions that are run and emulated (emulation_emulate_test.cpp): of a number below 20 and of 64
// words of data.
#pragma once

#include <cstdint>

struct EmulationCase {
  const char* name;
  std::uint64_t (*run)(std::uint64_t, const std::uint64_t*);
};
extern const EmulationCase emulation_cases[];
extern const unsigned emulation_case_count;
