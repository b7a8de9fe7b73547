// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Which kinds of memory are here, and whether the firmware gives their latency and bandwidth.
#include "base/kernel_files.hpp"
#include "base/options.hpp"
#include "cli/check.hpp"
#include "placement/cgroup.hpp"
#include "placement/job.hpp"
#include "platform/describe.hpp"
#include "platform/ranking.hpp"
#include "platform/tiers.hpp"

#include <algorithm>
#include <cstdlib>

namespace omptier {
namespace {

// What limits a program started from here: its rank's share, job, cpuset, control group.
void check_share(const Platform& platform, Findings& findings) {
  const std::string_view wanted = option_text(Option::share);
  const auto share = parse_share(wanted);
  const auto capacity = parse_capacity(option_text(Option::capacity));
  if (!share) return; // check_variables reports it
  const std::uint64_t reserve =
      option_is_set(Option::reserve) ? option_number(Option::reserve) : k_usual_reserve;
  const KindLimits limits =
      limits_of(platform, capacity ? *capacity : CapacityByKind{}, *share, reserve);
  std::string parts;
  for (const MemoryKind kind : k_all_memory_kinds)
    if (const auto bytes = limits.limit[static_cast<std::size_t>(kind)])
      parts += (parts.empty() ? "" : ", ") + std::string(title_of(kind)) + " " +
               format_size(*bytes) +
               (limits.shared[static_cast<std::size_t>(kind)] ? "" : " (OMPTIER_CAPACITY)");
  if (share->ranks > 1)
    findings.works("rank's share", "1/" + std::to_string(share->ranks) +
                                       " of the scarce kinds, by " + share->source +
                                       (parts.empty() ? "" : ": " + parts));
  else
    findings.works("rank's share", "everything: " +
                                       std::string(wanted == "off" ? "OMPTIER_SHARE is off"
                                                                   : "no launcher reports several "
                                                                     "ranks") +
                                       (parts.empty() ? "" : "; limits: " + parts));
  const std::string_view job = option_text(Option::job);
  if (job == "off")
    findings.works("job", "counted alone (OMPTIER_JOB is off)");
  else
    findings.works("job", "counted together in " +
                              job_ledger_path(job == "auto" ? job_name() : job));
  const NodeSet allowed = allowed_nodes();
  std::vector<unsigned> forbidden;
  for (const Node& node : platform.nodes)
    if (node.number < k_max_nodes && !allowed.has(node.number)) forbidden.push_back(node.number);
  if (!forbidden.empty())
    findings.limited("cpuset", "node " + format_numbers(forbidden) + " may not be used",
                     "the batch system or cpuset.mems gives this shell fewer nodes");
  CgroupLimits cgroup;
  cgroup.find();
  if (cgroup.limited())
    findings.works("control group", "limit " + format_size(cgroup.least_limit()) + ", room " +
                                        format_size(cgroup.room()));
}

} // namespace

namespace {

// Nodes that this process may not use are included.
std::uint64_t bytes_of_nodes() {
  std::uint64_t sum = 0;
  NodeMemory memory;
  for (const unsigned node : parse_number_list(read_small_file("/sys/devices/system/node/online")))
    if (read_node_memory(node, memory)) sum += memory.total;
  return sum;
}

std::uint64_t bytes_of_machine() {
  const std::string text = read_small_file("/proc/meminfo");
  const auto at = text.find("MemTotal:");
  return at == std::string::npos ? 0 : std::strtoull(text.c_str() + at + 9, nullptr, 10) << 10;
}

} // namespace

void check_totals(std::uint64_t nodes, std::uint64_t machine, Findings& findings) {
  if (nodes == 0 || machine == 0) return; // a kernel without NUMA, or no /proc
  constexpr std::uint64_t k_slack = 16;   // a sixteenth: nodes count what the kernel holds itself
  if (nodes - nodes / k_slack <= machine && machine - machine / k_slack <= nodes) return;
  findings.limited("memory totals",
                   "the kernel's nodes have " + format_size(nodes) + " together, its machine " +
                       format_size(machine) + " (/proc/meminfo): one of them is wrong, or a " +
                       "container shows another",
                   "placement goes by the nodes; name the bytes that may be used: "
                   "OMPTIER_CAPACITY=dram:" + std::to_string(std::min(nodes, machine) >> 20) + "M");
}

void check_memory(const Platform& platform, Findings& findings) {
  std::string kinds;
  std::vector<unsigned> unknown;
  std::vector<unsigned> without_figures;
  for (const Tier& tier : platform.tiers)
    kinds += (kinds.empty() ? "" : ", ") + std::string(title_of(tier.kind)) + " " +
             format_size(tier.capacity) + " (node" + (tier.nodes.size() > 1 ? "s " : " ") +
             format_numbers(tier.nodes) + ")";
  for (const Node& node : platform.nodes) {
    if (node.kind == MemoryKind::unknown) unknown.push_back(node.number);
    const Figures best = best_view(node);
    if (mean_bandwidth(best) <= 0 || best.read_latency <= 0) without_figures.push_back(node.number);
  }
  if (platform.tiers.size() > 1)
    findings.works("memory kinds", kinds);
  else
    findings.limited(
        "memory kinds", kinds + "; one kind, so there is nothing to choose from",
        "'omptier sandbox --machine dram-hbm-nvm -- ./app' runs a program on a virtual "
        "machine with several");
  if (!unknown.empty())
    findings.limited("memory kinds", "node " + format_numbers(unknown) + " is of unknown kind",
                     "name its kind: OMPTIER_NODES=hbm:" + format_numbers({unknown[0]}));
  if (!platform.figures_problem.empty())
    findings.limited("memory figures", platform.figures_problem,
                     "OMPTIER_PLATFORM=none uses no such file");
  const bool measured = std::ranges::all_of(
      platform.nodes, [](const Node& node) { return node.measured && !node.measured_in_part; });
  if (without_figures.empty())
    findings.works("memory figures",
                   "bandwidth and latency of every node" +
                       (platform.figures_date.empty()
                            ? std::string(" (ACPI HMAT)")
                            : std::string(measured ? ", measured on " : ", in part measured on ") +
                                  platform.figures_date + " (" + platform.figures_file + ")"));
  else if (platform.nodes.size() == 1)
    findings.works("memory figures", "the firmware gives none (no HMAT); one node needs none");
  else
    findings.limited("memory figures",
                     "no bandwidth or latency is known for node " +
                         format_numbers(without_figures) +
                         " (no HMAT): placement and advice use the usual figures of its kind",
                     "'omptier calibrate' measures them, once a machine; where a kind is not "
                     "recognised then, name it in OMPTIER_NODES");
  check_totals(bytes_of_nodes(), bytes_of_machine(), findings);
  check_share(platform, findings);
}

} // namespace omptier
