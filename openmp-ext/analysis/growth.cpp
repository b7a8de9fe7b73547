// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// See growth.hpp.
#include "analysis/growth.hpp"

#include <algorithm>
#include <map>
#include <utility>

namespace omptier {
namespace {

struct OldCopy {
  std::uint64_t begin = 0, end = 0; // times
  std::uint64_t bytes = 0;
};

bool is_old_copy(const ObjectRecord& old, const ObjectRecord& next, std::uint64_t after_next) {
  if (next.bytes <= old.bytes || old.released <= next.time) return false;
  if (old.released > after_next || old.released >= next.released) return false;
  return (old.released - next.time) / k_longest_copy <= next.time - old.time;
}

// For each site. A thread may let several containers grow at one site in turn: the block that a new
// one replaces is the one freed next, so each old block is tried against the newest.
class OldCopies {
public:
  explicit OldCopies(std::size_t sites) : of_site_(sites) {}

  void add(std::uint32_t site, const std::vector<const ObjectRecord*>& blocks) {
    for (std::size_t next = 1; next < blocks.size(); ++next) {
      const std::uint64_t after =
          next + 1 < blocks.size() ? blocks[next + 1]->time : ObjectRecord::k_never;
      const ObjectRecord* first = nullptr; // to be freed while it was the newest
      for (std::size_t i = next - std::min(next, k_looked_at); i < next; ++i)
        if (is_old_copy(*blocks[i], *blocks[next], after) &&
            (first == nullptr || blocks[i]->released < first->released))
          first = blocks[i];
      if (first != nullptr)
        of_site_[site].push_back({blocks[next]->time, first->released, first->bytes});
    }
  }
  const std::vector<OldCopy>& of(std::size_t site) const { return of_site_[site]; }

private:
  static constexpr std::size_t k_looked_at = 16; // blocks before a new one
  std::vector<std::vector<OldCopy>> of_site_;
};

void set_growth(SiteInProfile& site, const std::vector<OldCopy>& copies, std::uint64_t start) {
  std::map<std::uint64_t, std::uint64_t> changes; // of old copies' bytes; unsigned sums wrap back
  for (const OldCopy& copy : copies) {
    changes[copy.begin - std::min(copy.begin, start)] += copy.bytes;
    changes[copy.end - std::min(copy.end, start)] -= copy.bytes;
  }
  std::uint64_t old = 0, without = 0;
  auto change = changes.begin();
  for (const LiveStep& step : site.live) {
    for (; change != changes.end() && change->first <= step.time; ++change)
      old += change->second;
    without = std::max(without, step.bytes - std::min(step.bytes, old));
  }
  site.bytes_growing = site.bytes_peak - std::min(site.bytes_peak, without);
  for (std::size_t i = 0; i + 1 < site.live.size(); ++i)
    if (site.live[i].bytes > without)
      site.nanoseconds_growing += site.live[i + 1].time - site.live[i].time;
}

} // namespace

void measure_growth(const Profile& profile, std::span<const std::uint32_t> site_numbers,
                    std::vector<SiteInProfile>& sites) {
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::vector<const ObjectRecord*>> by_thread;
  for (const ObjectRecord& object : profile.objects)
    if (object.allocator < ObjectRecord::k_area)
      by_thread[{site_numbers[object.site], object.thread}].push_back(&object);
  OldCopies copies(sites.size());
  for (const auto& [key, blocks] : by_thread)
    copies.add(key.first, blocks);
  constexpr std::size_t k_least = 2;
  for (std::size_t site = 0; site < sites.size(); ++site)
    if (copies.of(site).size() >= k_least)
      set_growth(sites[site], copies.of(site), profile.run.start_time);
}

} // namespace omptier
