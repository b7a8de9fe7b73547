// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// See access_rates.hpp. One loop may serve objects in fast and slow memory, large and small ones,
// so a loop's pairs are taken by object. Only an object that was seldom seen there has the pace of
// all: one that was often seen and has no pace has runs too short for it, and may be much faster.
#include "analysis/access_rates.hpp"

#include "analysis/loop_rates.hpp"
#include "analysis/shares.hpp"

#include <algorithm>
#include <cmath>
#include <deque>
#include <map>

namespace omptier {
namespace {

constexpr double k_without_rate = 0.05; // of the time sampled in loops: does not matter

struct Runs {
  static constexpr std::size_t k_seldom = 12; // samples: twice the pairs that a pace takes
  LoopRuns runs;
  std::size_t samples = 0; // in the loop, with pairs or without
  std::uint64_t time = 0;  // of the last one and its thread: all patterns of a sample have the same
  std::uint32_t thread = 0;
  std::optional<LoopRate> rate;

  void add(const AccessPattern& pattern) {
    if (samples > 0 && pattern.time == time && pattern.thread == thread) return;
    ++samples;
    time = pattern.time;
    thread = pattern.thread;
    if (pattern.run_nanoseconds > 0)
      runs.add(double{pattern.run_nanoseconds}, double{pattern.run_bytes});
    else
      runs.add_alone();
  }
};

// The loops of one profile.
class Loops {
public:
  // nanoseconds: that a sample stands for.
  Loops(std::span<const PatternAt> patterns, double nanoseconds) {
    for (const PatternAt& at : patterns) {
      if (at.pattern->loop == 0) continue;
      loops_[{at.pattern->loop, k_any}].add(*at.pattern);
      loops_[{at.pattern->loop, at.site}].add(*at.pattern);
    }
    for (auto& [key, loop] : loops_)
      loop.rate = loop.runs.rate(nanoseconds);
  }
  const LoopRate* rate_of(const PatternAt& at) const {
    const auto own = loops_.find({at.pattern->loop, at.site});
    if (own == loops_.end()) return nullptr; // in no loop
    const bool seldom = !own->second.rate && own->second.samples < Runs::k_seldom;
    const Runs& runs = seldom ? loops_.find({at.pattern->loop, k_any})->second : own->second;
    return runs.rate ? &*runs.rate : nullptr;
  }

private:
  static constexpr std::uint32_t k_any = k_no_site - 2;
  std::map<std::pair<std::uint64_t, std::uint32_t>, Runs> loops_;
};

// What adds up to a rate.
struct Sum {
  double accesses = 0, bytes = 0; // counted
  double known = 0, all = 0;      // time of patterns, with a rate and in all
  double error = 0;               // of the accesses, by the rates
  std::uint64_t pairs = 0;        // of the loop with fewest
  // Of the samples' times; all patterns of a sample have the same time and thread.
  double squares = 0, of_sample = 0;
  std::uint64_t time = 0;
  std::uint32_t thread = 0;

  void add(const AccessPattern& pattern, const LoopRate* rate) {
    all += double{pattern.bytes};
    if (rate == nullptr) return;
    if (pattern.time != time || pattern.thread != thread) of_sample = 0;
    time = pattern.time;
    thread = pattern.thread;
    squares -= of_sample * of_sample;
    of_sample += double{pattern.bytes};
    squares += of_sample * of_sample;
    known += double{pattern.bytes};
    accesses += double{pattern.accesses} * rate->value;
    bytes += double{pattern.bytes} * rate->value;
    error += double{pattern.accesses} * rate->value * rate->relative_error;
    pairs = pairs == 0 ? rate->pairs : std::min(pairs, rate->pairs);
  }
  AccessRate rate(double nanoseconds) const {
    constexpr double k_95 = 1.96;
    AccessRate rate;
    if (!(nanoseconds > 0) || !(accesses > 0)) return rate;
    rate.value = accesses / nanoseconds * 1e9;
    rate.bytes = bytes / nanoseconds * 1e9;
    rate.known = share_of(known, all);
    rate.pairs = pairs;
    const double of_time = k_95 * std::sqrt(squares) / known;
    const double relative = std::hypot(error / accesses, of_time);
    rate.low = rate.value * std::max(0.0, 1 - relative);
    rate.high = rate.value * (1 + relative);
    return rate;
  }
};

class Accesses {
public:
  Accesses(ProfileSummary& summary, std::span<const std::vector<PatternAt>> runs)
      : summary_(summary), runs_(runs) {
    for (std::size_t number = 0; number < runs.size(); ++number) {
      const std::vector<PatternAt>& run = runs[number];
      const double rate = summary.runs[number].rate;
      const Loops& loops = loops_.emplace_back(run, rate > 0 ? 1e9 / rate : 0);
      std::vector<const LoopRate*>& rates = rates_.emplace_back();
      for (const PatternAt& at : run)
        rates.push_back(loops.rate_of(at));
    }
  }

  void add() {
    decide();
    weigh();
    if (summary_.measure == Measure::time) add_rates();
  }

private:
  template <typename Visit> void each(Visit visit) const {
    for (std::size_t run = 0; run < runs_.size(); ++run)
      for (std::size_t i = 0; i < runs_[run].size(); ++i)
        visit(run, runs_[run][i], rates_[run][i]);
  }

  void decide() {
    Sum all;
    each([&](std::size_t, const PatternAt& at, const LoopRate* rate) {
      all.add(*at.pattern, rate);
    });
    summary_.paced = share_of(all.known, all.all);
    summary_.shares_count_accesses =
        summary_.measure == Measure::time && all.known > 0 && summary_.paced >= 1 - k_without_rate;
    usual_ = share_of(all.bytes, all.known);
  }

  void weigh() {
    std::vector<SiteEvidence> evidence(summary_.sites.size());
    std::vector<std::vector<WeightedSample>> weights(runs_.size());
    each([&](std::size_t run, const PatternAt& at, const LoopRate* rate) {
      const double factor = !summary_.shares_count_accesses ? 1
                            : rate != nullptr               ? rate->value
                                                            : usual_;
      AccessPattern pattern = *at.pattern;
      pattern.accesses *= static_cast<float>(factor);
      pattern.bytes *= static_cast<float>(factor);
      weights[run].push_back({at.site, pattern.bytes});
      if (at.site == k_no_site) return;
      if (at.through == at.site) pattern.chased = 1; // indices that lead to indices
      evidence[at.site].pattern.add(pattern);
      if (at.through != k_no_site && at.through != at.site)
        evidence[at.site].through[at.through] += double{pattern.bytes};
    });
    add_patterns(summary_, evidence, weights);
  }

  void add_rates() {
    std::map<std::uint32_t, Sum> sites;
    std::map<std::pair<std::uint32_t, std::uint32_t>, Sum> parts; // by site and region
    each([&](std::size_t, const PatternAt& at, const LoopRate* rate) {
      if (at.site == k_no_site) return;
      sites[at.site].add(*at.pattern, rate);
      parts[{at.site, at.region}].add(*at.pattern, rate);
    });
    double in_regions = 0; // nanoseconds of all runs
    const auto profiles = static_cast<double>(runs_.size());
    const double all = summary_.mean_nanoseconds * profiles;
    for (const RegionSummary& region : summary_.regions)
      in_regions += double(region.nanoseconds) * profiles;
    for (const auto& [number, sum] : sites)
      summary_.sites[number].access_rate = sum.rate(all);
    for (const auto& [key, sum] : parts) {
      SiteSummary& site = summary_.sites[key.first];
      const double nanoseconds = key.second == 0
                                     ? std::max(0.0, all - in_regions)
                                     : double(summary_.regions[key.second].nanoseconds) * profiles;
      for (SitePart& part : site.by_region)
        if (part.of == key.second) part.access_rate = sum.rate(nanoseconds);
    }
  }

  ProfileSummary& summary_;
  std::span<const std::vector<PatternAt>> runs_;
  std::deque<Loops> loops_;
  std::vector<std::vector<const LoopRate*>> rates_; // of each pattern, in loops_; null = unknown
  double usual_ = 0; // bytes per nanosecond of all loops that have a rate
};

} // namespace

void add_accesses(ProfileSummary& summary, std::span<const std::vector<PatternAt>> runs) {
  Accesses(summary, runs).add();
}

} // namespace omptier
