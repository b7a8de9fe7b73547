// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// See miss_steps.hpp.
#include "analysis/miss_steps.hpp"

#include <algorithm>

namespace omptier {
namespace {

constexpr std::uint32_t k_enough = 32; // by chance, half of them are multiples of 2
// With fewer, one of hundreds of ranks would miss a place by chance.
constexpr std::uint32_t k_enough_for_places = 128;

} // namespace

void MissSteps::add(std::uint32_t site, std::uint32_t thread, bool store, std::uint64_t address) {
  const auto line = address / static_cast<std::uint64_t>(k_line_bytes);
  const auto [at, fresh] = streams_.try_emplace({site, store, thread}, Stream{line});
  Stream& stream = at->second;
  const std::uint64_t distance = line > stream.last ? line - stream.last : stream.last - line;
  if (!fresh && distance == 0) return;
  stream.last = line;
  ++stream.all;
  ++stream.in_place[line % k_places];
  if (fresh) return;
  if (site >= distances_.size()) distances_.resize(site + 1);
  Distances& of_site = distances_[site][store ? 1 : 0];
  ++of_site.all;
  for (unsigned step = 2; step <= k_most; ++step)
    of_site.multiples[step] += distance % step == 0 ? 1 : 0;
}

unsigned MissSteps::step_of(const Distances& distances) {
  constexpr double k_nearly_all = 0.8; // threads may share a stream whose passes differ
  if (distances.all < k_enough) return 1;
  unsigned step = k_most;
  while (step > 1 && distances.multiples[step] < k_nearly_all * distances.all)
    --step;
  return step;
}

void MissSteps::Stream::add_places(const Stream& of) {
  all += of.all;
  for (unsigned place = 0; place < k_places; ++place)
    in_place[place] += of.in_place[place];
}

// In which misses were seen, on average of the threads: each may begin in another place. A store
// that misses loads its line, too.
double MissSteps::places_of(std::uint32_t site, bool store) const {
  constexpr double k_seldom = 0.25; // of what is usual in a place
  double places = 0, samples = 0;
  for (auto at = streams_.lower_bound({site, store, 0}); at != streams_.end(); ++at) {
    const auto& [number, stores, thread] = at->first;
    if (number != site || stores != store) break;
    Stream stream = at->second;
    if (stream.all < k_enough_for_places) continue;
    const auto beside = store ? streams_.end() : streams_.find({site, true, thread});
    if (beside != streams_.end()) stream.add_places(beside->second);
    const double least = k_seldom / k_places * stream.all;
    places += stream.all * std::ranges::count_if(stream.in_place,
                                                 [&](std::uint32_t seen) { return seen >= least; });
    samples += stream.all;
  }
  return samples > 0 ? places / samples : k_block_lines;
}

LinesOfBlock MissSteps::of(std::uint32_t site) const {
  if (site >= distances_.size()) return {};
  const auto lines = [&](bool store) {
    const double by_step = k_block_lines / step_of(distances_[site][store ? 1 : 0]);
    return std::max(1.0, std::min(by_step, places_of(site, store)));
  };
  return {lines(false), lines(true)};
}

} // namespace omptier
