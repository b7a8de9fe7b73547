// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// See live_ranges.hpp.
#include "advisor/live_ranges.hpp"

#include "base/os.hpp"
#include "base/rounding.hpp"

#include <algorithm>

namespace omptier {
namespace {

void add_range(std::vector<LiveRange>& ranges, std::size_t site, std::uint64_t begin,
               std::uint64_t end) {
  begin = round_up(begin, page_size());
  end = round_down(end, page_size());
  if (begin < end) ranges.push_back({site, begin, end - begin});
}

} // namespace

std::vector<LiveRange> live_ranges(const Workload& workload, const ProfileSummary& summary) {
  std::vector<LiveRange> ranges;
  for (std::size_t number = 0; number < workload.sites.size(); ++number) {
    const SiteDemand& site = workload.sites[number];
    if (!site.placeable || !site.by_plan || (site.small_blocks && !site.ranges.empty())) continue;
    const SiteSummary& from = summary.sites[site.site];
    const auto add = [&](std::uint64_t address, std::uint64_t bytes) {
      if (site.ranges.empty()) add_range(ranges, number, address, address + bytes);
      for (const ByteRange& range : site.ranges)
        add_range(ranges, number, address + std::min(range.begin, bytes),
                  address + std::min(range.end, bytes));
    };
    if (from.kind == SiteKind::variable) {
      const Frame& at = from.frames[0];
      add(summary.modules[at.module].bias + at.offset, from.bytes_largest);
    }
    for (const InstanceSummary& block : from.instances)
      if (block.lives &&
          (site.blocks.empty() || std::ranges::binary_search(site.blocks, block.instance)))
        add(block.address, block.bytes);
  }
  return ranges;
}

} // namespace omptier
