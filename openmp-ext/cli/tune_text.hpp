// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The output of `omptier tune`: for people and as JSON, and the reasons in its plan.
#pragma once

#include "tuning/search.hpp"

#include <string>

namespace omptier {

// What a text tells, beside the result.
struct Tuned {
  const TuningProblem& problem;
  const TuningResult& result;
  bool by_metric = false; // figures are the program's own, else seconds
};

std::string tuning_text(const Tuned& of);
// docs/decisions.md describes it. Seconds or the program's own figures, fractions of 1.
std::string tuning_json(const Tuned& of);

std::string figure_text(double figure, bool by_metric); // "12.3 s", "12.3"
// "measured: 12.3 % ± 0.4 % slower in NVM (3 runs)"; "" if it was not.
std::string measured_reason(const TuningProblem& problem, const GroupEffect& effect);

} // namespace omptier
