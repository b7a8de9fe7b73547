// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// See timing_setup.hpp. Only QEMU's layout of the nodes' memory is not in the machine: one node
// after the other, below 4 GiB up to the split of the q35 board, the rest from 4 GiB on.
#include "machine/timing_setup.hpp"

#include <algorithm>
#include <sstream>

namespace omptier {
namespace {

constexpr std::uint64_t k_gib = 1ull << 30;

std::uint64_t low_memory(std::uint64_t all) {
  return all >= 0xb0000000 ? 2 * k_gib : all;
}

void add_ranges(std::ostringstream& text, const Machine& machine) {
  std::uint64_t all = 0;
  for (const MachineNode& node : machine.nodes)
    all += node.size;
  const std::uint64_t low = low_memory(all);
  std::uint64_t before = 0; // RAM of the nodes before this one
  for (std::size_t i = 0; i < machine.nodes.size(); ++i) {
    const MachineNode& node = machine.nodes[i];
    // QEMU 7.2 adds a block's offset twice: within its region, and within all RAM. timing/plugin.c
    // replaces these addresses for newer versions.
    const std::uint64_t reported = 2 * before;
    const std::uint64_t below = before < low ? std::min(node.size, low - before) : 0;
    if (below > 0)
      text << "range " << i << ' ' << reported << ' ' << below << ' ' << before << '\n';
    if (below < node.size)
      text << "range " << i << ' ' << reported + below << ' ' << node.size - below << ' '
           << before + below - low + 4 * k_gib << '\n';
    before += node.size;
  }
}

void add_core(std::ostringstream& text, const CoreModel& core) {
  text << "bandwidth-divisor " << core.stands_for << '\n';
  text << "instruction-ns " << core.instruction_ns << '\n';
  text << "wrong-branch-ns " << core.wrong_branch_ns << '\n';
  text << "window " << core.window << ' ' << core.outstanding << '\n';
  text << "overlap " << core.prefetched << ' ' << core.stores << '\n';
}

void add_node(std::ostringstream& text, std::size_t number, const MachineNode& node) {
  if (!node.load_curve.empty()) {
    text << "loaded " << number;
    for (const auto& [used, times] : node.load_curve)
      text << ' ' << used << ' ' << times;
    text << '\n';
  }
  if (node.media_block != 64) text << "media " << number << ' ' << node.media_block << '\n';
  if (node.duplex) text << "duplex " << number << '\n';
  if (node.mixed_bandwidth > 0) text << "mixed " << number << ' ' << node.mixed_bandwidth << '\n';
  if (!node.cache) return;
  const NodePerformance& figures = node.cache->figures;
  text << "memory-side-cache " << number << ' ' << node.cache->size << ' ' << figures.read_latency
       << ' ' << figures.write_latency << ' ' << figures.read_bandwidth << ' '
       << figures.write_bandwidth << '\n';
}

void add_performance(std::ostringstream& text, const Machine& machine) {
  const std::vector<int> sources = initiators(machine);
  for (std::size_t target = 0; target < machine.nodes.size(); ++target) {
    for (std::size_t source = 0; source < sources.size(); ++source) {
      const NodePerformance& seen = machine.nodes[target].seen_from[source];
      const std::string cpus = cpu_list(machine, static_cast<std::size_t>(sources[source]));
      text << "latency " << cpus << ' ' << target << ' ' << seen.read_latency << ' '
           << seen.write_latency << '\n';
      text << "bandwidth " << cpus << ' ' << target << ' ' << seen.read_bandwidth << ' '
           << seen.write_bandwidth << '\n';
    }
    add_node(text, target, machine.nodes[target]);
  }
}

} // namespace

std::string timing_configuration(const Machine& machine, const TimingOptions& options) {
  std::ostringstream text;
  text << "# " << machine.name << '\n';
  add_ranges(text, machine);
  add_performance(text, machine);
  add_core(text, machine.core);
  text << "dilation " << options.dilation << '\n';
  text << "mode " << (options.count_only ? "count" : "sleep") << '\n';
  if (!options.symbols.empty()) text << "symbols " << options.symbols << '\n';
  if (!options.misses.empty()) text << "misses " << options.misses << '\n';
  if (!options.events.empty()) text << "events " << options.events << '\n';
  if (options.event_period > 0) text << "event-period " << options.event_period << '\n';
  if (!options.statistics.empty()) text << "statistics " << options.statistics << '\n';
  return text.str();
}

} // namespace omptier
