// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Output of neutron_lookup: one "name value" line per fact, with a remark for people after '#', or
// the same as JSON.
#pragma once

#include "materials.hpp"
#include "options.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace neutron {

// The lookups repeated with another placement.
struct Trial {
  double seconds = 0;
  std::array<std::string, k_arrays> where;
};

struct Report {
  int threads = 1;
  double setup_seconds = 0;
  double lookup_seconds = 0;
  std::uint64_t checksum = 0;
  bool marked = false;          // the virtual machine's model charged the lookups only
  std::optional<bool> verified; // empty: not requested
  std::array<std::string, k_arrays> where; // empty: not requested
  std::array<std::string, k_arrays> range; // addresses "first-last", hexadecimal; with where
  std::vector<Trial> trials;               // one for each of Options::tries
};

// Per array "dram:<bytes>,hbm:<bytes>" (kinds that hold any of it), or "unknown".
std::array<std::string, k_arrays> describe_where(const Grids& grids);

std::array<std::string, k_arrays> describe_ranges(const Grids& grids);

void print_report(const Options& options, const std::vector<Material>& materials,
                  const Report& report);

} // namespace neutron
