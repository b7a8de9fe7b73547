// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The names of a profile's places: what symbol tables, debug information and source text answer to
// a report's questions. `omptier record` adds them when the program has ended, so that a report is
// the same wherever and whenever it is made. They are kept by module identity, so the names of
// several profiles fit into one table.
#pragma once

#include "objects/site.hpp"

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace omptier {

// If one Fortran statement makes several calls of one function: which one, in the source's order.
struct CallOrder {
  std::uint32_t index = 0, count = 0; // count 0 = unknown
  bool operator==(const CallOrder&) const = default;
};

struct SourceLocation { // one function, inlined or not, that the frame stands in
  std::string function;
  std::string file;                   // as debug information has it, with folders
  std::uint32_t line = 0, column = 0; // 0 = unknown
  std::string defined_in;             // the file of the function itself; "" = unknown
  CallOrder order;
  bool changed = false; // the file is not there, or was changed after the program was made
  bool operator==(const SourceLocation&) const = default;
};

struct ResolvedFrame {
  bool known = false;                    // a function was found
  PortableFrame portable;                // function as linked, which call, file without folders
  std::vector<SourceLocation> locations; // innermost inlined function first, the linked one last
  std::uint64_t runs = 0; // the call begins a parallel region: address of its code; 0 = unknown
};

struct StaticVariable {
  std::string symbol;       // as the linker knows it
  std::uint64_t offset = 0; // address - load bias
  std::uint64_t bytes = 0;
};

struct SiteName {
  std::string name;                // "" when the source does not say it
  std::size_t first = 0, last = 0; // of the locations that it was made from
  bool operator==(const SiteName&) const = default;
};

// A site's name depends on other sites only by the first location that it shares with none.
struct SiteNameFrom {
  std::size_t own = 0; // for this first own location, and later ones up to the next element's
  SiteName name;
};

// Nanoseconds of the last write; none if the file does not exist.
std::optional<std::int64_t> source_time(const std::string& file);

using ModulePlace = std::pair<std::string, std::uint64_t>; // identity and offset, as in Frame

struct ResolvedNames {
  std::map<std::string, std::int64_t> sources; // files as compiled: when written (source_time)
  std::map<ModulePlace, ResolvedFrame> frames;
  std::map<std::string, std::vector<StaticVariable>> statics;                // by identity
  std::map<std::pair<ModulePlace, std::string>, std::string> static_labels;  // and symbol
  std::map<std::vector<ModulePlace>, std::vector<SiteNameFrom>> sites;       // innermost first
};

} // namespace omptier
