// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// See report_text.hpp.
#include "cli/report_text.hpp"

#include "cli/moves_text.hpp"
#include "cli/objects_text.hpp"
#include "cli/phases_text.hpp"
#include "cli/ranks_text.hpp"
#include "cli/report_head.hpp"

namespace omptier {

const char* title_of(Measure measure) {
  return measure == Measure::misses ? "misses" : measure == Measure::accesses ? "accesses" : "time";
}

std::string objects_report(const ProfileSummary& summary, const ProfileNames& names,
                           const ProfileTextOptions& options) {
  std::string text = report_head(summary, options) + "\n";
  if (summary.sites.empty())
    text += "no objects were recorded: the program allocated nothing of 4 KiB or more\n";
  return text + objects_text({summary, names, options});
}

std::string profile_text(const ProfileSummary& summary, const ProfileNames& names,
                         const ProfileTextOptions& options) {
  std::string text = objects_report(summary, names, options);
  text += phases_text(summary, names, options);
  text += ranks_text(summary, names, options.most_sites);
  return text + moves_text(summary, names);
}

} // namespace omptier
