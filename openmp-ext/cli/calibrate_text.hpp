// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What omptier calibrate found, for people and as JSON.
#pragma once

#include "calibration/outcome.hpp"
#include "platform/platform.hpp"

#include <string>
#include <vector>

namespace omptier {

struct Calibrated {
  const Platform& platform; // as it was before
  const std::vector<CpuGroup>& groups;
  const std::vector<Result>& results;
  const std::vector<PairOutcome>& pairs;
  std::size_t tasks, not_begun; // because --time was over
};

// Tables, then a line for each thing that was left out. Ends with a newline.
std::string calibrated_text(const Calibrated& found);

// file: where the figures were written to, "" = they were not.
std::string calibrated_json(const Calibrated& found, const PlatformFile& written,
                            const std::string& file);

} // namespace omptier
