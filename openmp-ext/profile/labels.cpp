// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Names of sites and regions for people (declared in symbols.hpp). A site is called after the
// variable its memory is given to, read from the source line of the call; the line is found by
// debug information, and read only if the file is where it was compiled.
#include "profile/symbols.hpp"

#include <algorithm>
#include <cctype>
#include <fstream>
#include <map>
#include <sstream>
#include <string_view>

namespace omptier {
namespace {

bool is_name_letter(char letter) {
  return std::isalnum(static_cast<unsigned char>(letter)) != 0 || letter == '_';
}

std::string trimmed(std::string text) {
  while (!text.empty() && std::isspace(static_cast<unsigned char>(text.back())) != 0)
    text.pop_back();
  std::size_t first = 0;
  while (first < text.size() && std::isspace(static_cast<unsigned char>(text[first])) != 0)
    ++first;
  return text.substr(first);
}

// The last name of an expression that is assigned to: "grid->nuclide[i]" -> "nuclide".
std::string last_name(std::string text) {
  text = trimmed(text);
  while (!text.empty() && text.back() == ']') { // drop subscripts
    int depth = 0;
    do {
      depth += text.back() == ']' ? 1 : text.back() == '[' ? -1 : 0;
      text.pop_back();
    } while (!text.empty() && depth > 0);
    text = trimmed(text);
  }
  std::size_t begin = text.size();
  while (begin > 0 && is_name_letter(text[begin - 1]))
    --begin;
  std::string name = text.substr(begin);
  if (name.empty() || std::isdigit(static_cast<unsigned char>(name[0])) != 0) return "";
  return name;
}

// "#pragma omp allocate(x) …" -> "x"
std::string directive_name(const std::string& line) {
  const auto pragma = line.find("omp allocate(");
  if (pragma == std::string::npos) return "";
  const auto begin = pragma + 13, end = line.find_first_of(",)", begin);
  return end == std::string::npos ? "" : trimmed(line.substr(begin, end - begin));
}

std::string location(const SourcePlace& place) {
  const auto slash = place.file.rfind('/');
  const std::string file = slash == std::string::npos ? place.file : place.file.substr(slash + 1);
  return file + ":" + std::to_string(place.line);
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

// The name that the statement at the place assigns to. A statement may have begun on the line
// before.
std::string name_at(const SourcePlace& place) {
  if (place.line == 0 || place.file.empty()) return "";
  std::ifstream in(place.file);
  std::string line, before;
  for (std::uint32_t i = 0; i < place.line; ++i) {
    before = line;
    if (!std::getline(in, line)) return "";
  }
  if (std::string name = assigned_name(line, place.column); !name.empty()) return name;
  before = trimmed(before);
  return !before.empty() && before.back() == '=' ? assigned_name(before) : "";
}

// "long sum = 0, *table =" -> behind the comma: a call belongs to the last of several declarators.
std::size_t begin_of_last_declarator(const std::string& statement) {
  std::size_t begin = 0;
  int depth = 0;
  for (std::size_t i = 0; i < statement.size(); ++i) {
    if (statement[i] == '(') ++depth;
    if (statement[i] == ')' && depth > 0) --depth;
    if (statement[i] == ',' && depth == 0 && statement.find('=', i) != std::string::npos)
      begin = i + 1;
  }
  return begin;
}

} // namespace

std::string assigned_name(const std::string& whole, std::uint32_t column) {
  if (std::string name = directive_name(whole); !name.empty()) return name;
  std::string line = whole;
  if (column > 0 && column <= line.size()) { // the last statement that begins before the call
    line.resize(column - 1);
    if (const auto end = line.find_last_of(";{}"); end != std::string::npos) line.erase(0, end + 1);
  }
  line.erase(0, begin_of_last_declarator(line));
  int depth = 0;
  for (std::size_t i = 0; i < line.size(); ++i) {
    const char letter = line[i];
    if (letter == '"' || letter == '\'' ||
        (letter == '/' && i + 1 < line.size() && line[i + 1] == '/'))
      return "";
    if (letter == '(') ++depth;
    if (letter == ')' && depth > 0) --depth; // a condition may have begun on the line before
    if (letter != '=' || depth > 0) continue;
    const char before = i > 0 ? line[i - 1] : ' ', after = i + 1 < line.size() ? line[i + 1] : ' ';
    if (after == '=' || std::string("=!<>+-*/%&|^").find(before) != std::string::npos) return "";
    return last_name(line.substr(0, i));
  }
  return "";
}

std::string variable_of(const std::vector<SourcePlace>& places,
                        std::filesystem::file_time_type made) {
  std::string names;
  for (const SourcePlace& place : places) {
    std::error_code no_file;
    const auto changed = std::filesystem::last_write_time(place.file, no_file);
    if (no_file || changed > made) continue;
    if (const std::string name = name_at(place); !name.empty())
      names = names.empty() ? name : name + "/" + names;
  }
  return names;
}

std::string label_of_site(Symbols& symbols, const std::vector<ModuleInfo>& modules,
                          const std::vector<Frame>& frames, std::size_t first) {
  std::string fallback;
  const auto name_of = [&](const Frame& frame) -> std::string {
    const ResolvedFrame resolved = symbols.resolve(modules[frame.module], frame.offset);
    for (const SourcePlace& place : resolved.places) {
      if (const std::string name = name_at(place); !name.empty())
        return name + " (" + location(place) + ")";
      if (fallback.empty() && place.line > 0)
        fallback = short_function(place.function) + " (" + location(place) + ")";
    }
    if (fallback.empty() && resolved.known) fallback = short_function(resolved.portable.function);
    return "";
  };
  for (std::size_t i = first; i < frames.size(); ++i)
    if (const std::string name = name_of(frames[i]); !name.empty()) return name;
  for (std::size_t i = std::min(first, frames.size()); i-- > 0;)
    if (const std::string name = name_of(frames[i]); !name.empty()) return name;
  if (!fallback.empty()) return fallback;
  if (frames.empty()) return "unknown";
  std::ostringstream text;
  text << modules[frames[0].module].name << "+0x" << std::hex << frames[0].offset;
  return text.str();
}

ProfileNames names_of(const ProfileSummary& summary, Symbols& symbols) {
  using Place = std::pair<std::uint32_t, std::uint64_t>;
  std::map<std::vector<Place>, unsigned> beginnings; // how many sites begin so
  const auto for_each_beginning = [](const SiteSummary& site, auto use) {
    std::vector<Place> beginning;
    for (std::size_t i = 0; i < site.frames.size(); ++i) {
      beginning.emplace_back(site.frames[i].module, site.frames[i].offset);
      if (!use(beginning, i)) return;
    }
  };
  for (const SiteSummary& site : summary.sites)
    for_each_beginning(site, [&](const auto& beginning, std::size_t) {
      ++beginnings[beginning];
      return true;
    });
  ProfileNames names;
  std::map<std::string, unsigned> met;
  for (const SiteSummary& site : summary.sites) {
    std::size_t first = 0;
    for_each_beginning(site, [&](const auto& beginning, std::size_t i) {
      first = i;
      return beginnings[beginning] > 1;
    });
    std::string label = label_of_site(symbols, summary.modules, site.frames, first);
    if (const unsigned times = ++met[label]; times > 1) label += " #" + std::to_string(times);
    names.sites.push_back(std::move(label));
  }
  for (const RegionSummary& region : summary.regions)
    names.regions.push_back(label_of_region(symbols, summary.modules, region.frames));
  return names;
}

std::string label_of_region(Symbols& symbols, const std::vector<ModuleInfo>& modules,
                            const std::vector<Frame>& frames) {
  if (frames.empty()) return "outside of regions";
  const ResolvedFrame resolved = symbols.resolve(modules[frames[0].module], frames[0].offset);
  if (!resolved.places.empty() && resolved.places[0].line > 0)
    return short_function(resolved.places[0].function) + " (" + location(resolved.places[0]) + ")";
  if (resolved.known) return short_function(resolved.portable.function);
  std::ostringstream text;
  text << modules[frames[0].module].name << "+0x" << std::hex << frames[0].offset;
  return text.str();
}

} // namespace omptier
