// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Functions and loops by share of the samples: the second table of a program without parallel
// regions.
#pragma once

#include "cli/report_text.hpp"

#include <nlohmann/json_fwd.hpp>

namespace omptier {

// A loop of a function, or the whole function.
struct CodePlace {
  std::string name; // "move (eight.c:17)": of a function with its hottest line, of a loop its first
  std::uint64_t samples = 0;
  double weight = 0;
  Share share;                  // of all samples
  std::vector<CodePlace> loops; // of a function, hottest first
};

// Samples count for the innermost inlined function. Hottest first.
std::vector<CodePlace> functions_of(const ProfileSummary& summary, Symbols& symbols);

// "" without samples in known code.
std::string code_text(const ProfileSummary& summary, const std::vector<CodePlace>& functions,
                      const ProfileTextOptions& options);
nlohmann::json code_json(const std::vector<CodePlace>& functions);

} // namespace omptier
