// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The room that a workload's sites need over time, cut where any of them changes (model/room.hpp).
#pragma once

#include "advisor/workload.hpp"
#include "model/room.hpp"

#include <vector>

namespace omptier {

class Needs {
public:
  explicit Needs(const Workload& workload);

  // Valid as long as this.
  Need of(std::size_t site) const { return {peaks_[site], stays_[site]}; }
  std::size_t pieces() const { return lengths_.size(); }
  double length(std::size_t piece) const { return lengths_[piece]; } // nanoseconds

private:
  std::vector<double> lengths_; // by piece; at least one
  std::vector<std::uint64_t> peaks_;
  std::vector<std::vector<Stay>> stays_;
};

} // namespace omptier
