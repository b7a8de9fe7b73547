// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Which kinds of memory are here, and whether the firmware says how fast they are.
#include "cli/check.hpp"
#include "platform/describe.hpp"
#include "platform/ranking.hpp"
#include "platform/tiers.hpp"

namespace omptier {

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
                     "say what it is: OMPTIER_NODES=hbm:" + format_numbers({unknown[0]}));
  if (without_figures.empty())
    findings.works("memory figures", "bandwidth and latency of every node (ACPI HMAT)");
  else if (platform.nodes.size() == 1)
    findings.works("memory figures", "the firmware gives none (no HMAT); one node needs none");
  else
    findings.limited("memory figures",
                     "the firmware gives no bandwidth or latency for node " +
                         format_numbers(without_figures) + " (no HMAT)",
                     "where a kind is not recognised, name it in OMPTIER_NODES");
}

} // namespace omptier
