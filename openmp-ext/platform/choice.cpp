// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Turns each question into a list of memories with their figures from the processor in question,
// and ranks it by platform/ranking. A tier is ranked by its nearest node.
#include "platform/choice.hpp"

#include "platform/ranking.hpp"
#include "platform/tiers.hpp"

#include <algorithm>

namespace omptier {
namespace {

bool contains(const std::vector<unsigned>& cpus, unsigned cpu) {
  return std::ranges::binary_search(cpus, cpu);
}

unsigned distance_from(const Node& node, unsigned cpu) {
  for (const InitiatorView& view : node.views)
    if (view.distance != 0 && contains(view.cpus, cpu)) return view.distance;
  return contains(node.cpus, cpu) ? 10 : 0; // SLIT defines 10 as the distance of a node from itself
}

unsigned least_distance(const Node& node) {
  unsigned least = 0;
  for (const InitiatorView& view : node.views)
    if (view.distance != 0 && (least == 0 || view.distance < least)) least = view.distance;
  return least;
}

Figures estimate(const Platform& platform, const Node& node, unsigned cpu) {
  Figures figures = platform.view(node.number, cpu);
  if (mean_bandwidth(figures) > 0 || figures.read_latency > 0) return figures;
  figures = best_view(node);
  const unsigned here = distance_from(node, cpu);
  const unsigned nearest = least_distance(node);
  if (here <= nearest || nearest == 0) return figures;
  const double farther = static_cast<double>(here) / nearest;
  return {figures.read_latency * farther, figures.write_latency * farther,
          figures.read_bandwidth / farther, figures.write_bandwidth / farther};
}

Ranked ranked(const Platform& platform, const Node& node, unsigned cpu) {
  return {node.kind, estimate(platform, node, cpu), node.capacity, distance_from(node, cpu)};
}

} // namespace

Figures estimated_view(const Platform& platform, unsigned node_number, unsigned cpu) {
  const Node* node = platform.node(node_number);
  return node != nullptr ? estimate(platform, *node, cpu) : Figures{};
}

std::vector<unsigned> nodes_of(const Platform& platform, const Tier& tier, unsigned cpu) {
  std::vector<Ranked> memories;
  for (const unsigned number : tier.nodes)
    memories.push_back(ranked(platform, *platform.node(number), cpu));
  std::vector<unsigned> nodes;
  for (const std::size_t i : rank(memories, Preference::latency))
    nodes.push_back(tier.nodes[i]);
  return nodes;
}

std::vector<std::size_t> tiers_by(const Platform& platform, Preference preference, unsigned cpu) {
  std::vector<Ranked> memories;
  for (const Tier& tier : platform.tiers) {
    const std::vector<unsigned> nodes = nodes_of(platform, tier, cpu);
    // Memory without a node (a DAX directory) has no figures.
    Ranked memory = nodes.empty() ? Ranked{tier.kind, {}, tier.capacity, 0}
                                  : ranked(platform, *platform.node(nodes.front()), cpu);
    memory.capacity = tier.capacity;
    memories.push_back(memory);
  }
  return rank(memories, preference);
}

std::vector<unsigned> best_nodes_for(const Platform& platform, Preference preference,
                                     unsigned cpu) {
  const std::vector<std::size_t> order = tiers_by(platform, preference, cpu);
  return order.empty() ? std::vector<unsigned>()
                       : nodes_of(platform, platform.tiers[order.front()], cpu);
}

std::vector<unsigned> best_nodes_for(const Platform& platform, MemoryKind kind, unsigned cpu) {
  std::vector<unsigned> nodes;
  for (const std::size_t i : tiers_by(platform, Preference::bandwidth, cpu)) {
    if (platform.tiers[i].kind != kind) continue;
    const std::vector<unsigned> of_tier = nodes_of(platform, platform.tiers[i], cpu);
    nodes.insert(nodes.end(), of_tier.begin(), of_tier.end());
  }
  return nodes;
}

unsigned processor_near(const Node& node) {
  if (!node.cpus.empty()) return node.cpus.front();
  const auto view = std::ranges::min_element(node.views, {}, &InitiatorView::distance);
  return view != node.views.end() && !view->cpus.empty() ? view->cpus.front() : 0;
}

ChoiceTable::ChoiceTable(const Platform& platform) {
  // Processors belong to one place when every node's sets treat them alike.
  std::vector<const std::vector<unsigned>*> sets;
  unsigned cpu_limit = 1;
  for (const Node& node : platform.nodes) {
    sets.push_back(&node.cpus);
    for (const InitiatorView& view : node.views)
      sets.push_back(&view.cpus);
  }
  for (const auto* set : sets)
    if (!set->empty()) cpu_limit = std::max(cpu_limit, set->back() + 1);
  std::vector<std::vector<bool>> seen;
  for (unsigned cpu = 0; cpu < cpu_limit; ++cpu) {
    std::vector<bool> membership;
    for (const auto* set : sets)
      membership.push_back(contains(*set, cpu));
    const auto at = std::ranges::find(seen, membership);
    of_cpu_.push_back(static_cast<std::uint32_t>(at - seen.begin()));
    if (at != seen.end()) continue;
    seen.push_back(std::move(membership));
    Place place;
    for (std::size_t p = 0; p < k_preferences; ++p) {
      place.tiers[p] = tiers_by(platform, static_cast<Preference>(p), cpu);
      place.by_preference[p] = best_nodes_for(platform, static_cast<Preference>(p), cpu);
    }
    for (const MemoryKind kind : k_all_memory_kinds)
      place.by_kind[static_cast<std::size_t>(kind)] = best_nodes_for(platform, kind, cpu);
    for (const Tier& tier : platform.tiers)
      place.by_tier.push_back(nodes_of(platform, tier, cpu));
    places_.push_back(std::move(place));
  }
}

} // namespace omptier
