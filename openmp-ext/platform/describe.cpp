// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Columns are as wide as their widest cell; numbers are right-aligned, words left-aligned.
#include "platform/describe.hpp"

#include "platform/choice.hpp"

#include <algorithm>
#include <array>
#include <cstdio>

namespace omptier {
namespace {

constexpr std::size_t k_columns = 9;
using Row = std::array<std::string, k_columns>;
constexpr std::array<bool, k_columns> k_right = {true, false, true, false, true,
                                                 true, true,  true, false};

std::string rate_or_dash(double bytes_per_second) {
  return bytes_per_second > 0 ? format_rate(bytes_per_second) : "-";
}

std::string latency_or_dash(double nanoseconds) {
  return nanoseconds > 0 ? format_duration(nanoseconds) : "-";
}

bool has_figures(const InitiatorView& view) {
  return view.figures.read_bandwidth > 0 || view.figures.write_bandwidth > 0 ||
         view.figures.read_latency > 0 || view.figures.write_latency > 0;
}

void add_rows(std::vector<Row>& rows, const Node& node) {
  Row first = {std::to_string(node.number),
               std::string(title_of(node.kind)),
               format_size(node.capacity),
               node.cpus.empty() ? "-" : format_numbers(node.cpus),
               "-",
               "-",
               "-",
               "-",
               node.rule};
  bool begun = false;
  for (const InitiatorView& view : node.views) {
    if (!has_figures(view)) continue;
    Row row = begun ? Row{} : first;
    begun = true;
    row[3] = format_numbers(view.cpus);
    row[4] = rate_or_dash(view.figures.read_bandwidth);
    row[5] = rate_or_dash(view.figures.write_bandwidth);
    row[6] = latency_or_dash(view.figures.read_latency);
    row[7] = latency_or_dash(view.figures.write_latency);
    rows.push_back(std::move(row));
  }
  if (!begun) rows.push_back(std::move(first));
}

std::string aligned(const std::vector<Row>& rows) {
  std::array<std::size_t, k_columns> width{};
  for (const Row& row : rows)
    for (std::size_t c = 0; c < k_columns; ++c)
      width[c] = std::max(width[c], row[c].size());
  std::string text;
  for (const Row& row : rows) {
    std::string line;
    for (std::size_t c = 0; c < k_columns; ++c) {
      const std::string space(width[c] - row[c].size(), ' ');
      line += (c == 0 ? "" : "  ") + (k_right[c] ? space + row[c] : row[c] + space);
    }
    line.erase(line.find_last_not_of(' ') + 1);
    text += line + "\n";
  }
  return text;
}

// Nodes by where their figures come from.
std::string sources_text(const Platform& platform) {
  std::vector<unsigned> measured, in_part, given, unknown;
  for (const Node& node : platform.nodes) {
    const bool any = std::ranges::any_of(node.views, has_figures);
    (node.measured_in_part ? in_part
     : node.measured       ? measured
     : any                 ? given
                           : unknown)
        .push_back(node.number);
  }
  std::string text;
  const auto add = [&](const std::vector<unsigned>& nodes, const std::string& source) {
    if (nodes.empty()) return;
    const bool all = nodes.size() == platform.nodes.size();
    text +=
        (text.empty() ? "figures: " : "; ") +
        (all ? ""
             : "node" + std::string(nodes.size() > 1 ? "s " : " ") + format_numbers(nodes) + ": ") +
        source;
  };
  add(measured, "measured on " + platform.figures_date + " (omptier calibrate)");
  add(in_part, "in part measured on " + platform.figures_date +
                   " (omptier calibrate), the others the firmware's or usual ones");
  add(given, "from the firmware");
  add(unknown,
      "none known, decisions use the usual ones of each kind (omptier calibrate measures)");
  return text + "\n";
}

std::string tier_text(const Tier& tier) {
  return std::string(title_of(tier.kind)) + " " + format_size(tier.capacity) + " (node" +
         (tier.nodes.size() > 1 ? "s " : " ") + format_numbers(tier.nodes) + ")";
}

std::string nodes_text(const Platform& platform, const std::vector<unsigned>& nodes) {
  if (nodes.empty()) return "-";
  return std::string(title_of(platform.node(nodes.front())->kind)) + " (node " +
         std::to_string(nodes.front()) + ")";
}

// One line per group of processors that own a node, since "here" differs between them.
std::string spaces_text(const Platform& platform) {
  std::string text;
  for (const Node& node : platform.nodes) {
    if (node.cpus.empty()) continue;
    const auto nearest = [&](Preference preference) {
      return nodes_text(platform, best_nodes_for(platform, preference, node.cpus.front()));
    };
    text += "from CPUs " + format_numbers(node.cpus) + ": high_bw is " +
            nearest(Preference::bandwidth) + ", low_lat " + nearest(Preference::latency) +
            ", large_cap " + nearest(Preference::capacity) + ", const " +
            nearest(Preference::read_only) + "\n";
  }
  return text;
}

} // namespace

std::string format_numbers(const std::vector<unsigned>& numbers) {
  std::string text;
  for (std::size_t i = 0; i < numbers.size();) {
    std::size_t last = i;
    while (last + 1 < numbers.size() && numbers[last + 1] == numbers[last] + 1)
      ++last;
    if (!text.empty()) text += ",";
    text += std::to_string(numbers[i]);
    if (last > i) text += "-" + std::to_string(numbers[last]);
    i = last + 1;
  }
  return text;
}

std::string describe(const Platform& platform) {
  std::vector<Row> rows = {{"node", "kind", "capacity", "from CPUs", "read", "write", "read lat.",
                            "write lat.", "rule"}};
  for (const Node& node : platform.nodes)
    add_rows(rows, node);
  std::string text = aligned(rows) + sources_text(platform) + "tiers, fastest first: ";
  for (const Tier& tier : platform.tiers)
    text += (&tier == platform.tiers.data() ? "" : ", ") + tier_text(tier);
  return text + "\n" + spaces_text(platform);
}

} // namespace omptier
