// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The command line of neutron_lookup. An invalid option gives one line on stderr and status 2.
#pragma once

#include "arrays.hpp"
#include "grids.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace neutron {

struct Options {
  std::string size = "small"; // as given: a name, "bytes" or "shape"
  Shape shape;
  std::uint64_t lookups = 0;
  int threads = 0; // 0: as OpenMP decides
  std::uint64_t seed = 1;
  Placement placement;
  std::vector<Placement> tries; // placements to move the arrays to, and repeat the lookups
  bool reverse_order = false;
  bool mark = false;
  bool verify = false;
  bool where = false;
  bool json = false;
};

// Returns nothing, after an error message, if the arguments are invalid. For --help, prints the
// help and exits with status 0.
std::optional<Options> read_options(int argc, char** argv);

} // namespace neutron
