// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// See flame_text.hpp.
#include "cli/flame_text.hpp"

#include "cli/utf8.hpp"
#include "symbols/code_line.hpp"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <map>
#include <span>
#include <vector>

namespace omptier {
namespace {

constexpr const char* k_no_object = "no object (small blocks, code, unknown addresses)";

using Stack = std::vector<std::string>; // outermost first

class Flames {
public:
  Flames(const ProfileSummary& summary, const ProfileNames& names, Symbols& symbols)
      : summary_(summary), names_(names), symbols_(symbols) {}

  void by_objects() {
    for (std::size_t i = 0; i < summary_.sites.size(); ++i)
      add(way_to(summary_.sites[i]), names_.sites[i], summary_.sites[i].accesses.total());
    add({}, "small objects", summary_.small.accesses.total());
    add({}, "everything else", summary_.other.accesses.total());
  }

  void by_code() {
    double known = 0;
    for (const CodeSummary& code : summary_.code) {
      if (code.weight <= 0) continue; // seen in a loop, without samples of its own
      const Stack stack = functions_at(code.at);
      double rest = code.weight;
      for (const CodeAtSite& part : code.by_site) {
        add(stack, names_.sites[part.site], part.weight);
        rest -= part.weight;
      }
      add(stack, k_no_object, rest);
      known += code.weight;
    }
    add({}, "unknown code", weight_of_all(summary_) - known);
  }

  void by_regions() {
    std::vector<double> rest;
    for (const RegionSummary& region : summary_.regions)
      rest.push_back(region.accesses.total());
    std::vector<Stack> stacks;
    for (std::size_t i = 0; i < summary_.regions.size(); ++i)
      stacks.push_back(way_to(i));
    for (std::size_t site = 0; site < summary_.sites.size(); ++site)
      for (const SitePart& part : summary_.sites[site].by_region) {
        add(stacks[part.of], names_.sites[site], part.accesses.total());
        rest[part.of] -= part.accesses.total();
      }
    for (std::size_t i = 0; i < rest.size(); ++i)
      add(stacks[i], k_no_object, rest[i]);
  }

  std::string text() const {
    std::string text;
    for (const auto& [stack, weight] : weights_)
      if (const long long whole = std::llround(weight); whole > 0)
        text += stack + " " + std::to_string(whole) + "\n";
    return text;
  }

private:
  void add(const Stack& stack, const std::string& leaf, double weight) {
    if (weight <= 0) return; // or so little below 0 as sums are off
    std::string key;
    for (const std::string& frame : stack)
      key += in_line(frame) + ";";
    weights_[key + in_line(leaf)] += weight;
  }

  // Frames end at semicolons, stacks at the last blank of a line.
  static std::string in_line(const std::string& text) {
    std::string name = as_utf8(text);
    std::ranges::replace(name, ';', ',');
    std::ranges::replace_if(
        name, [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; }, ' ');
    return name.empty() ? "?" : name;
  }

  // The functions that a call is in, those that were inlined last.
  void add_functions(const Frame& frame, Stack& stack) {
    const ModuleInfo& module = summary_.modules[frame.module];
    const ResolvedFrame resolved = symbols_.resolve(module, frame.offset);
    if (resolved.locations.empty())
      stack.push_back(label_of_region(symbols_, summary_.modules, {frame}));
    for (auto at = resolved.locations.rbegin(); at != resolved.locations.rend(); ++at)
      stack.push_back(short_function(at->function.empty() ? module.name : at->function));
  }

  Stack calls(std::span<const Frame> innermost_first) {
    Stack stack;
    for (std::size_t i = innermost_first.size(); i-- > 0;)
      add_functions(innermost_first[i], stack);
    return stack;
  }

  // Only what was allocated has a call stack.
  Stack way_to(const SiteSummary& site) {
    if (site.kind == SiteKind::allocation || site.kind == SiteKind::mapping)
      return calls(site.frames);
    return site.kind == SiteKind::variable ? Stack{"statics"} : Stack{};
  }

  Stack way_to(std::size_t region) {
    Stack stack = calls(summary_.regions[region].frames);
    stack.push_back(names_.regions[region]);
    return stack;
  }

  Stack functions_at(const Frame& at) {
    Stack stack;
    add_functions(at, stack);
    const SourceLocation line = own_line(symbols_.resolve(summary_.modules[at.module], at.offset));
    if (line.line > 0)
      stack.push_back(std::filesystem::path(line.file).filename().string() + ":" +
                      std::to_string(line.line));
    return stack;
  }

  const ProfileSummary& summary_;
  const ProfileNames& names_;
  Symbols& symbols_;
  std::map<std::string, double> weights_; // by stack
};

} // namespace

std::optional<FlameBy> flame_by(std::string_view name) {
  if (name == "objects") return FlameBy::objects;
  if (name == "code") return FlameBy::code;
  if (name == "regions") return FlameBy::regions;
  return std::nullopt;
}

std::string flame_text(const ProfileSummary& summary, const ProfileNames& names, Symbols& symbols,
                       FlameBy by) {
  Flames flames(summary, names, symbols);
  if (by == FlameBy::objects) flames.by_objects();
  if (by == FlameBy::code) flames.by_code();
  if (by == FlameBy::regions) flames.by_regions();
  return flames.text();
}

} // namespace omptier
