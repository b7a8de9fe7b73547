// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The command line of neutron_lookup. Anything not understood is one line on stderr and status 2.
#pragma once

#include "arrays.hpp"
#include "grids.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace neutron {

struct Options {
  std::string size = "small"; // as asked: a name, "bytes" or "shape"
  Shape shape;
  std::uint64_t lookups = 0;
  int threads = 0; // 0: as OpenMP decides
  std::uint64_t seed = 1;
  Placement placement;
  std::vector<Placement> tries; // after the run: the lookups again, with the arrays moved there
  bool reverse_order = false;
  bool mark = false;
  bool verify = false;
  bool where = false;
  bool json = false;
};

// Nothing, after having said why on stderr, if the arguments are wrong. Prints the help and ends
// the program with status 0 if that is asked for.
std::optional<Options> read_options(int argc, char** argv);

} // namespace neutron
