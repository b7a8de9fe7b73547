// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Queries about presets, and the invariants of each.
#include "machine/presets.hpp"

namespace omptier {
namespace {

std::string size_text(std::uint64_t bytes) {
  return bytes % k_gib == 0 ? std::to_string(bytes / k_gib) + " GiB"
                            : std::to_string(bytes / k_mib) + " MiB";
}

} // namespace

const Machine* find_machine(std::string_view name) {
  for (const Machine& machine : machines())
    if (machine.name == name) return &machine;
  return nullptr;
}

std::string machine_names() {
  std::string names;
  for (const Machine& machine : machines())
    names += (names.empty() ? "" : ", ") + std::string(machine.name);
  return names;
}

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

std::string check_machine(const Machine& machine) {
  const std::size_t count = machine.nodes.size();
  const std::size_t sources = initiators(machine).size();
  int cpus = 0;
  if (machine.distances.size() != count) return "distances need one row for each node";
  if (machine.nodes.empty() || machine.nodes[0].cpus == 0) return "node 0 needs CPUs";
  for (std::size_t i = 0; i < count; ++i) {
    const MachineNode& node = machine.nodes[i];
    const std::string where = "node " + std::to_string(i) + ": ";
    cpus += node.cpus;
    if (node.size == 0 || node.size % (2 * k_mib) != 0) return where + "size not in huge pages";
    if (node.nvdimm && (i + 1 != count || node.cpus > 0))
      return where + "an NVDIMM is the last node and has no CPUs";
    if (node.seen_from.size() != sources) return where + "one performance for each initiator";
    for (const NodePerformance& seen : node.seen_from)
      if (seen.read_latency <= 0 || seen.write_latency <= 0 || seen.read_bandwidth <= 0 ||
          seen.write_bandwidth <= 0)
        return where + "latencies and bandwidths must be positive";
    if (node.cpus == 0 && (node.initiator < 0 || node.initiator >= static_cast<int>(count) ||
                           machine.nodes[static_cast<std::size_t>(node.initiator)].cpus == 0))
      return where + "a node without CPUs needs an initiator that has some";
    if (machine.distances[i].size() != count) return where + "distances need one for each node";
    for (std::size_t j = 0; j < count; ++j)
      if ((machine.distances[i][j] == 10) != (i == j) || machine.distances[i][j] < 10)
        return where + "distance 10 is to itself and to nothing else";
  }
  if (machine.dax_folder != 0 && !has_nvdimm(machine)) return "the folder is the second NVDIMM";
  if (cpus != machine.sockets * machine.cores) return "CPUs of the nodes must be all there are";
  return "";
}

std::string describe(const Machine& machine) {
  std::string text = std::string(machine.name);
  text.resize(text.size() < 18 ? 18 : text.size() + 1, ' ');
  for (std::size_t i = 0; i < machine.nodes.size(); ++i) {
    const MachineNode& node = machine.nodes[i];
    text += (i > 0 ? ", " : "") + std::string(title_of(node.kind)) + " " + size_text(node.size);
  }
  if (machine.dax_folder != 0) text += ", folder " + size_text(machine.dax_folder);
  return text + "; " + std::string(machine.description);
}

} // namespace omptier
