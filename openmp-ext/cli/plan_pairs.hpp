// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Which entries of two plans are the same object's. They may have been made for different builds.
#pragma once

#include "plan/plan.hpp"

#include <vector>

namespace omptier {

struct PlanPair {
  const PlanEntry *a = nullptr, *b = nullptr; // none: the plan does not name it
  const PlanEntry& either() const { return b ? *b : *a; }
};

// By what the runtime knows them by; what is left by name, and where builds differ by name without
// line numbers, if that is unique. Valid as long as the plans; the first plan's order.
std::vector<PlanPair> pairs_of(const Plan& a, const Plan& b);

} // namespace omptier
