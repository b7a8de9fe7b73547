// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// How many lines indices lead to anew (emulation/index_reuse.hpp).
#include "emulation/index_reuse.hpp"

#include <gtest/gtest.h>
#include <random>

using namespace omptier;

namespace {

constexpr std::size_t k_looked_at = 2 * k_indices_before;
constexpr double k_elements_of_line = 8;

// Nodes of hexahedra, corner by corner, in rows and layers of so many.
std::vector<std::uint32_t> nodes_of_mesh(std::size_t elements, std::uint32_t row) {
  std::vector<std::uint32_t> nodes;
  for (std::uint32_t e = 0; e < elements; ++e) {
    const std::uint32_t x = e % row, y = e / row % row, z = e / row / row, wide = row + 1;
    for (std::uint32_t corner = 0; corner < 8; ++corner)
      nodes.push_back(((z + corner / 4) * wide + y + corner / 2 % 2) * wide + x + corner % 2);
  }
  return nodes;
}

double fresh_in(std::span<const std::uint32_t> indices) {
  return double{fresh_part(std::vector<std::uint64_t>(indices.begin(), indices.end()), 8)};
}

// Each element has one node of its own, and eight nodes share a line.
TEST(IndexReuse, NodesOfAMeshComeAgain) {
  const auto nodes = nodes_of_mesh(40'000, 36);
  const auto last = std::span(nodes).last(k_looked_at);
  EXPECT_NEAR(fresh_in(last), 1 / (8 * k_elements_of_line), 0.006);
}

TEST(IndexReuse, LayersLargerThanTheCacheComeTwice) {
  const auto nodes = nodes_of_mesh(40'000, 120);
  const auto last = std::span(nodes).last(k_looked_at);
  EXPECT_NEAR(fresh_in(last), 2 / (8 * k_elements_of_line), 0.012);
}

TEST(IndexReuse, RandomOnesLeadToNewLines) {
  std::mt19937 random(1);
  std::vector<std::uint32_t> indices(k_looked_at);
  for (std::uint32_t& index : indices)
    index = static_cast<std::uint32_t>(random());
  EXPECT_GT(fresh_in(indices), 0.99);
}

TEST(IndexReuse, WhatIsNotFollowedIsNotKnown) {
  EXPECT_EQ(fresh_in({}), 0);
  EXPECT_GT(fresh_in(std::vector<std::uint32_t>(k_looked_at, 0)), 0) << "line 0 is tracked";
}

TEST(IndexReuse, IndicesAreReadBeforeThePlaceOrBehindIt) {
  const auto nodes = nodes_of_mesh(40'000, 36);
  const auto at = reinterpret_cast<std::uint64_t>(nodes.data());
  for (const std::size_t place : {std::size_t{0}, nodes.size() - 1}) {
    IndexReuse reuse;
    const float fresh = reuse.of({1, at + 4 * place, 4, 8});
    EXPECT_GT(fresh, 0);
    EXPECT_LT(fresh, 0.1F);
    EXPECT_EQ(reuse.of({1, at + 4 * place, 4, 8}), fresh) << "known";
    EXPECT_EQ(reuse.of({1, 0x1000, 4, 8}), 0) << "of another array";
  }
  EXPECT_EQ(IndexReuse().of({2, 0x1000, 4, 8}), 0) << "nothing is there";
  EXPECT_EQ(IndexReuse().of({3, at, 2, 8}), 0);
}

} // namespace
