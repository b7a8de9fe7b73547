// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// See blocks_text.hpp. A site may have millions of blocks: the hottest are listed.
#include "cli/blocks_text.hpp"

#include "analysis/blocks.hpp"
#include "analysis/shares.hpp"
#include "base/text.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>

namespace omptier {
namespace {

constexpr std::size_t k_most_block_rows = 10, k_most_in_json = 256;

std::vector<const InstanceSummary*> hottest(const SiteSummary& site, std::size_t most) {
  std::vector<const InstanceSummary*> blocks;
  for (const InstanceSummary& block : site.instances)
    blocks.push_back(&block);
  std::ranges::stable_sort(blocks, [](const auto* one, const auto* other) {
    return one->weight > other->weight;
  });
  blocks.resize(std::min(blocks.size(), most));
  return blocks;
}

BlocksRow row_of(const ProfileSummary& summary, const SiteSummary& site,
                 std::span<const std::uint32_t> numbers) {
  BlocksRow row;
  double weight = 0;
  for (const InstanceSummary& block : site.instances)
    if (std::ranges::binary_search(numbers, block.instance)) {
      weight += block.weight;
      row.bytes += block.bytes;
      ++row.blocks;
    }
  row.sampled.share = share_of_blocks(summary, site, weight);
  row.name = blocks_in_words(numbers);
  return row;
}

} // namespace

std::vector<BlocksRow> block_rows(const ProfileSummary& summary, const SiteSummary& site,
                                  bool each) {
  std::vector<BlocksRow> rows;
  if (site.blocks < 2) return rows;
  if (!site.hot_blocks.empty()) {
    rows.push_back(row_of(summary, site, site.hot_blocks));
    rows.back().name += " (of " + std::to_string(site.blocks) + ", counted from 0): " +
                        format_percent(share_of(rows.back().sampled.share.value,
                                                site.share.value)) +
                        " of the samples above";
  }
  if (!each) return rows;
  for (const InstanceSummary* block : hottest(site, k_most_block_rows)) {
    const std::uint32_t number[] = {block->instance};
    rows.push_back(row_of(summary, site, number));
    rows.back().name += " (" + format_duration(double(block->begin)) + " to " +
                        format_duration(double(block->end)) + ")";
  }
  return rows;
}

std::string growth_text(const SiteSummary& site) {
  if (site.bytes_growing == 0 || site.bytes_growing < site.bytes_peak / 20) return "";
  return format_size(site.bytes_growing) +
         " of its most bytes were old copies while it grew, for " +
         format_duration(double(site.nanoseconds_growing));
}

nlohmann::json blocks_json(const ProfileSummary& summary, const SiteSummary& site) {
  nlohmann::json json = {{"blocks_recorded", site.blocks}, {"hot_blocks", site.hot_blocks}};
  for (const InstanceSummary* block : hottest(site, k_most_in_json)) {
    const Share share = share_of_blocks(summary, site, block->weight);
    json["blocks"].push_back({{"block", block->instance},
                              {"bytes", block->bytes},
                              {"begin", block->begin},
                              {"end", block->end},
                              {"samples", block->samples},
                              {"share", share.value},
                              {"low", share.low},
                              {"high", share.high}});
  }
  return json;
}

} // namespace omptier
