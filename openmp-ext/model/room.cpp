// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Room over time.
#include "model/room.hpp"

namespace omptier {

bool Room::make(std::span<const std::uint64_t> capacity, std::size_t pieces) {
  pieces_ = std::max<std::size_t>(pieces, 1);
  left_.clear();
  if (!left_.resize(capacity.size() * pieces_, 0)) return false;
  for (std::size_t tier = 0; tier < capacity.size(); ++tier)
    std::fill_n(left_.begin() + tier * pieces_, pieces_, capacity[tier]);
  return true;
}

template <typename Array, typename Use>
bool Room::in_each_piece(Array& left, std::size_t pieces, const Need& need, std::size_t tier,
                         Use use) {
  const auto at = left.begin() + tier * pieces;
  const Stay always{0, static_cast<std::uint32_t>(pieces), need.bytes};
  for (const Stay& stay : need.stays.empty() ? std::span(&always, 1) : need.stays)
    for (std::size_t piece = stay.begin; piece < stay.end; ++piece)
      if (!use(at[piece], stay.bytes)) return false;
  return true;
}

bool Room::fits(const Need& need, std::size_t tier) const {
  return in_each_piece(left_, pieces_, need, tier,
                       [](std::uint64_t left, std::uint64_t bytes) { return bytes <= left; });
}

void Room::take(const Need& need, std::size_t tier) {
  in_each_piece(left_, pieces_, need, tier, [](std::uint64_t& left, std::uint64_t bytes) {
    left -= bytes;
    return true;
  });
}

void Room::give_back(const Need& need, std::size_t tier) {
  in_each_piece(left_, pieces_, need, tier, [](std::uint64_t& left, std::uint64_t bytes) {
    left += bytes;
    return true;
  });
}

} // namespace omptier
