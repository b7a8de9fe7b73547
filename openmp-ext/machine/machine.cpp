// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Queries about a machine.
#include "machine/machine.hpp"

#include <algorithm>
#include <cmath>

namespace omptier {
namespace {

std::string size_text(std::uint64_t bytes) {
  return bytes % k_gib == 0 ? std::to_string(bytes / k_gib) + " GiB"
                            : std::to_string(bytes / k_mib) + " MiB";
}

} // namespace

std::vector<int> initiators(const Machine& machine) {
  std::vector<int> nodes;
  for (std::size_t node = 0; node < machine.nodes.size(); ++node)
    if (machine.nodes[node].cpus > 0) nodes.push_back(static_cast<int>(node));
  return nodes;
}

bool has_nvdimm(const Machine& machine) {
  return !machine.nodes.empty() && machine.nodes.back().nvdimm;
}

std::string cpu_list(const Machine& machine, std::size_t node) {
  int first = 0;
  for (std::size_t before = 0; before < node; ++before)
    first += machine.nodes[before].cpus;
  int count = machine.nodes[node].cpus;
  if (count == 0) return "";
  return count == 1 ? std::to_string(first)
                    : std::to_string(first) + "-" + std::to_string(first + count - 1);
}

NodePerformance part_of_cpus(const Machine& machine, const NodePerformance& seen) {
  // The HMAT has 16 bits for each bandwidth, in a unit of all.
  constexpr double k_largest = 1 << 15;
  double largest = 1, unit = 1;
  for (const MachineNode& node : machine.nodes)
    for (const NodePerformance& view : node.seen_from)
      largest = std::max({largest, double(view.read_bandwidth), double(view.write_bandwidth)});
  while (largest / machine.core.stands_for / unit > k_largest)
    unit *= 2;
  const auto part = [&](int bandwidth) {
    const double units = std::round(bandwidth / machine.core.stands_for / unit);
    return static_cast<int>(unit * std::max(1.0, units));
  };
  return {seen.read_latency, seen.write_latency, part(seen.read_bandwidth),
          part(seen.write_bandwidth)};
}

std::string describe(const Machine& machine) {
  std::string text = machine.name;
  text.resize(std::max<std::size_t>(20, text.size() + 1), ' ');
  for (std::size_t i = 0, same = 0; i < machine.nodes.size(); i += same) {
    const MachineNode& node = machine.nodes[i];
    for (same = 1; i + same < machine.nodes.size(); ++same) {
      const MachineNode& next = machine.nodes[i + same];
      if (next.kind != node.kind || next.size != node.size) break;
    }
    text += (i > 0 ? ", " : "") + (same > 1 ? std::to_string(same) + " × " : "") +
            std::string(title_of(node.kind)) + " " + size_text(node.size);
    if (node.cache) text += " behind a cache of " + size_text(node.cache->size);
  }
  if (machine.dax_folder != 0) text += ", folder " + size_text(machine.dax_folder);
  return text + "; " + machine.description;
}

} // namespace omptier
