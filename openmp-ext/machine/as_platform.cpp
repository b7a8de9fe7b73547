// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// See as_platform.hpp. The units differ: the table has MB/s, the platform bytes per second.
#include "machine/as_platform.hpp"

#include "platform/fingerprint.hpp"
#include "platform/tiers.hpp"

#include <cmath>
#include <numeric>

namespace omptier {
namespace {

// CPUs are numbered in the order of the nodes.
std::vector<std::vector<unsigned>> cpus_of_nodes(const Machine& machine) {
  std::vector<std::vector<unsigned>> cpus;
  unsigned next = 0;
  for (const MachineNode& node : machine.nodes) {
    auto& own = cpus.emplace_back(static_cast<std::size_t>(node.cpus));
    std::iota(own.begin(), own.end(), next);
    next += static_cast<unsigned>(node.cpus);
  }
  return cpus;
}

Figures figures_of(const NodePerformance& seen) {
  constexpr double k_megabyte = 1e6;
  return {static_cast<double>(seen.read_latency), static_cast<double>(seen.write_latency),
          seen.read_bandwidth * k_megabyte, seen.write_bandwidth * k_megabyte};
}

std::uint64_t capacity_of(const Machine& machine, const MachineNode& node,
                          const CapacityByKind& sizes) {
  const auto& size = sizes[static_cast<std::size_t>(node.kind)];
  if (!size) return node.size;
  double of_kind = 0;
  for (const MachineNode& other : machine.nodes)
    if (other.kind == node.kind) of_kind += static_cast<double>(other.size);
  return static_cast<std::uint64_t>(static_cast<double>(*size) * static_cast<double>(node.size) /
                                    of_kind);
}

} // namespace

Platform platform_of(const Machine& machine, const CapacityByKind& sizes, unsigned threads) {
  Platform platform;
  const auto all_cpus = static_cast<unsigned>(machine.sockets * machine.cores);
  const bool whole = threads > all_cpus;
  const auto cpus = cpus_of_nodes(machine);
  const std::vector<int> sources = initiators(machine);
  for (std::size_t number = 0; number < machine.nodes.size(); ++number) {
    const MachineNode& from = machine.nodes[number];
    Node node;
    node.number = static_cast<unsigned>(number);
    node.kind = from.kind;
    node.rule = "the table of machines";
    node.capacity = capacity_of(machine, from, sizes);
    node.cpus = cpus[number];
    for (std::size_t i = 0; i < sources.size(); ++i) {
      const auto source = static_cast<std::size_t>(sources[i]);
      const NodePerformance& seen = from.seen_from[i];
      node.views.push_back({cpus[source], figures_of(whole ? seen : part_of_cpus(machine, seen)),
                            static_cast<unsigned>(machine.distances[source][number])});
    }
    platform.nodes.push_back(std::move(node));
  }
  platform.tiers = make_tiers(platform.nodes);
  platform.last_level = {machine.last_level,
                         static_cast<unsigned>(std::lround(all_cpus * machine.core.stands_for)),
                         0}; // as the virtual machine's
  platform.fingerprint = make_fingerprint(platform.tiers);
  return platform;
}

} // namespace omptier
