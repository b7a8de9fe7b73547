// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// See platform.hpp.
#include "platform/platform.hpp"

#include "platform/classification.hpp"
#include "platform/fingerprint.hpp"
#include "platform/hwloc_reader.hpp"
#include "platform/platform_file.hpp"
#include "platform/sysfs.hpp"
#include "platform/tiers.hpp"

#include <algorithm>

namespace omptier {

CachePart LastLevel::of(unsigned threads) const {
  if (cores == 0) return {};
  return {static_cast<double>(bytes) * std::min(threads, cores) / cores, latency};
}

const Node* Platform::node(unsigned number) const {
  const auto at = std::ranges::lower_bound(nodes, number, {}, &Node::number);
  return at != nodes.end() && at->number == number ? &*at : nullptr;
}

const Tier* Platform::tier(MemoryKind kind) const {
  const auto at = std::ranges::find(tiers, kind, &Tier::kind);
  return at != tiers.end() ? &*at : nullptr;
}

Figures Platform::view(unsigned node_number, unsigned cpu) const {
  const Node* found = node(node_number);
  if (found == nullptr) return {};
  for (const InitiatorView& view : found->views)
    if (std::ranges::binary_search(view.cpus, cpu) &&
        (view.figures.read_bandwidth > 0 || view.figures.read_latency > 0))
      return view.figures;
  return {};
}

Parsed<Platform> discover_platform(const DiscoverOptions& options) {
  auto read = read_hwloc(options.xml);
  if (!read) return Parsed<Platform>::failure(read.error());
  if (read->this_machine) read_sysfs(read->facts);
  if (read->facts.nodes.empty())
    return Parsed<Platform>::failure(
        (options.xml.empty() ? std::string("this machine") : options.xml) +
        " has no NUMA node with memory that this process may use (see /proc/self/status, "
        "Mems_allowed_list)");
  Platform platform;
  platform.this_machine = read->this_machine;
  std::vector<MeasuredNode> measured;
  if (read->this_machine && !options.without_measured) {
    const FoundPlatformFile found = find_platform_file();
    platform.figures_file = found.path;
    platform.figures_problem = found.problem;
    platform.figures_date = found.file.measured;
    measured = apply_measured(found.file, read->facts);
  }
  auto nodes = classify(read->facts, options.forced);
  if (!nodes) return Parsed<Platform>::failure(nodes.error());
  for (Node& node : *nodes)
    if (const auto at = std::ranges::find(measured, node.number, &MeasuredNode::number);
        at != measured.end()) {
      node.measured = true;
      node.measured_in_part = at->in_part;
    }
  platform.nodes = std::move(*nodes);
  platform.tiers = make_tiers(platform.nodes);
  platform.last_level = read->facts.last_level;
  platform.fingerprint = make_fingerprint(platform.tiers);
  return platform;
}

bool is_consistent(const Platform& platform, std::string& why_not) {
  const auto wrong = [&](std::string why) {
    why_not = std::move(why);
    return false;
  };
  if (std::ranges::adjacent_find(platform.nodes, std::ranges::greater_equal(), &Node::number) !=
      platform.nodes.end())
    return wrong("nodes are not in ascending order");
  std::vector<unsigned> placed;
  for (const Tier& tier : platform.tiers) {
    std::uint64_t capacity = 0;
    if (tier.nodes.empty()) return wrong("a tier has no node");
    for (const unsigned number : tier.nodes) {
      const Node* node = platform.node(number);
      const std::string name = "node " + std::to_string(number);
      if (node == nullptr) return wrong(name + " is in a tier and does not exist");
      if (node->kind != tier.kind) return wrong(name + " is in a tier of another kind");
      capacity += node->capacity;
      placed.push_back(number);
    }
    if (capacity != tier.capacity) return wrong("a tier's capacity is not the sum of its nodes'");
  }
  std::ranges::sort(placed);
  if (placed.size() != platform.nodes.size() ||
      !std::ranges::equal(placed, platform.nodes, {}, {}, &Node::number))
    return wrong("a node is in no tier or in two");
  for (const Node& node : platform.nodes) {
    if (node.rule.empty())
      return wrong("node " + std::to_string(node.number) + " has no rule for its kind");
    for (const InitiatorView& view : node.views)
      if (!std::ranges::is_sorted(view.cpus))
        return wrong("processors of a view are not in ascending order");
  }
  return true;
}

} // namespace omptier
