// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Who accesses an object: source lines with their functions, by share of the object's samples. And
// the reverse: the lines of one file, and the objects that each accesses.
#pragma once

#include "cli/report_text.hpp"

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

namespace omptier {

// An instruction's source line, in the innermost function that is not a library's.
struct AccessLine {
  std::string file, function; // file: as debug information has it; "" = unknown
  std::uint32_t line = 0;     // 0 = unknown
  bool changed = false;       // the file is not there, or not as it was compiled
  std::uint64_t samples = 0;
  double weight = 0;
  bool loads = false, stores = false;
  std::vector<CodeAtSite> sites; // each once

  std::string name() const; // "multiply (cg.cpp:41)"
};

// Lines with samples or with accesses in a loop around samples; most samples first.
std::vector<AccessLine> access_lines(const ProfileSummary& summary, Symbols& symbols);

// One table for each object whose name has options.filter (at most k_most_objects_explained);
// lines: from access_lines(). "" if no object has such a name.
inline constexpr std::size_t k_most_objects_explained = 10;
std::string who_accesses_text(const ProfileSummary& summary, const ProfileNames& names,
                              const std::vector<AccessLine>& lines,
                              const ProfileTextOptions& options);

// The source of `file` (a path, or the end of one) around its lines.
Parsed<std::string> annotated_text(const ProfileSummary& summary, const ProfileNames& names,
                                   const std::vector<AccessLine>& lines, const std::string& file,
                                   const ProfileTextOptions& options);

// "lines" of each site, in the order of the sites.
nlohmann::json access_lines_json(const ProfileSummary& summary,
                                 const std::vector<AccessLine>& lines);

} // namespace omptier
