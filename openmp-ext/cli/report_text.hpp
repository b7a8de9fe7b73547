// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The output of `omptier report`: for people (tables that fit the terminal) and programs (JSON,
// CSV).
#pragma once

#include "analysis/aggregate.hpp"
#include "cli/table.hpp"
#include "symbols/symbols.hpp"

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

namespace omptier {

struct ProfileTextOptions {
  std::size_t most_sites = 20; // rows; the rest is one row
  std::size_t most_regions = 10;
  bool utf8 = true;    // bars from blocks, else from '#'
  bool blocks = false; // rows for the blocks of each site
  unsigned width = 0;  // columns; 0 = no limit
  bool colour = false;
  bool verbose = false;             // all that is known about the origin of the figures
  std::vector<std::string> columns; // of objects, by name; empty: as many as fit
  std::string sort;                 // objects by this column; "": by share
  std::string region;               // argument of keep_regions(); "": the whole run
  std::string filter;               // only objects whose name has this text, in any case
  std::optional<double> minimum;    // only rows of at least this share

  TextLook look() const { return {width, utf8, colour}; }
};

std::string profile_text(const ProfileSummary& summary, const ProfileNames& names,
                         const ProfileTextOptions& options);
// of_pictures: without blocks and the ranks' sites, which no picture shows and which may be many.
enum class Details : std::uint8_t { all, of_pictures };
nlohmann::json profile_json(const ProfileSummary& summary, const ProfileNames& names,
                            Symbols& symbols, Details details = Details::all);
// The head above the tables, and the table of objects.
std::string objects_report(const ProfileSummary& summary, const ProfileNames& names,
                           const ProfileTextOptions& options);
// One line per object, after a line of titles (docs/profiling.md); uses sort, filter and minimum.
std::string profile_csv(const ProfileSummary& summary, const ProfileNames& names,
                        const ProfileTextOptions& options);

const char* title_of(Measure measure);

} // namespace omptier
