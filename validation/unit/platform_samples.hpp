// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Machines made by hand for the platform's tests.
#pragma once

#include "platform/classification.hpp"
#include "platform/fingerprint.hpp"
#include "platform/tiers.hpp"

#include <gtest/gtest.h>

namespace omptier {

inline constexpr std::uint64_t k_gib = std::uint64_t{1} << 30;

// GB/s and ns, as people write them.
inline Figures figures(double read_bandwidth, double write_bandwidth, double read_latency,
                       double write_latency = 0) {
  return {read_latency, write_latency > 0 ? write_latency : read_latency, read_bandwidth * 1e9,
          write_bandwidth * 1e9};
}

// A node with its own processors, or (no processors) one that is seen from those of `from`.
inline NodeFacts facts(unsigned number, std::vector<unsigned> cpus, std::vector<unsigned> from,
                       Figures seen, std::uint64_t capacity = 16 * k_gib) {
  NodeFacts node;
  node.number = number;
  node.capacity = capacity;
  node.cpus = std::move(cpus);
  node.views = {{std::move(from), seen, 0}};
  return node;
}

inline Platform platform_of(const MachineFacts& machine, const NodesByKind& forced = {}) {
  const auto nodes = classify(machine, forced);
  EXPECT_TRUE(nodes) << nodes.error();
  Platform platform;
  if (!nodes) return platform;
  platform.nodes = *nodes;
  platform.tiers = make_tiers(platform.nodes);
  platform.fingerprint = make_fingerprint(platform.tiers);
  std::string why_not;
  EXPECT_TRUE(is_consistent(platform, why_not)) << why_not;
  return platform;
}

} // namespace omptier
