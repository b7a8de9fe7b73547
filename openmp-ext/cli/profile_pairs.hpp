// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Which objects and regions of two profiles are the same. The program may have been built anew in
// between; then places are found again as a plan's are: by functions, callees, and the variable
// that gets the result or else which of how many calls it is.
#pragma once

#include "analysis/compare.hpp"
#include "symbols/symbols.hpp"

#include <span>
#include <string>
#include <vector>

namespace omptier {

// What a place is known by; "": not known so.
struct PlaceKeys {
  std::string exact;    // by build and offset
  std::string portable; // by names
  std::string label;    // for people
};

struct ProfilePlaces {
  std::string build; // of the program; "": not known
  std::vector<PlaceKeys> sites, regions;
};
ProfilePlaces places_of(const ProfileSummary& summary, const ProfileNames& names, Symbols& symbols);

// Exact ones; then, where that is unique among what is left of both sides, by names, by label and,
// where builds differ, by label without line numbers. The first's order, then what is left of the
// second.
std::vector<ComparedPair> pairs_of(std::span<const PlaceKeys> a, std::span<const PlaceKeys> b,
                                   bool same_build);

} // namespace omptier
