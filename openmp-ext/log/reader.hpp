// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Reads a profile. A log that was cut off (crash, kill, full disk) is good up to its last whole
// block and says so; changed bytes are a failure that names file and offset. Contents are not
// trusted: lengths and numbers are checked before use.
#pragma once

#include "base/text.hpp"
#include "log/names.hpp"
#include "log/records.hpp"

#include <optional>
#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

namespace omptier {

struct Profile {
  std::string file;
  RunRecord run;
  std::vector<ModuleInfo> modules;         // by number; unknown ones are empty
  std::vector<SiteRecord> sites;           // by number
  std::vector<ObjectRecord> objects;       // in order of time; released and instance filled in
  std::vector<SmallObjects> small_objects; // by number of the site
  std::unordered_set<std::uint64_t> small_areas;      // address / k_small_area
  std::vector<AreaRecord> areas;                      // in the order of the log
  std::vector<RegionDefinition> region_definitions;   // by number
  std::vector<RegionRecord> regions;                  // in order of time
  std::vector<StretchDefinition> stretch_definitions; // by number
  std::vector<StretchRecord> stretches;               // in order of their ends
  std::vector<PhaseRecord> phases;
  std::vector<MoveRecord> moves;           // in order of time
  std::vector<LoggedSample> samples;       // in order of time
  std::vector<LoggedPattern> patterns;     // in order of time
  std::vector<LoggedReuse> reuses;         // in order of time
  std::vector<SiteTotals> site_totals;     // in order of time
  std::vector<RegionTotals> region_totals; // by number; the last of each
  std::vector<Thinning> thinnings;         // in order of time
  Shortages shortages;
  std::uint64_t samples_lost = 0;
  std::uint64_t lost_by[k_loss_reasons] = {}; // the same by reason
  std::uint64_t samples_waiting = 0;          // in the OpenMP runtime; not among the samples
  double waiting = 0;                         // their weight
  std::optional<EndRecord> end;
  std::uint64_t last_time = 0; // of any record
  std::uint64_t bytes = 0;     // of the file that were read
  bool running = false;        // the process that writes it still runs
  std::uint32_t blocks = 0;    // these
  std::optional<ResolvedNames> names; // what its places are called, if that was added
  std::string cut;             // one line when the log was cut off: file, offset, why
};

// A failure is one line "<file>: byte <offset>: what is wrong; what to do".
Parsed<Profile> read_profile(const std::string& path);
Parsed<Profile> parse_profile(std::string_view bytes, const std::string& name);

} // namespace omptier
