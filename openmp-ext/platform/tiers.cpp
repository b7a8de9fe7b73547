// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A node joins the first tier of its kind whose first node it resembles in every figure that both
// have; nodes without figures form one tier per kind. Comparing with the first node, not with the
// last that joined, keeps a chain of small differences from growing into one tier.
#include "platform/tiers.hpp"

#include "platform/ranking.hpp"

#include <algorithm>

namespace omptier {
namespace {

bool close(double a, double b) {
  if (a <= 0 || b <= 0) return a <= 0 && b <= 0;
  return std::min(a, b) >= (1 - k_class_tolerance) * std::max(a, b);
}

bool same_class(const Figures& a, const Figures& b) {
  return close(a.read_bandwidth, b.read_bandwidth) && close(a.write_bandwidth, b.write_bandwidth) &&
         close(a.read_latency, b.read_latency) && close(a.write_latency, b.write_latency);
}

bool better_view(const Figures& a, const Figures& b) {
  if (mean_bandwidth(a) != mean_bandwidth(b)) return mean_bandwidth(a) > mean_bandwidth(b);
  return a.read_latency > 0 && (b.read_latency <= 0 || a.read_latency < b.read_latency);
}

} // namespace

Figures best_view(const Node& node) {
  Figures best;
  for (const InitiatorView& view : node.views)
    if (better_view(view.figures, best)) best = view.figures;
  return best;
}

std::vector<Tier> make_tiers(const std::vector<Node>& nodes) {
  std::vector<Tier> tiers;
  std::vector<Figures> first_of; // figures of each tier's first node
  for (const Node& node : nodes) {
    const Figures figures = best_view(node);
    std::size_t at = 0;
    while (at < tiers.size() && (tiers[at].kind != node.kind || !same_class(first_of[at], figures)))
      ++at;
    if (at == tiers.size()) {
      tiers.push_back({node.kind, {}, 0, figures});
      first_of.push_back(figures);
    }
    tiers[at].nodes.push_back(node.number);
    tiers[at].capacity += node.capacity;
    if (better_view(figures, tiers[at].figures)) tiers[at].figures = figures;
  }
  std::vector<Ranked> ranked;
  for (const Tier& tier : tiers)
    ranked.push_back({tier.kind, tier.figures, tier.capacity, 0});
  std::vector<Tier> sorted;
  for (const std::size_t i : rank(ranked, Preference::bandwidth))
    sorted.push_back(std::move(tiers[i]));
  return sorted;
}

} // namespace omptier
