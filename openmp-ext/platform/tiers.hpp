// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Nodes of one kind and performance class are one tier.
#pragma once

#include "platform/platform.hpp"

namespace omptier {

// Largest relative difference of figures within a tier.
inline constexpr double k_class_tolerance = 0.25;

// A node's view from its nearest processors: highest mean bandwidth, then lowest read latency.
Figures best_view(const Node& node);

// Fastest tier first.
std::vector<Tier> make_tiers(const std::vector<Node>& nodes);

} // namespace omptier
