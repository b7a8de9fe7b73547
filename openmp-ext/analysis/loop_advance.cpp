// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// See loop_advance.hpp.
#include "analysis/loop_advance.hpp"

#include <algorithm>
#include <cmath>
#include <optional>
#include <tuple>
#include <unordered_map>
#include <vector>

namespace omptier {
namespace {

constexpr double k_least_iterations = 64;   // of a pair: others are of slow outer loops
constexpr double k_most_iterations = 8;     // a nanosecond: no processor iterates faster
constexpr double k_agreement = 1.35;        // factor between streams of a window
constexpr double k_least_between = 4;       // samples: fewer do not tell the loop's part of them
constexpr double k_most_stream_error = 0.3; // of a mean step, or of what goes beside
constexpr double k_in_turn = 0.1;           // of the pairs may have another thread in between
constexpr std::ptrdiff_t k_places_looked_at = 64; // places between two
constexpr double k_kernels = 1.15; // clock over sampled time: of few pairs, less is chance
constexpr std::size_t k_many_stretches = 20;
constexpr double k_between_few = 3; // the same factor, between few samples
constexpr double k_most_back =
    0.25; // of the pairs: what begins anew so often may show equal places
constexpr std::size_t k_refuse = 12; // pairs without a pace: those of others do not count either
constexpr double k_own_time = 4;     // times more often in the windows between pairs than in all

struct StreamInRun {
  std::uint64_t run, pc, object;
  auto operator<=>(const StreamInRun&) const = default;
};
using Places = std::vector<std::pair<std::uint64_t, std::uint32_t>>; // sorted; and their threads

struct Advance {
  std::uint64_t time = 0;
  std::uint32_t nest = 0, site = 0, thread = 0;
  StreamInRun stream{};
  std::uint64_t from = 0, to = 0; // addresses
  double nanoseconds = 0;         // the loop's part of the clock's time
  double samples = 0;             // of the thread, in between
  double windows = 0;             // of the nest, as many as one of the stream stands for
  double stretch = 1;             // clock over sampled time
  double stream_error = 0;
  double beside = 0; // bytes that windows would show; below 0: the stream began anew
  double bytes = 0;  // accessed by the nest
};

// Of a thread in one run.
struct Progress {
  struct Position {
    std::uint64_t address = 0, time = 0;
    double samples = 0, of_nest = 0, windows = 0, sampled = 0; // until then; nanoseconds
  };
  struct OfNest {
    double samples = 0, windows = 0;
  };
  std::uint64_t run = ~std::uint64_t{0};
  double samples = 0, sampled = 0;
  std::unordered_map<std::uint32_t, OfNest> of_nest;
  std::map<std::tuple<std::uint32_t, std::uint64_t, bool, std::uint64_t>, Position>
      streams; // by nest, pc, whether it stores, object
};

// The nest's part of the samples between two of its own.
std::optional<double> part_between(const Progress::Position& one, const Progress::Position& other) {
  const double between = other.samples - one.samples - 1, own = other.of_nest - one.of_nest - 1;
  if (own == between) return 1;
  if (between < k_least_between || !(own > 0)) return {};
  return own / between;
}

double pace(const Advance& advance) {
  return advance.beside / advance.nanoseconds;
}

void refute_unless_alike(std::span<Advance> window) {
  double least = HUGE_VAL, most = 0;
  for (const Advance& advance : window) {
    if (advance.beside < 0) continue;
    least = std::min(least, pace(advance));
    most = std::max(most, pace(advance));
  }
  if (most > k_agreement * least)
    for (Advance& advance : window)
      advance.beside = -1;
}

double usual_stretch(std::span<const Advance> pairs) {
  std::vector<double> stretches;
  for (const Advance& advance : pairs)
    if (advance.beside > 0) stretches.push_back(advance.stretch);
  if (stretches.empty()) return 1;
  const auto middle = stretches.begin() + static_cast<std::ptrdiff_t>(stretches.size() / 2);
  std::ranges::nth_element(stretches, middle);
  const bool is_sure = stretches.size() >= k_many_stretches || *middle > k_kernels;
  return is_sure ? std::max(1.0, *middle) : 1;
}

bool has_others(const Places& places, const Advance& advance) {
  const auto [low, high] = std::minmax(advance.from, advance.to);
  const auto from = std::ranges::upper_bound(places, std::pair(low, ~std::uint32_t{0}));
  const auto to = from + std::min(k_places_looked_at, places.end() - from);
  return std::any_of(from, to, [&, high = high](const auto& place) {
    return place.first < high && place.second != advance.thread;
  });
}

class Advances {
public:
  Advances(const Profile& profile, std::span<const RegionRun> runs,
           std::span<const ObjectOfSite> objects)
      : profile_(profile), windows_(profile, runs), objects_(objects) {}

  // In the order of time.
  void add(std::size_t number, std::uint64_t run) {
    const LoggedSample& sample = profile_.samples[number];
    Progress& progress = threads_[sample.thread];
    if (progress.run != run) {
      progress = Progress();
      progress.run = run;
    }
    ++progress.samples;
    progress.sampled += double{sample.weight};
    const std::uint32_t nest = windows_.nests()[number];
    if (nest == 0) return;
    Progress::OfNest& of_nest = progress.of_nest[nest];
    ++of_nest.samples;
    if (sample.patterns > 0) ++of_nest.windows;
    std::vector<Advance> window;
    for (std::uint32_t i = 0; i < sample.patterns; ++i)
      if (const auto advance = since_before(sample, nest, progress, sample.first_pattern + i))
        window.push_back(*advance);
    refute_unless_alike(window);
    for (const Advance& advance : window)
      keep(advance);
  }

  AdvanceRates rates() {
    for (auto& [stream, places] : places_)
      std::ranges::sort(places);
    AdvanceRates found{windows_.nests(), {}};
    for (const auto& [where, pairs] : pairs_)
      if (const auto rate = rate_of(pairs); rate || pairs.size() >= k_refuse)
        found.rates.emplace(where, rate.value_or(LoopRate()));
    return found;
  }

private:
  std::optional<Advance> since_before(const LoggedSample& sample, std::uint32_t nest,
                                      Progress& progress, std::size_t number) {
    const LoggedPattern& pattern = profile_.patterns[number];
    const ObjectOfSite& in = objects_[number];
    const auto stream = windows_.stream(nest, pattern);
    if (in.object == ObjectOfSite::k_unknown || !stream) return {};
    if (stream->relative_error > k_most_stream_error) return {};
    const Progress::OfNest& of_nest = progress.of_nest[nest];
    const Progress::Position now{pattern.address, sample.time,     progress.samples,
                                 of_nest.samples, of_nest.windows, progress.sampled};
    const bool stores = pattern.kind == AccessKind::store;
    const Progress::Position before =
        std::exchange(progress.streams[{nest, pattern.pc, stores, in.object}], now);
    const StreamInRun in_run{progress.run, pattern.pc, in.object};
    places_[in_run].emplace_back(now.address, sample.thread);
    const double sampled = now.sampled - before.sampled;
    if (before.time == 0 || now.time <= before.time || !(sampled > 0)) return {};
    const auto part = part_between(before, now);
    const double clock = double(now.time - before.time);
    const double iterations =
        double(static_cast<std::int64_t>(now.address - before.address)) / stream->step;
    if (!part || std::abs(iterations) < k_least_iterations) return {};
    const bool forth = iterations > 0 && iterations <= clock * k_most_iterations;
    return Advance{sample.time,
                   nest,
                   in.site,
                   sample.thread,
                   in_run,
                   before.address,
                   now.address,
                   clock * *part,
                   now.samples - before.samples,
                   (now.windows - before.windows) * stream->seen,
                   clock / sampled,
                   stream->relative_error,
                   forth ? iterations * stream->beside : -1,
                   iterations * stream->bytes};
  }

  // One of each window, which agree: the first that did not begin anew.
  void keep(const Advance& advance) {
    std::vector<Advance>& pairs = pairs_[{advance.nest, advance.site}];
    const bool is_known = !pairs.empty() && pairs.back().time == advance.time &&
                          pairs.back().thread == advance.thread;
    if (!is_known)
      pairs.push_back(advance);
    else if (pairs.back().beside < 0)
      pairs.back() = advance;
  }

  std::optional<LoopRate> rate_of(std::span<const Advance> pairs) const {
    const double stretch = usual_stretch(pairs);
    LoopRuns runs;
    double forth = 0, in_turn = 0, windows = 0, stream_error = 0;
    for (const Advance& pair : pairs) {
      const bool is_forth = pair.beside > 0, is_shared = has_others(places_.at(pair.stream), pair);
      forth += is_forth;
      in_turn += is_forth && is_shared;
      windows += pair.windows;
      const double most = pair.samples < k_least_between ? k_between_few : k_agreement;
      if (pair.stretch > most * stretch || pair.stretch * most < stretch) continue;
      runs.add(pair.nanoseconds / stretch, is_forth && !is_shared ? pair.bytes : -1);
      if (is_forth) stream_error = std::max(stream_error, pair.stream_error);
    }
    const bool has_own_time = k_own_time * windows < double(pairs.size());
    const bool is_back = forth < (1 - k_most_back) * double(pairs.size());
    if (in_turn > k_in_turn * forth || has_own_time || is_back) return {};
    std::optional<LoopRate> rate = runs.rate();
    if (rate) rate->relative_error = std::hypot(rate->relative_error, stream_error);
    return rate;
  }

  const Profile& profile_;
  LoopWindows windows_;
  std::span<const ObjectOfSite> objects_;
  std::unordered_map<std::uint32_t, Progress> threads_;
  std::map<StreamInRun, Places> places_;
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::vector<Advance>> pairs_; // by nest, site
};

} // namespace

AdvanceRates advance_rates(const Profile& profile, std::span<const RegionRun> runs,
                           std::span<const ObjectOfSite> objects) {
  Advances advances(profile, runs, objects);
  for (std::size_t i = 0; i < profile.samples.size(); ++i)
    advances.add(i, runs[i].begin);
  return advances.rates();
}

} // namespace omptier
