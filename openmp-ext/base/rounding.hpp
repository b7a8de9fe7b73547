// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Rounding of sizes and addresses to multiples of a step, which need not be a power of two.
#pragma once

#include <type_traits>

namespace omptier {

template <typename T> constexpr T round_down(T value, std::type_identity_t<T> step) {
  return value / step * step;
}

// value + step - 1 must not overflow.
template <typename T> constexpr T round_up(T value, std::type_identity_t<T> step) {
  return round_down(value + step - 1, step);
}

} // namespace omptier
