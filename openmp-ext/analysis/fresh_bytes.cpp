// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// See fresh_bytes.hpp.
#include "analysis/fresh_bytes.hpp"

#include "model/kept_memory.hpp"

#include <algorithm>
#include <deque>

namespace omptier {
namespace {

struct Change {
  std::uint64_t time = 0, bytes = 0;
  bool frees = false;
  bool was_there = false; // what it frees, when the recording began
};

// Freed memory that placement keeps, the newest last.
class Kept {
public:
  void put(std::uint64_t time, std::uint64_t bytes) {
    if (bytes > k_largest_kept) return;
    freed_.push_back({time, bytes, true});
    for (all_ += bytes; all_ > k_kept_bytes; freed_.pop_front())
      all_ -= freed_.front().bytes;
  }
  // Returns how many bytes of a block it does not supply.
  std::uint64_t take(std::uint64_t time, std::uint64_t bytes) {
    for (; !freed_.empty() && time - freed_.front().time > k_usual_decay; freed_.pop_front())
      all_ -= freed_.front().bytes;
    while (bytes > 0 && !freed_.empty()) {
      const std::uint64_t part = std::min(bytes, freed_.back().bytes);
      bytes -= part;
      all_ -= part;
      if ((freed_.back().bytes -= part) == 0) freed_.pop_back();
    }
    return bytes;
  }

private:
  std::deque<Change> freed_;
  std::uint64_t all_ = 0;
};

// changes: in order, as below.
std::uint64_t not_supplied(const std::vector<Change>& changes) {
  Kept kept;
  std::uint64_t fresh = 0;
  for (const Change& change : changes)
    if (change.frees)
      kept.put(change.time, change.bytes);
    else
      fresh += kept.take(change.time, change.bytes);
  return fresh;
}

std::uint64_t most_alive(const std::vector<Change>& changes) {
  std::uint64_t alive = 0, most = 0;
  for (const Change& change : changes)
    if (!change.frees)
      most = std::max(most, alive += change.bytes);
    else if (!change.was_there)
      alive -= change.bytes;
  return most;
}

} // namespace

void measure_fresh_bytes(const Profile& profile, std::span<const std::uint32_t> site_numbers,
                         std::vector<SiteInProfile>& sites) {
  std::vector<std::vector<Change>> changes(sites.size());
  std::vector<std::uint64_t> logged(sites.size()), there(sites.size()); // there: from the start
  for (const ObjectRecord& object : profile.objects) {
    if (object.allocator >= ObjectRecord::k_area || object.bytes < k_large_block) continue;
    const std::uint32_t site = site_numbers[object.site];
    logged[site] += object.bytes;
    const bool was_there = object.time < profile.run.start_time;
    if (was_there)
      there[site] += object.bytes;
    else
      changes[site].push_back({object.time, object.bytes});
    if (object.released != ObjectRecord::k_never)
      changes[site].push_back({object.released, object.bytes, true, was_there});
  }
  for (std::size_t number = 0; number < sites.size(); ++number) {
    SiteInProfile& site = sites[number];
    const std::uint64_t others = site.bytes_total - std::min(site.bytes_total, logged[number]);
    const bool counted =
        site.objects > 0 && others / site.objects >= k_large_block; // large ones, one by one not
    site.fresh.always = logged[number] - there[number] + (counted ? others : 0);
    std::ranges::stable_sort(changes[number], {}, &Change::time);
    site.fresh.reused = not_supplied(changes[number]);
    site.fresh.once = most_alive(changes[number]);
    if (counted) {
      site.fresh.reused = std::max(site.fresh.reused, site.bytes_peak);
      site.fresh.once = site.bytes_peak;
    }
    site.fresh.reused = std::min(site.fresh.reused, site.fresh.always);
  }
}

} // namespace omptier
