// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What each site's next best memory is worth (advise --why), from one placement: quick for very
// many sites, where decision.hpp decides anew for one.
#pragma once

#include "advisor/advice.hpp"

#include <string>
#include <vector>

namespace omptier {

// For each site of the advice, moved alone and nothing decided again: what the next best tier is
// worth and, where it is better, which part of the site still fits there. "" for sites that do not
// move, or for which a better tier has no room at all.
std::vector<std::string> alternatives(const Advice& advice);

} // namespace omptier
