// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// See latest.hpp.
#include "analysis/latest.hpp"

#include <algorithm>

namespace omptier {
namespace {

// Returns how many went.
template <typename Records> std::size_t drop_before(Records& records, std::uint64_t time) {
  using Record = typename Records::value_type;
  const auto first = std::ranges::lower_bound(records, time, {}, &Record::time);
  const auto gone = static_cast<std::size_t>(first - records.begin());
  records.erase(records.begin(), first);
  return gone;
}

void drop_patterns_before(Profile& profile, std::uint64_t time) {
  const std::size_t gone = drop_before(profile.patterns, time);
  for (LoggedSample& sample : profile.samples) {
    if (sample.first_pattern < gone) sample.patterns = 0; // a damaged clock
    sample.first_pattern -=
        static_cast<std::uint32_t>(std::min<std::size_t>(sample.first_pattern, gone));
  }
}

// Numbers are places in the list.
void drop_freed_before(Profile& profile, std::uint64_t time) {
  std::erase_if(profile.objects,
                [&](const ObjectRecord& object) { return object.released <= time; });
  for (std::size_t number = 0; number < profile.objects.size(); ++number)
    profile.objects[number].object = number;
}

} // namespace

void keep_from(Profile& profile, std::uint64_t time) {
  if (time <= profile.run.start_time) return;
  profile.run.start_time = time;
  drop_before(profile.samples, time);
  drop_patterns_before(profile, time);
  drop_before(profile.reuses, time);
  drop_freed_before(profile, time);
}

} // namespace omptier
