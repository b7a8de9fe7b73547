// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// How long placement keeps the pages of freed blocks (placement/extents.hpp): the next blocks of
// the tier then need no new ones. The advisor counts new pages by the same figures.
#pragma once

#include <cstddef>
#include <cstdint>

namespace omptier {

// From this size on blocks are extents; smaller ones come from chunks that are in use.
inline constexpr std::size_t k_large_block = std::size_t{256} << 10;
inline constexpr std::size_t k_kept_bytes = std::size_t{512} << 20; // of a tier's node
inline constexpr std::size_t k_largest_kept = k_kept_bytes / 2;
inline constexpr std::uint64_t k_usual_decay = 10'000'000'000; // ns

} // namespace omptier
