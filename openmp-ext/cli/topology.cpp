// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// omptier topology: the memory of this machine: kind, the rule that decided it, and its figures by
// initiator. For people as columns, for programs as JSON (bytes, nanoseconds, bytes per second).
#include "base/options.hpp"
#include "cli/command.hpp"
#include "platform/describe.hpp"
#include "platform/usual_figures.hpp"

#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>

namespace omptier {
namespace {

using Json = nlohmann::ordered_json;

Json figure(double value) {
  return value > 0 ? Json(value) : Json(nullptr);
}

Json figures_json(const Figures& figures) {
  return {{"read_bandwidth", figure(figures.read_bandwidth)},
          {"write_bandwidth", figure(figures.write_bandwidth)},
          {"read_latency", figure(figures.read_latency)},
          {"write_latency", figure(figures.write_latency)}};
}

// What only measuring tells.
void add_measured(Json& entry, const Figures& figures) {
  if (figures.mixed_bandwidth > 0) entry["mixed_bandwidth"] = figures.mixed_bandwidth;
  if (figures.block_is_known) entry["block"] = figures.block;
}

Json node_json(const Node& node) {
  Json views = Json::array();
  for (const InitiatorView& view : node.views) {
    Json entry = {{"cpus", view.cpus}};
    entry.update(figures_json(view.figures));
    add_measured(entry, view.figures);
    entry["distance"] = view.distance != 0 ? Json(view.distance) : Json(nullptr);
    views.push_back(std::move(entry));
  }
  return {{"node", node.number},
          {"kind", name_of(node.kind)},
          {"rule", node.rule},
          {"capacity", node.capacity},
          {"cpus", node.cpus},
          {"measured", node.measured},
          {"measured_in_part", node.measured_in_part},
          {"from", std::move(views)}};
}

std::string platform_json(const Platform& platform) {
  Json nodes = Json::array();
  for (const Node& node : platform.nodes)
    nodes.push_back(node_json(node));
  const FigureEstimates estimates(platform.tiers);
  Json tiers = Json::array();
  for (const Tier& tier : platform.tiers) {
    Json entry = {{"kind", name_of(tier.kind)}, {"nodes", tier.nodes}, {"capacity", tier.capacity}};
    entry.update(figures_json(tier.figures));
    // The figures that decisions use in place of the unknown ones.
    if (!are_known(tier.figures))
      entry["estimated"] = figures_json(estimates.estimate(tier.kind, tier.figures));
    tiers.push_back(std::move(entry));
  }
  const Json all = {
      {"version", 1},
      {"fingerprint", platform.fingerprint},
      {"measured", platform.figures_date.empty() ? Json(nullptr) : Json(platform.figures_date)},
      {"nodes", std::move(nodes)},
      {"tiers", std::move(tiers)}};
  return all.dump(2) + "\n";
}

struct TopologyOptions {
  bool json = false;
  std::string xml;
};

int topology(const TopologyOptions& wanted) {
  DiscoverOptions options;
  options.xml = wanted.xml;
  // An export describes another machine; node numbers set for this one do not apply.
  if (wanted.xml.empty() && option_is_set(Option::nodes))
    options.forced = *parse_nodes(option_text(Option::nodes));
  const auto platform = discover_platform(options);
  if (!platform) return fail("topology", 125, platform.error());
  if (!platform->figures_problem.empty())
    std::fprintf(stderr, "omptier topology: %s\n", platform->figures_problem.c_str());
  const std::string text = wanted.json ? platform_json(*platform) : describe(*platform);
  if (std::fwrite(text.data(), 1, text.size(), stdout) != text.size() || std::fflush(stdout) != 0)
    return fail("topology", 125, "standard output cannot be written");
  return 0;
}

} // namespace

void add_topology(CLI::App& app, CommandContext& context) {
  CLI::App* command = app.add_subcommand(
      "topology", "Shows which memory is here: kind, capacity, bandwidth and latency of each node");
  const auto wanted = std::make_shared<TopologyOptions>();
  command->add_flag("--json", wanted->json, "JSON: bytes, nanoseconds, bytes per second");
  command->add_option("--xml", wanted->xml, "Describe another machine from an hwloc XML export")
      ->type_name("FILE");
  command->callback([wanted, &context] { context.status = topology(*wanted); });
}

} // namespace omptier
