// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Names of sites and regions for people (declared in symbols.hpp). A site is named after what its
// memory is for, according to the source (site_name.hpp). Debug information gives the lines; they
// are read only if the file is where it was compiled, and unchanged.
#include "symbols/code_line.hpp"
#include "symbols/site_name.hpp"
#include "symbols/symbols.hpp"
#include "symbols/variable_in_line.hpp"

#include <algorithm>
#include <filesystem>
#include <map>
#include <set>
#include <sstream>
#include <string_view>
#include <vector>

namespace omptier {
namespace {

std::string file_name_of(const std::string& file) {
  return std::filesystem::path(file).filename().string();
}

std::string text_of(const SourceLocation& location) {
  return file_name_of(location.file) + ":" + std::to_string(location.line);
}

// If nothing better is known: "solver+0x1f40".
std::string module_and_offset(const std::vector<ModuleInfo>& modules, const Frame& frame) {
  std::ostringstream text;
  text << modules[frame.module].name << "+0x" << std::hex << frame.offset;
  return text.str();
}

// The functions around a site's call, inlined or not, innermost first, over all frames: which of
// them were inlined depends on the compiler.
struct Chain {
  std::vector<SourceLocation> locations;
  std::vector<std::string> keys;      // of the same length: equal where the source place is
  std::vector<std::string> functions; // likewise, as the symbol table has them; "" when unknown
};

Chain chain_of(Symbols& symbols, const std::vector<ModuleInfo>& modules,
               const std::vector<Frame>& frames) {
  Chain chain;
  for (const Frame& frame : frames) {
    const ResolvedFrame resolved = symbols.resolve(modules[frame.module], frame.offset);
    if (resolved.locations.empty() ||
        (resolved.locations.front().line == 0 && resolved.locations.front().defined_in.empty())) {
      chain.locations.emplace_back();
      chain.keys.push_back(module_and_offset(modules, frame));
      chain.functions.push_back(resolved.known ? resolved.portable.function : "");
      continue;
    }
    for (const SourceLocation& location : resolved.locations) {
      chain.locations.push_back(location);
      chain.keys.push_back(location.file + ":" + std::to_string(location.line) + ":" +
                           std::to_string(location.column) + ":" +
                           std::to_string(location.order.index));
      chain.functions.push_back(location.function);
    }
  }
  return chain;
}

bool is_of_program(const SourceLocation& location) {
  return location.line > 0 && !is_library_file(location.file);
}

// own: the first place that the site shares with no other.
std::string label_of_chain(Symbols& symbols, const std::vector<ModuleInfo>& modules,
                           const std::vector<Frame>& frames, const Chain& chain, std::size_t own) {
  if (frames.empty()) return "unknown";
  const auto& locations = chain.locations;
  std::vector<ModulePlace> stack;
  for (const Frame& frame : frames)
    stack.emplace_back(modules[frame.module].identity, frame.offset);
  const SiteName found = symbols.name_of(stack, locations, own);
  if (!found.name.empty()) {
    std::size_t at = found.first;
    for (std::size_t i = found.first; i <= found.last && at < own; ++i)
      if (is_of_program(locations[i])) at = i;
    return found.name + " (" + text_of(locations[at]) + ")";
  }
  const auto first = static_cast<std::size_t>(
      std::ranges::find_if(locations, is_of_program) - locations.begin());
  for (std::size_t i = 0; i < first; ++i)
    if (is_hidden(locations[i]))
      return short_function(chain.functions[i]) + " (" + file_name_of(locations[i].defined_in) +
             ")";
  const auto place = [&](std::size_t i) {
    return short_function(chain.functions[i]) + " (" + text_of(locations[i]) + ")";
  };
  if (first < locations.size()) {
    std::size_t at = first; // who asks, if other sites have the same first place
    for (std::size_t i = first; i < locations.size() && at < own; ++i)
      if (is_of_program(locations[i])) at = i;
    if (chain.functions[at] == chain.functions[first]) return place(at);
    return place(first) + " from " + text_of(locations[at]);
  }
  for (const std::string& function : chain.functions)
    if (!function.empty()) return short_function(function);
  return module_and_offset(modules, frames[0]);
}

// How many lists of names begin alike. Equal lists count once: only numbers distinguish them.
class Beginnings {
public:
  void add(const std::vector<std::string>& names) {
    if (!known_.insert(names).second) return;
    std::string beginning;
    for (const std::string& name : names)
      ++lists_[beginning += name + '\n'];
  }
  // Up to which name the beginning is unique; the last if another list begins with all of them.
  std::size_t first_own(const std::vector<std::string>& names) const {
    std::string beginning;
    std::size_t at = 0;
    for (; at < names.size(); ++at) {
      beginning += names[at] + '\n';
      if (lists_.at(beginning) == 1) return at;
    }
    return names.empty() ? 0 : at - 1;
  }

private:
  std::set<std::vector<std::string>> known_;
  std::map<std::string, unsigned> lists_;
};

// For an allocation by a system library: by which of its functions, and for whom.
std::string label_of_library(Symbols& symbols, const ModuleInfo& library, const Frame& frame,
                             const std::string& whose) {
  const ResolvedFrame resolved = symbols.resolve(library, frame.offset);
  std::string by =
      (resolved.known ? short_function(resolved.portable.function) + " of " : "") + library.name;
  if (whose.empty()) return by;
  const bool has_place = whose.find(':') != std::string::npos;
  return has_place ? whose + ", by " + by : by + ", for " + whose;
}

// Equal labels get numbers, from the second on.
class Numbered {
public:
  std::string operator()(std::string label) {
    if (const unsigned times = ++met_[label]; times > 1) label += " #" + std::to_string(times);
    return label;
  }

private:
  std::map<std::string, unsigned> met_;
};

// For areas, which have no allocation site.
std::string label_of_area(const ProfileSummary& summary, const SiteSummary& site,
                          Symbols& symbols) {
  switch (site.kind) {
  case SiteKind::stacks:
    return site.objects == 1 ? "stack and thread-local variables"
                             : "stacks and thread-local variables";
  case SiteKind::heap:
    return "heap, not recorded (small blocks that were not looked at; of the C library, the OpenMP "
           "runtime, before the record began)";
  case SiteKind::runtime:
    return "OMPTier and the OpenMP runtime";
  default:
    break;
  }
  const ModuleInfo& module = summary.modules[site.frames[0].module];
  if (site.kind == SiteKind::statics) return "statics of " + module.name;
  if (site.kind == SiteKind::constants) return "code and constants of " + module.name;
  return "static " + symbols.label_of_static(module, site.frames[0].offset, site.symbol);
}

// If several call stacks lead to a construct, it is named after the first caller that only one has.
std::vector<std::string> labels_of_regions(Symbols& symbols, const ProfileSummary& summary) {
  std::vector<std::string> labels;
  Numbered numbered;
  Beginnings beginnings;
  const auto names = [&](const RegionSummary& region) {
    std::vector<std::string> list;
    for (const Frame& frame : region.frames)
      list.push_back(module_and_offset(summary.modules, frame));
    return list;
  };
  for (const RegionSummary& region : summary.regions)
    beginnings.add(names(region));
  for (const RegionSummary& region : summary.regions) {
    std::string label = label_of_region(symbols, summary.modules, region.frames);
    if (const std::size_t own = beginnings.first_own(names(region)); own > 0)
      label += " from " + label_of_region(symbols, summary.modules, {region.frames[own]});
    labels.push_back(numbered(std::move(label)));
  }
  return labels;
}

std::vector<std::string> labels_of_sites(Symbols& symbols, const ProfileSummary& summary) {
  std::vector<std::vector<Frame>> sites;
  const auto is_site = [](const SiteSummary& site) {
    return site.kind == SiteKind::allocation || site.kind == SiteKind::mapping;
  };
  for (const SiteSummary& site : summary.sites)
    if (is_site(site)) sites.push_back(site.frames);
  const std::vector<std::string> of_sites = labels_of_sites(symbols, summary.modules, sites);
  std::vector<std::string> labels;
  auto next = of_sites.begin();
  for (const SiteSummary& site : summary.sites)
    labels.push_back(is_site(site) ? *next++ : label_of_area(summary, site, symbols));
  return labels;
}

std::string label_of_barrier(Symbols& symbols, const ProfileSummary& summary,
                             const PhaseSummary& phase) {
  if (phase.kind != PhaseSummary::Kind::to_barrier) return "";
  return "the barrier of " + label_of_region(symbols, summary.modules, phase.frames);
}

bool ends_with_reduction(Symbols& symbols, const ProfileSummary& summary,
                         const PhaseSummary& phase) {
  if (phase.kind != PhaseSummary::Kind::to_barrier || phase.frames.empty()) return false;
  const Frame& call = phase.frames[0];
  const std::string callee =
      symbols.resolve(summary.modules[call.module], call.offset).portable.callee;
  return callee.starts_with("__kmpc_reduce") || callee.starts_with("__kmpc_end_reduce");
}

std::string label_of_phase(const ProfileNames& names, const PhaseSummary& phase,
                           const std::string& barrier) {
  switch (phase.kind) {
  case PhaseSummary::Kind::named:
    return phase.name;
  case PhaseSummary::Kind::to_barrier:
    return "up to " + barrier;
  case PhaseSummary::Kind::to_end:
    return "up to the region's end";
  case PhaseSummary::Kind::serial:
    break;
  }
  const std::string &before = names.regions[phase.region],
                    &after = names.regions[phase.next_region];
  if (phase.region == 0) return "before " + after;
  if (phase.next_region == 0) return "after " + before;
  return "between " + before + " and " + after;
}

} // namespace

std::vector<std::string> labels_of_sites(Symbols& symbols, const std::vector<ModuleInfo>& modules,
                                         const std::vector<std::vector<Frame>>& sites) {
  Beginnings beginnings;
  std::vector<std::vector<Frame>> own_frames; // without what a system library did
  std::vector<Chain> chains;
  for (const std::vector<Frame>& frames : sites) {
    const bool by_library = !frames.empty() && modules[frames[0].module].system;
    own_frames.emplace_back(frames.begin() + (by_library ? 1 : 0), frames.end());
    chains.push_back(chain_of(symbols, modules, own_frames.back()));
    beginnings.add(chains.back().keys);
  }
  std::vector<std::string> labels;
  Numbered numbered;
  for (std::size_t i = 0; i < sites.size(); ++i) {
    const bool by_library = own_frames[i].size() < sites[i].size();
    std::string label;
    if (!own_frames[i].empty() || !by_library)
      label = label_of_chain(symbols, modules, own_frames[i], chains[i],
                             beginnings.first_own(chains[i].keys));
    if (by_library)
      label = label_of_library(symbols, modules[sites[i][0].module], sites[i][0], label);
    labels.push_back(numbered(std::move(label)));
  }
  return labels;
}

std::string label_of_site(Symbols& symbols, const std::vector<ModuleInfo>& modules,
                          const std::vector<Frame>& frames) {
  return labels_of_sites(symbols, modules, {frames}).front();
}

ProfileNames names_of(const ProfileSummary& summary, Symbols& symbols) {
  ProfileNames names;
  names.sites = labels_of_sites(symbols, summary);
  names.regions = labels_of_regions(symbols, summary);
  for (const PhaseSummary& phase : summary.phases) {
    names.barriers.push_back(label_of_barrier(symbols, summary, phase));
    names.reductions.push_back(ends_with_reduction(symbols, summary, phase));
    names.phases.push_back(label_of_phase(names, phase, names.barriers.back()));
  }
  return names;
}

std::string label_of_region(Symbols& symbols, const std::vector<ModuleInfo>& modules,
                            const std::vector<Frame>& frames) {
  if (frames.empty()) return "outside of regions";
  const ResolvedFrame resolved = symbols.resolve(modules[frames[0].module], frames[0].offset);
  if (const SourceLocation own = own_line(resolved); own.line > 0)
    return short_function(own.function) + " (" + text_of(own) + ")";
  if (resolved.known) return short_function(resolved.portable.function);
  return module_and_offset(modules, frames[0]);
}

} // namespace omptier
