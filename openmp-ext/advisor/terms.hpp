// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Terms of the advisor's model that can be left out, to measure what each is worth
// (benchmarks/published/ablation.py). Nobody else needs to.
#pragma once

#include <string>
#include <string_view>

namespace omptier {

struct Terms {
  bool new_pages = true; // the kernel's clears of new huge pages
  bool parts = true;     // blocks and ranges of a site may lie apart from the rest of it
  bool caches = true;    // what a cache is known to have served is no demand
  bool lines = true;     // a loop's time is divided by the lines that its objects ask for
  bool loops = true;     // arrays of one loop wait for each other, memories transfer at once
  bool overlap = true;   // of scattered loads, several wait at once; between many, streams are lost
  bool blocks = true;    // NVM moves blocks of several lines
};

// One or several of their names, with commas between. "" if all are known, else what is wrong.
std::string leave_out(std::string_view names, Terms& terms);

} // namespace omptier
