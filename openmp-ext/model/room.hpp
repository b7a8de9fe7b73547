// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Bytes left on each tier over time: only objects alive together compete. Time is cut into pieces
// at every begin and end of a stay; the runtime's decisions have one piece. A binary tree over the
// pieces has the least that is left below each node, so that a long stay costs no more than a short
// one: a hundred thousand objects have twice as many pieces.
#pragma once

#include "base/page_array.hpp"

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <limits>
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

// At some time.
inline bool are_together(const Need& one, const Need& other) {
  if (one.stays.empty() || other.stays.empty()) return true;
  for (auto a = one.stays.begin(), b = other.stays.begin();
       a != one.stays.end() && b != other.stays.end();)
    if (a->end <= b->begin)
      ++a;
    else if (b->end <= a->begin)
      ++b;
    else
      return true;
  return false;
}

class Room {
public:
  // capacity: bytes by tier. False when memory for the list is refused.
  bool make(std::span<const std::uint64_t> capacity, std::size_t pieces) {
    pieces_ = pieces;
    leaves_ = std::bit_ceil(pieces);
    if (!nodes_.resize(capacity.size() * 2 * leaves_, Node{})) return false;
    for (Node* root = nodes_.begin() + 1; const std::uint64_t bytes : capacity) {
      *root = {bounded(bytes), bounded(bytes)};
      root += 2 * leaves_;
    }
    return true;
  }
  bool fits(const Need& need, std::size_t tier) const {
    const Node* const tree = nodes_.begin() + tier * 2 * leaves_;
    return in_each_stay(need, [&](std::size_t begin, std::size_t end, std::uint64_t bytes) {
      return bounded(bytes) <= least(tree, 1, 0, leaves_, begin, end);
    });
  }
  void take(const Need& need, std::size_t tier) { // what fits
    add(need, tier, -1);
  }
  void give_back(const Need& need, std::size_t tier) { add(need, tier, 1); }

private:
  // Of the pieces below a node of the tree (whose children are 2n and 2n+1): what is left of them
  // without what was taken above the node, and what of that was taken at the node itself.
  struct Node {
    std::int64_t least = 0, own = 0;
  };
  static std::int64_t bounded(std::uint64_t bytes) {
    constexpr auto k_most = std::uint64_t{1} << 62;
    return static_cast<std::int64_t>(std::min(bytes, k_most));
  }

  // Stops at the first stay for which use() is false; true if none is.
  template <typename Use> bool in_each_stay(const Need& need, Use use) const {
    const Stay always{0, static_cast<std::uint32_t>(pieces_), need.bytes};
    for (const Stay& stay : need.stays.empty() ? std::span(&always, 1) : need.stays)
      if (stay.begin < stay.end && !use(stay.begin, stay.end, stay.bytes)) return false;
    return true;
  }
  void add(const Need& need, std::size_t tier, std::int64_t sign) {
    Node* const tree = nodes_.begin() + tier * 2 * leaves_;
    in_each_stay(need, [&](std::size_t begin, std::size_t end, std::uint64_t bytes) {
      change(tree, 1, 0, leaves_, begin, end, sign * bounded(bytes));
      return true;
    });
  }

  // Of the pieces [begin, end) below the node, which has the pieces from low up to high.
  static std::int64_t least(const Node* tree, std::size_t node, std::size_t low, std::size_t high,
                            std::size_t begin, std::size_t end) {
    if (begin <= low && high <= end) return tree[node].least;
    const std::size_t middle = (low + high) / 2;
    std::int64_t found = std::numeric_limits<std::int64_t>::max() / 2;
    if (begin < middle) found = least(tree, 2 * node, low, middle, begin, end);
    if (end > middle) found = std::min(found, least(tree, 2 * node + 1, middle, high, begin, end));
    return found + tree[node].own;
  }
  static void change(Node* tree, std::size_t node, std::size_t low, std::size_t high,
                     std::size_t begin, std::size_t end, std::int64_t bytes) {
    Node& here = tree[node];
    if (begin <= low && high <= end) {
      here.least += bytes;
      here.own += bytes;
      return;
    }
    const std::size_t middle = (low + high) / 2;
    if (begin < middle) change(tree, 2 * node, low, middle, begin, end, bytes);
    if (end > middle) change(tree, 2 * node + 1, middle, high, begin, end, bytes);
    here.least = std::min(tree[2 * node].least, tree[2 * node + 1].least) + here.own;
  }

  PageArray<Node> nodes_; // by tier, then node; the first of each tier is not used
  std::size_t pieces_ = 0, leaves_ = 0;
};

} // namespace omptier
