// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Bytes left on each tier over time: what makes two objects compete is being alive together. Time
// is cut in pieces, at every begin and end of somebody's stay; decisions for now have one piece.
#pragma once

#include "base/page_array.hpp"

#include <cstddef>
#include <cstdint>
#include <span>

namespace omptier {

// Bytes from piece `begin` to the one before `end`.
struct Stay {
  std::uint32_t begin = 0, end = 0;
  std::uint64_t bytes = 0;
};

// How much somebody needs when.
struct Need {
  std::uint64_t bytes = 0;     // at the fullest moment
  std::span<const Stay> stays; // ascending, not overlapping; none: all bytes in all pieces
};

class Room {
public:
  // capacity: bytes by tier, the same in all pieces. False when memory for the lists is refused.
  bool make(std::span<const std::uint64_t> capacity, std::size_t pieces);

  // Whether the need fits at every moment.
  bool fits(const Need& need, std::size_t tier) const;
  void take(const Need& need, std::size_t tier); // what fits
  void give_back(const Need& need, std::size_t tier);

  std::size_t pieces() const { return pieces_; }
  std::size_t tiers() const { return pieces_ == 0 ? 0 : left_.size() / pieces_; }

private:
  // use(bytes left, bytes needed) in each piece until it returns false; whether it never did.
  template <typename Array, typename Use>
  static bool in_each_piece(Array& left, std::size_t pieces, const Need& need, std::size_t tier,
                            Use use);

  PageArray<std::uint64_t> left_; // by tier, then piece
  std::size_t pieces_ = 0;
};

} // namespace omptier
