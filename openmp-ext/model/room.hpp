// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Bytes left on each tier over time: only objects alive together compete. Time is cut into pieces
// at every begin and end of a stay; the runtime's decisions have one piece.
#pragma once

#include "base/page_array.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>

namespace omptier {

// Bytes in pieces [begin, end).
struct Stay {
  std::uint32_t begin = 0, end = 0;
  std::uint64_t bytes = 0;
};

struct Need {
  std::uint64_t bytes = 0;     // at most
  std::span<const Stay> stays; // ascending, not overlapping; none: all bytes in all pieces
};

class Room {
public:
  // capacity: bytes by tier. False when memory for the list is refused.
  bool make(std::span<const std::uint64_t> capacity, std::size_t pieces) {
    pieces_ = pieces;
    if (!left_.resize(capacity.size() * pieces, 0)) return false;
    for (std::uint64_t* left = left_.begin(); const std::uint64_t bytes : capacity)
      left = std::fill_n(left, pieces, bytes);
    return true;
  }
  bool fits(const Need& need, std::size_t tier) {
    return in_each_piece(need, tier, [](auto& left, auto bytes) { return bytes <= left; });
  }
  void take(const Need& need, std::size_t tier) { // what fits
    in_each_piece(need, tier, [](auto& left, auto bytes) { return left -= bytes, true; });
  }
  void give_back(const Need& need, std::size_t tier) {
    in_each_piece(need, tier, [](auto& left, auto bytes) { return left += bytes, true; });
  }

private:
  // Stops at the first piece for which use(bytes left, bytes needed) is false; true if none is.
  template <typename Use> bool in_each_piece(const Need& need, std::size_t tier, Use use) {
    std::uint64_t* const left = left_.begin() + tier * pieces_;
    const Stay always{0, static_cast<std::uint32_t>(pieces_), need.bytes};
    for (const Stay& stay : need.stays.empty() ? std::span(&always, 1) : need.stays)
      for (std::size_t piece = stay.begin; piece < stay.end; ++piece)
        if (!use(left[piece], stay.bytes)) return false;
    return true;
  }

  PageArray<std::uint64_t> left_; // by tier, then piece
  std::size_t pieces_ = 0;
};

} // namespace omptier
