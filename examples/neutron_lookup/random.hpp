// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Counter-based random numbers: the n-th number of a stream is a function of (stream, n) alone,
// without state. So any thread can compute any number, and the results do not depend on the
// schedule.
#pragma once

#include <cstdint>

namespace neutron {

// Spreads every bit of the input over the whole word (multiply-xorshift finaliser; a bijection).
constexpr std::uint64_t mix(std::uint64_t x) {
  x ^= x >> 33;
  x *= 0xff51afd7ed558ccdULL;
  x ^= x >> 33;
  x *= 0xc4ceb9fe1a85ec53ULL;
  x ^= x >> 33;
  return x;
}

constexpr std::uint64_t random_bits(std::uint64_t stream, std::uint64_t counter) {
  return mix(mix(stream + 0x9e3779b97f4a7c15ULL) + counter);
}

// Uniform in [0, 1), a multiple of 2^-53.
constexpr double unit_interval(std::uint64_t bits) {
  return static_cast<double>(bits >> 11) * 0x1p-53;
}

} // namespace neutron
