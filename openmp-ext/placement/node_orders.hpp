// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Which of a kind's nodes pages go to when they leave another node: the one nearest to the
// processors that the old node was nearest to. Threads that touched them first work there.
#pragma once

#include "placement/pages.hpp"
#include "platform/platform.hpp"

namespace omptier {

struct NodeOrders {
  // rank[from][to]: 0 for the nearest of a kind; equal ranks go by number.
  std::array<std::array<std::uint8_t, k_max_nodes>, k_max_nodes> rank{};
};

NodeOrders node_orders_of(const Platform& platform);

} // namespace omptier
