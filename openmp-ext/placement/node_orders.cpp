// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// See node_orders.hpp.
#include "placement/node_orders.hpp"

#include "platform/choice.hpp"

namespace omptier {

NodeOrders node_orders_of(const Platform& platform) {
  NodeOrders orders;
  for (const Node& from : platform.nodes) {
    if (from.number >= k_max_nodes) continue;
    for (const MemoryKind kind : k_all_memory_kinds) {
      std::uint8_t rank = 0;
      for (const unsigned to : best_nodes_for(platform, kind, processor_near(from)))
        if (to < k_max_nodes) orders.rank[from.number][to] = rank++;
    }
  }
  return orders;
}

} // namespace omptier
