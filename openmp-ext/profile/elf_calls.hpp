// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The calls that a function makes, in order of address: what "the n-th call of its function" means.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace omptier {

// Return addresses (address behind each call instruction) of the code that begins at start. Empty
// where instructions cannot be decoded (another architecture).
std::vector<std::uint64_t> calls_in(std::span<const std::uint8_t> code, std::uint64_t start);

} // namespace omptier
