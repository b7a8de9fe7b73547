// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// See access_rates.hpp. One loop may access objects in fast and slow memory, large and small ones,
// so its pairs are taken by object. An object seldom seen in the loop gets the pace of all of the
// loop's objects. An object often seen there but without a pace does not: its runs were too short
// to measure, and it may be much faster. What registers do not tell, addresses may, of whole nests
// and all of their objects (loop_advance.hpp). Loops without a pace get an expected speed
// (loop_speed.hpp).
#include "analysis/access_rates.hpp"

#include "analysis/access_shares.hpp"
#include "analysis/loop_rates.hpp"
#include "analysis/loop_traffic.hpp"
#include "analysis/loop_speed.hpp"
#include "analysis/share_intervals.hpp"
#include "analysis/shares.hpp"
#include "model/demand.hpp"

#include <algorithm>
#include <cmath>
#include <deque>
#include <map>

namespace omptier {
namespace {

constexpr double k_few_loops = 2; // with a pace: the weight of usual processors' costs

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

class Loops {
public:
  // nanoseconds: time that a sample stands for.
  Loops(std::span<const PatternAt> patterns, const AdvanceRates& advances, double nanoseconds)
      : advances_(advances) {
    for (const PatternAt& at : patterns) {
      if (at.pattern->loop == 0) continue;
      loops_[{at.pattern->loop, k_any}].add(*at.pattern);
      loops_[{at.pattern->loop, at.site}].add(*at.pattern);
    }
    for (auto& [key, loop] : loops_)
      loop.rate = loop.runs.rate(nanoseconds);
    add_nests();
  }
  const LoopRate* rate_of(const PatternAt& at) const {
    if (const LoopRate* const rate = by_registers(at)) return rate;
    const auto own = advances_.rates.find({at.nest, at.site});
    if (own != advances_.rates.end()) return own->second.value > 0 ? &own->second : nullptr;
    const auto nest = of_nest_.find(at.nest);
    return nest != of_nest_.end() ? &nest->second : nullptr;
  }

private:
  static constexpr std::uint32_t k_any = k_no_site - 2;

  const LoopRate* by_registers(const PatternAt& at) const {
    const auto own = loops_.find({at.pattern->loop, at.site});
    if (own == loops_.end()) return nullptr; // in no loop
    const bool seldom = !own->second.rate && own->second.samples < Runs::k_seldom;
    const Runs& runs = seldom ? loops_.find({at.pattern->loop, k_any})->second : own->second;
    return runs.rate ? &*runs.rate : nullptr;
  }

  // The mean of its sites; how far they are apart is an error, too.
  void add_nests() {
    std::map<std::uint32_t, double> squares;
    for (const auto& [key, rate] : advances_.rates) {
      if (!(rate.value > 0)) continue;
      LoopRate& mean = of_nest_[key.first];
      mean.pairs += rate.pairs;
      const double part = double(rate.pairs) / double(mean.pairs), more = rate.value - mean.value;
      mean.value += more * part;
      mean.relative_error += (rate.relative_error - mean.relative_error) * part;
      squares[key.first] += double(rate.pairs) * more * (rate.value - mean.value);
    }
    for (auto& [nest, mean] : of_nest_) {
      const double deviation = std::sqrt(squares[nest] / double(mean.pairs));
      mean.relative_error = std::hypot(mean.relative_error, deviation / mean.value);
    }
  }

  std::map<std::pair<std::uint64_t, std::uint32_t>, Runs> loops_;
  const AdvanceRates& advances_;
  std::map<std::uint32_t, LoopRate> of_nest_; // for sites without one
};

struct Speed {
  double value = 0;               // bytes per nanosecond
  const LoopRate* rate = nullptr; // null: expected, not measured
  std::uint32_t loop = 0;
  double expected_spread = 0;

  double spread() const {
    return rate != nullptr ? rate->relative_error / k_deviations : expected_spread;
  }
};

// Patterns without a pace are scaled as the others: measured over expected speed.
class Speeds {
public:
  void add(std::span<const PatternAt> run, const Loops& loops,
           std::span<const SiteSummary> sites) {
    std::vector<Speed>& speeds = runs_.emplace_back();
    struct Measured {
      std::span<const PatternAt> sample;
      double value;
    };
    std::map<std::uint32_t, Measured> measured; // by loop: its last sample and pattern
    for (std::size_t begin = 0, end = 0; begin < run.size(); begin = end) {
      const AccessPattern& first = *run[begin].pattern;
      while (end < run.size() && run[end].pattern->time == first.time &&
             run[end].pattern->thread == first.thread)
        ++end;
      const std::span<const PatternAt> sample = run.subspan(begin, end - begin);
      const std::uint32_t loop = number_of(first.loop != 0 ? first.loop : first.pc);
      const LoopRate* of_sample = nullptr;
      for (const PatternAt& at : sample) {
        const LoopRate* const rate = loops.rate_of(at);
        if (rate != nullptr && (of_sample == nullptr || rate->pairs > of_sample->pairs))
          of_sample = rate;
        speeds.push_back({0, rate, loop, 0});
      }
      const ExpectedSpeed expected =
          of_sample == nullptr ? expected_speed(sample, sites) : ExpectedSpeed{};
      for (Speed& speed : std::span(speeds).subspan(begin)) {
        if (speed.rate == nullptr) speed.rate = of_sample; // they ran together
        speed.value = speed.rate != nullptr ? speed.rate->value : expected.value;
        speed.expected_spread = expected.spread;
      }
      if (of_sample != nullptr)
        measured.insert_or_assign(loop, Measured{sample, speeds.back().value});
    }
    for (const auto& [loop, last] : measured)
      if (const double expected = expected_speed(last.sample, sites).value; expected > 0)
        faster_[loop] = std::log(last.value / expected);
  }
  // To be called after all runs.
  void calibrate() {
    double sum = 0;
    for (const auto& [loop, faster] : faster_)
      sum += faster;
    const double factor = std::exp(sum / (double(faster_.size()) + k_few_loops));
    for (std::vector<Speed>& run : runs_)
      for (Speed& speed : run)
        if (speed.rate == nullptr) speed.value *= factor;
  }
  const Speed& of(std::size_t run, std::size_t pattern) const { return runs_[run][pattern]; }
  std::vector<double> spreads() const {
    std::vector<double> spreads(numbers_.size(), 0);
    for (const std::vector<Speed>& run : runs_)
      for (const Speed& speed : run)
        spreads[speed.loop] = std::max(spreads[speed.loop], speed.spread());
    return spreads;
  }

private:
  std::uint32_t number_of(std::uint64_t loop) {
    return numbers_.emplace(loop, static_cast<std::uint32_t>(numbers_.size())).first->second;
  }

  std::vector<std::vector<Speed>> runs_;
  std::map<std::uint64_t, std::uint32_t> numbers_;
  std::map<std::uint32_t, double> faster_; // by loop: logarithm of measured over expected speed
};

struct Sum {
  double accesses = 0, bytes = 0; // counted
  double unseen = 0;              // bytes in loops without a pace, as expected
  double time = 0;                // of patterns with a pace
  double error = 0;               // of the accesses, by the rates
  std::uint64_t pairs = 0;        // of the loop with fewest
  // squares: sum of of_sample², the bytes of a sample; its patterns have the same time and thread.
  double squares = 0, of_sample = 0;
  std::uint64_t last_time = 0;
  std::uint32_t last_thread = 0;

  void add(const AccessPattern& pattern, const Speed& speed) {
    const double counted = double{pattern.accesses} * speed.value;
    const LoopRate* const rate = speed.rate;
    if (rate == nullptr) {
      unseen += double{pattern.bytes} * speed.value;
      return;
    }
    if (pattern.time != last_time || pattern.thread != last_thread) of_sample = 0;
    last_time = pattern.time;
    last_thread = pattern.thread;
    squares -= of_sample * of_sample;
    of_sample += double{pattern.bytes};
    squares += of_sample * of_sample;
    time += double{pattern.bytes};
    accesses += counted;
    bytes += double{pattern.bytes} * speed.value;
    error += counted * rate->relative_error;
    pairs = pairs == 0 ? rate->pairs : std::min(pairs, rate->pairs);
  }
  // size: bytes that a loop without samples may have filled; it only widens the interval.
  AccessRate rate(double nanoseconds, double size) const {
    AccessRate rate;
    if (!(nanoseconds > 0) || !(accesses > 0)) return rate;
    rate.value = accesses / nanoseconds * 1e9;
    rate.bytes = bytes / nanoseconds * 1e9;
    rate.known = bytes / (bytes + unseen);
    rate.pairs = pairs;
    const double of_time = k_deviations * std::sqrt(squares) / time;
    const double relative = std::hypot(error / accesses, of_time);
    rate.low = rate.value * std::max(0.0, 1 - relative);
    const double more = unseen * std::exp(k_deviations * k_speed_spread) + size;
    rate.high = rate.value * (1 + relative + more / bytes);
    return rate;
  }
};

class Accesses {
public:
  Accesses(ProfileSummary& summary, std::span<const std::vector<PatternAt>> runs,
           std::span<const AdvanceRates> advances, const BlamedTime& blamed)
      : summary_(summary), runs_(runs), blamed_(blamed) {
    for (std::size_t number = 0; number < runs.size(); ++number) {
      const double rate = summary.runs[number].rate;
      const Loops& loops =
          loops_.emplace_back(runs[number], advances[number], rate > 0 ? 1e9 / rate : 0);
      speeds_.add(runs[number], loops, summary.sites);
    }
    speeds_.calibrate();
  }

  void add() {
    weigh();
    if (summary_.measure == Measure::time) add_rates();
  }

private:
  template <typename Visit> void each(Visit visit) const {
    for (std::size_t run = 0; run < runs_.size(); ++run)
      for (std::size_t i = 0; i < runs_[run].size(); ++i)
        visit(run, runs_[run][i], speeds_.of(run, i));
  }

  // A sample's loop is one piece of evidence on a site, however many patterns it has.
  void add_to_sample(const PatternAt& at, const Speed& speed, double bytes) {
    const AccessPattern& pattern = *at.pattern;
    if (pattern.time != sample_time_ || pattern.thread != sample_thread_) ++sample_;
    sample_time_ = pattern.time;
    sample_thread_ = pattern.thread;
    std::vector<SiteInLoop>& samples =
        in_loops_[std::min<std::size_t>(at.site, summary_.sites.size())];
    if (samples.empty() || samples.back().sample != sample_)
      samples.push_back({sample_, speed.loop, at.region});
    samples.back().bytes += bytes;
    if (pattern.kind == AccessKind::store) samples.back().written += bytes;
    if (pattern.kind == AccessKind::unknown) samples.back().perhaps += bytes;
    if (at.is_lost()) add_lost(at, samples.back().loop, bytes);
  }

  // The site that the sample was blamed on may be the one that was accessed there.
  void add_lost(const PatternAt& at, std::uint32_t loop, double bytes) {
    SiteInLoop& lost = lost_[loop];
    lost.bytes += bytes;
    if (at.pattern->kind == AccessKind::store) lost.written += bytes;
    if (at.beside == k_no_site) return;
    std::vector<SiteInLoop>& samples = in_loops_[at.beside];
    if (samples.empty() || samples.back().sample != sample_)
      samples.push_back({sample_, loop, at.region});
  }

  static PatternKind kind_of_streams(const PatternParts& parts) {
    const auto bytes = [&](PatternKind kind) { return parts.bytes(static_cast<std::size_t>(kind)); };
    const double rows = bytes(PatternKind::sequential), tiles = bytes(PatternKind::tiled);
    if (!(rows + tiles > 0)) return parts.whole.kind;
    return tiles > rows ? PatternKind::tiled : PatternKind::sequential;
  }

  // An instruction whose own pattern was not seen has its neighbours', which are of its loop.
  static PatternKind kind_at(const PatternParts& parts, std::uint64_t pc) {
    constexpr std::uint64_t k_of_loop = 256; // bytes of code
    const auto behind = parts.instructions.lower_bound(pc);
    const auto apart = [pc](auto at) { return at->first > pc ? at->first - pc : pc - at->first; };
    if (behind != parts.instructions.end() && behind->first == pc) return behind->second;
    auto nearest = behind;
    if (behind != parts.instructions.begin() &&
        (behind == parts.instructions.end() || apart(std::prev(behind)) < apart(behind)))
      nearest = std::prev(behind);
    const bool is_near = nearest != parts.instructions.end() && apart(nearest) <= k_of_loop;
    return is_near ? nearest->second : PatternKind::unknown;
  }

  std::vector<KindsOfSite> kinds_of(std::span<const SiteEvidence> evidence) const {
    std::vector<KindsOfSite> kinds;
    for (std::size_t site = 0; site < evidence.size(); ++site) {
      const auto block = static_cast<double>(summary_.sites[site].bytes_largest);
      kinds.push_back({evidence[site].pattern.parts(block), {}});
    }
    if (summary_.measure != Measure::time) return kinds;
    for (const auto& [at, weight] : blamed_) {
      if (at.site >= kinds.size()) continue;
      const PatternParts& parts = kinds[at.site].parts;
      const PatternKind kind = at.pc == 0 ? kind_of_streams(parts) : kind_at(parts, at.pc);
      kinds[at.site].time[at.region][static_cast<std::size_t>(kind)] += weight;
    }
    return kinds;
  }

  static bool mostly_stays(const AccessPattern& pattern) {
    double stays = 0;
    for (const AccessPattern::Stride& stride : pattern.strides)
      if (stride.bytes == 0) stays += double{stride.share};
    return stays >= 0.5;
  }

  // Samples of time are weighted by the speed of their loop; other samples count accesses.
  void weigh() {
    const bool by_time = summary_.measure == Measure::time;
    std::vector<SiteEvidence> evidence(summary_.sites.size());
    std::vector<std::vector<WeightedSample>> weights(runs_.size());
    in_loops_.resize(summary_.sites.size() + 1);
    double all = 0, paced = 0;
    each([&](std::size_t run, const PatternAt& at, const Speed& speed) {
      const AccessPattern& pattern = *at.pattern;
      const double weight = double{pattern.bytes};
      const double bytes = weight * (by_time ? speed.value : 1);
      all += weight;
      if (speed.rate != nullptr) paced += weight;
      weights[run].push_back({at.site, static_cast<float>(bytes)});
      add_to_sample(at, speed, bytes);
      if (at.site == k_no_site) return;
      SiteEvidence& of_site = evidence[at.site];
      of_site.bytes += bytes;
      AccessPattern of_object = pattern;
      const std::uint32_t through = pattern.is_indirect() ? at.through : k_no_site;
      if (through == at.site) of_object.chased = 1; // indices that lead to indices
      // Spilled registers are no array, and the few steps between their places no pattern.
      if (summary_.sites[at.site].kind == SiteKind::stacks && mostly_stays(pattern))
        of_object.strides = {};
      of_site.pattern.add(of_object); // by time: the manner that takes most of it is the pattern
      if (through != k_no_site && through != at.site) of_site.through[through] += weight;
    });
    summary_.paced = share_of(paced, all);
    add_patterns(summary_, evidence, weights);
    std::vector<double> spreads = speeds_.spreads();
    if (!by_time) std::ranges::fill(spreads, 0.0);
    admit_unknown_speeds(summary_, in_loops_, spreads);
    unseen_ = admit_lost(summary_, in_loops_, lost_);
    const std::vector<KindsOfSite> kinds = kinds_of(evidence);
    if (by_time) forget_strange_patterns(summary_, kinds);
    name_second_kinds(summary_, kinds);
    if (by_time) set_manners(summary_, in_loops_, kinds);
    if (by_time) count_lines(kinds);
  }

  void count_lines(std::span<const KindsOfSite> kinds) {
    TrafficCount count(1 / static_cast<double>(runs_.size()));
    const AccessPattern* last = nullptr;
    each([&](std::size_t, const PatternAt& at, const Speed& speed) {
      if (last != nullptr && (last->time != at.pattern->time || last->thread != at.pattern->thread))
        count.end_sample();
      last = at.pattern;
      count.add({speed.loop, at.region}, *at.pattern);
      if (at.site >= kinds.size()) return;
      const PatternParts& parts = kinds[at.site].parts;
      count.at_site(at.site, kind_at(parts, at.pattern->pc), at.fresh, parts.stride, speed.value);
    });
    count.end_sample();
    summary_.traffic = count.traffic();
  }

  void add_rates() {
    std::map<std::uint32_t, Sum> sites;
    std::map<std::pair<std::uint32_t, std::uint32_t>, Sum> parts; // by site and region
    each([&](std::size_t, const PatternAt& at, const Speed& speed) {
      if (at.site == k_no_site) return;
      sites[at.site].add(*at.pattern, speed);
      parts[{at.site, at.region}].add(*at.pattern, speed);
    });
    double in_regions = 0; // nanoseconds of all runs
    const auto profiles = static_cast<double>(runs_.size());
    const double all = summary_.mean_nanoseconds * profiles;
    for (const RegionSummary& region : summary_.regions)
      in_regions += double(region.nanoseconds) * profiles;
    for (auto& [number, sum] : sites) {
      sum.unseen += unseen_[number];
      summary_.sites[number].access_rate =
          sum.rate(all, unseen_filling(in_loops_[number], summary_.sites[number], profiles));
    }
    for (const auto& [key, sum] : parts) {
      SiteSummary& site = summary_.sites[key.first];
      const double nanoseconds = key.second == 0
                                     ? std::max(0.0, all - in_regions)
                                     : double(summary_.regions[key.second].nanoseconds) * profiles;
      for (SitePart& part : site.by_region)
        if (part.of == key.second) part.access_rate = sum.rate(nanoseconds, 0);
    }
  }

  ProfileSummary& summary_;
  std::span<const std::vector<PatternAt>> runs_;
  std::deque<Loops> loops_;
  Speeds speeds_;
  const BlamedTime& blamed_;
  std::vector<std::vector<SiteInLoop>> in_loops_; // by site
  std::map<std::uint32_t, SiteInLoop> lost_;      // by loop: accesses without an address
  std::vector<double> unseen_;                    // of them, bytes that may be a site's
  std::uint64_t sample_ = 0, sample_time_ = 0;
  std::uint32_t sample_thread_ = 0;
};

} // namespace

void add_accesses(ProfileSummary& summary, std::span<const std::vector<PatternAt>> runs,
                  std::span<const AdvanceRates> advances, const BlamedTime& blamed) {
  Accesses(summary, runs, advances, blamed).add();
}

} // namespace omptier
