// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Names of sites and regions for people (declared in symbols.hpp). A site is called after the
// variable its memory is given to, read from the source line of the call; the line is found by
// debug information, and read only if the file is where it was compiled.
#include "symbols/source_line.hpp"
#include "symbols/symbols.hpp"

#include <algorithm>
#include <fstream>
#include <map>
#include <sstream>
#include <string_view>
#include <vector>

namespace omptier {
namespace {

std::string text_of(const SourceLocation& location) {
  return std::filesystem::path(location.file).filename().string() + ":" +
         std::to_string(location.line);
}

// Where nothing better is known: "solver+0x1f40".
std::string module_and_offset(const std::vector<ModuleInfo>& modules, const Frame& frame) {
  std::ostringstream text;
  text << modules[frame.module].name << "+0x" << std::hex << frame.offset;
  return text.str();
}

// "double* make<int>(unsigned long)" -> "make<int>": what fits a table.
std::string short_function(std::string function) {
  for (const std::string_view noise : {"(anonymous namespace)::", "[abi:cxx11]"})
    for (auto at = function.find(noise); at != std::string::npos; at = function.find(noise))
      function.erase(at, noise.size());
  const auto arguments = function.find('(');
  std::string name = function.substr(0, arguments == 0 ? std::string::npos : arguments);
  const auto outlined = name.find(".omp_outlined");
  return outlined == std::string::npos ? name : name.substr(0, outlined);
}

// A statement of Fortran may go over many lines; a compiler gives any of them as the call's.
std::string fortran_statement_at(const SourceLocation& location) {
  constexpr std::uint32_t k_lines_behind = 100;
  const FortranForm form = fortran_form(location.file);
  if (form == FortranForm::none || location.line == 0) return "";
  std::ifstream in(location.file);
  std::vector<std::string> lines;
  for (std::string line; lines.size() < location.line + k_lines_behind && std::getline(in, line);)
    lines.push_back(line);
  return fortran_statement(lines, location.line - 1, form);
}

// The name that the statement at the location assigns to. A statement may have begun on the line
// before.
std::string name_at(const SourceLocation& location) {
  if (location.line == 0 || location.file.empty() || is_library_file(location.file)) return "";
  if (const std::string statement = fortran_statement_at(location); !statement.empty())
    return variable_of_line(statement);
  std::ifstream in(location.file);
  std::string line, before;
  for (std::uint32_t i = 0; i < location.line; ++i) {
    before = line;
    if (!std::getline(in, line)) return "";
  }
  if (std::string name = variable_of_line(line, location.column); !name.empty()) return name;
  const auto last = before.find_last_not_of(" \t\r");
  return last != std::string::npos && before[last] == '=' ? variable_of_line(before) : "";
}

} // namespace

std::string variable_of(const std::vector<SourceLocation>& locations,
                        std::filesystem::file_time_type made) {
  std::string names;
  for (const SourceLocation& location : locations) {
    std::error_code no_file;
    const auto changed = std::filesystem::last_write_time(location.file, no_file);
    if (no_file || changed > made) continue;
    if (const std::string name = name_at(location); !name.empty())
      names = names.empty() ? name : name + "/" + names;
  }
  return names;
}

namespace {

std::string label_of_frames(Symbols& symbols, const std::vector<ModuleInfo>& modules,
                            const std::vector<Frame>& frames, std::size_t first) {
  std::string fallback, library; // the program's own location before a library's function
  const auto name_of = [&](const Frame& frame) -> std::string {
    const ResolvedFrame resolved = symbols.resolve(modules[frame.module], frame.offset);
    for (const SourceLocation& location : resolved.locations) {
      if (const std::string name = name_at(location); !name.empty())
        return name + " (" + text_of(location) + ")";
      // Which of them it is only the numbers behind equal names tell.
      if (const std::string names = arrays_allocated(fortran_statement_at(location));
          !names.empty())
        return names + " (" + text_of(location) + ")";
      if (fallback.empty() && location.line > 0 && !is_library_file(location.file))
        fallback = short_function(location.function) + " (" + text_of(location) + ")";
    }
    if (!resolved.known) return "";
    std::string& function = resolved.locations.empty() ? fallback : library;
    if (function.empty()) function = short_function(resolved.portable.function);
    return "";
  };
  for (std::size_t i = first; i < frames.size(); ++i)
    if (const std::string name = name_of(frames[i]); !name.empty()) return name;
  for (std::size_t i = std::min(first, frames.size()); i-- > 0;)
    if (const std::string name = name_of(frames[i]); !name.empty()) return name;
  if (!fallback.empty() || !library.empty()) return fallback.empty() ? library : fallback;
  if (frames.empty()) return "unknown";
  return module_and_offset(modules, frames[0]);
}

} // namespace

std::string label_of_site(Symbols& symbols, const std::vector<ModuleInfo>& modules,
                          const std::vector<Frame>& frames, std::size_t first) {
  if (frames.empty() || !modules[frames[0].module].system)
    return label_of_frames(symbols, modules, frames, first);
  // What a library of the system's allocated: by which of its functions, and for whom.
  const ModuleInfo& library = modules[frames[0].module];
  const ResolvedFrame resolved = symbols.resolve(library, frames[0].offset);
  const std::string by =
      (resolved.known ? short_function(resolved.portable.function) + " of " : "") + library.name;
  if (frames.size() == 1) return by;
  const std::string whose = label_of_frames(symbols, modules, {frames.begin() + 1, frames.end()},
                                            first > 0 ? first - 1 : 0);
  const bool has_place = whose.find(':') != std::string::npos;
  return has_place ? whose + ", by " + by : by + ", for " + whose;
}

namespace {

// How many lists of frames begin alike.
class Beginnings {
public:
  // Of sites or regions.
  explicit Beginnings(const auto& summaries) {
    for (const auto& summary : summaries) {
      Beginning beginning;
      for (const Frame& frame : summary.frames) {
        beginning.emplace_back(frame.module, frame.offset);
        ++lists_[beginning];
      }
    }
  }
  // Up to which frame the list begins as no other does; the last where another begins with it.
  std::size_t first_own(const std::vector<Frame>& frames) const {
    Beginning beginning;
    for (const Frame& frame : frames) {
      beginning.emplace_back(frame.module, frame.offset);
      if (lists_.at(beginning) == 1) break;
    }
    return beginning.empty() ? 0 : beginning.size() - 1;
  }

private:
  using Beginning = std::vector<std::pair<std::uint32_t, std::uint64_t>>;
  std::map<Beginning, unsigned> lists_;
};

// Equal labels are told apart by numbers, from the second on.
class Numbered {
public:
  std::string operator()(std::string label) {
    if (const unsigned times = ++met_[label]; times > 1) label += " #" + std::to_string(times);
    return label;
  }

private:
  std::map<std::string, unsigned> met_;
};

// Of what is no allocation site.
std::string label_of_area(const ProfileSummary& summary, const SiteSummary& site,
                          Symbols& symbols) {
  switch (site.kind) {
  case SiteKind::stacks:
    return site.objects == 1 ? "stack and thread-local variables"
                             : "stacks and thread-local variables";
  case SiteKind::heap:
    return "heap, not recorded (of the C library, the OpenMP runtime, before the record began)";
  default:
    break;
  }
  const ModuleInfo& module = summary.modules[site.frames[0].module];
  if (site.kind == SiteKind::statics) return "statics of " + module.name;
  if (site.kind == SiteKind::constants) return "code and constants of " + module.name;
  return "static " + symbols.label_of_static(module, site.frames[0].offset, site.symbol);
}

// A construct that is met on several ways is called after the first caller that only one has.
std::vector<std::string> labels_of_regions(Symbols& symbols, const ProfileSummary& summary) {
  std::vector<std::string> labels;
  Numbered numbered;
  const Beginnings beginnings(summary.regions);
  for (const RegionSummary& region : summary.regions) {
    std::string label = label_of_region(symbols, summary.modules, region.frames);
    if (const std::size_t own = beginnings.first_own(region.frames); own > 0)
      label += " from " + label_of_region(symbols, summary.modules, {region.frames[own]});
    labels.push_back(numbered(std::move(label)));
  }
  return labels;
}

std::vector<std::string> labels_of_sites(Symbols& symbols, const ProfileSummary& summary) {
  std::vector<std::string> labels;
  Numbered numbered;
  const Beginnings beginnings(summary.sites);
  for (const SiteSummary& site : summary.sites)
    if (site.kind == SiteKind::allocation || site.kind == SiteKind::mapping)
      labels.push_back(numbered(
          label_of_site(symbols, summary.modules, site.frames, beginnings.first_own(site.frames))));
    else
      labels.push_back(label_of_area(summary, site, symbols));
  return labels;
}

std::string label_of_phase(Symbols& symbols, const ProfileSummary& summary,
                           const ProfileNames& names, const PhaseSummary& phase) {
  switch (phase.kind) {
  case PhaseSummary::Kind::named:
    return phase.name;
  case PhaseSummary::Kind::to_barrier:
    return "up to the barrier of " + label_of_region(symbols, summary.modules, phase.frames);
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

ProfileNames names_of(const ProfileSummary& summary, Symbols& symbols) {
  ProfileNames names;
  names.sites = labels_of_sites(symbols, summary);
  names.regions = labels_of_regions(symbols, summary);
  for (const PhaseSummary& phase : summary.phases)
    names.phases.push_back(label_of_phase(symbols, summary, names, phase));
  return names;
}

std::string label_of_region(Symbols& symbols, const std::vector<ModuleInfo>& modules,
                            const std::vector<Frame>& frames) {
  if (frames.empty()) return "outside of regions";
  const ResolvedFrame resolved = symbols.resolve(modules[frames[0].module], frames[0].offset);
  if (!resolved.locations.empty() && resolved.locations[0].line > 0)
    return short_function(resolved.locations[0].function) + " (" + text_of(resolved.locations[0]) +
           ")";
  if (resolved.known) return short_function(resolved.portable.function);
  return module_and_offset(modules, frames[0]);
}

} // namespace omptier
