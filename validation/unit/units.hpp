// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What tests count in: bytes and nanoseconds.
#pragma once

#include <cstdint>

inline constexpr std::uint64_t k_mib = 1 << 20;
inline constexpr std::uint64_t k_ms = 1'000'000, k_second = 1'000'000'000;
