// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Names of sites and regions for people (declared in symbols.hpp). A site is called after the
// variable its memory is given to, read from the source line of the call; the line is found by
// debug information, and read only if the file is where it was compiled.
#include "profile/symbols.hpp"

#include <cctype>
#include <fstream>
#include <sstream>

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
std::string short_function(const std::string& function) {
  const auto arguments = function.find('(');
  std::string name = function.substr(0, arguments == 0 ? std::string::npos : arguments);
  const auto outlined = name.find(".omp_outlined");
  return outlined == std::string::npos ? name : name.substr(0, outlined);
}

// Lines number and the one before it, joined when the statement began there.
std::string source_statement(const SourcePlace& place) {
  if (place.line == 0 || place.file.empty()) return "";
  std::ifstream in(place.file);
  std::string line, before;
  for (std::uint32_t i = 0; i < place.line; ++i) {
    before = line;
    if (!std::getline(in, line)) return "";
  }
  const std::string end_before = trimmed(before);
  if (!end_before.empty() && end_before.back() == '=') return end_before + " " + line;
  return line;
}

} // namespace

std::string assigned_name(const std::string& line) {
  if (std::string name = directive_name(line); !name.empty()) return name;
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

std::string label_of_site(Symbols& symbols, const std::vector<ModuleInfo>& modules,
                          const std::vector<Frame>& frames) {
  std::string fallback;
  for (const Frame& frame : frames) {
    const ResolvedFrame resolved = symbols.resolve(modules[frame.module], frame.offset);
    for (const SourcePlace& place : resolved.places) {
      if (const std::string name = assigned_name(source_statement(place)); !name.empty())
        return name + " (" + location(place) + ")";
      if (fallback.empty() && place.line > 0)
        fallback = short_function(place.function) + " (" + location(place) + ")";
    }
    if (fallback.empty() && resolved.known) fallback = short_function(resolved.portable.function);
  }
  if (!fallback.empty()) return fallback;
  if (frames.empty()) return "unknown";
  std::ostringstream text;
  text << modules[frames[0].module].name << "+0x" << std::hex << frames[0].offset;
  return text.str();
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
