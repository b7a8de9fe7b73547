// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// See loop_traffic.hpp. Instructions of one stride are compared by their places inside it: each may
// have been logged in another iteration.
#include "analysis/loop_traffic.hpp"

#include "model/demand.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace omptier {
namespace {

static_assert(k_indices_before * k_line_bytes == k_core_cache);

constexpr double k_block = k_block_lines * k_line_bytes;
constexpr float k_regularly = 0.5F; // of an instruction's steps, for a stride

using Known = std::span<const KnownAccess>;

std::uint64_t stride_of(const AccessPattern& pattern) {
  const AccessPattern::Stride& first = pattern.strides[0];
  return first.share >= k_regularly ? static_cast<std::uint64_t>(std::abs(first.bytes)) : 0;
}

std::uint64_t place_of(const AccessPattern& pattern) {
  const std::uint64_t stride = stride_of(pattern);
  return double(stride) >= k_line_bytes ? pattern.address % stride : pattern.address;
}

// Without steps, only the manner is known. Of a row of a tile, four share a line (a guess);
// sequential ones of several places count as an unrolled walk. under: units in which the cluster
// lies.
double units_by_kind(const KnownAccess& access, std::int64_t stride, double width, double unit,
                     double under) {
  constexpr double k_in_row = 4;
  const double accesses = double{access.pattern->accesses};
  if (access.kind == PatternKind::sequential)
    return (double{access.pattern->bytes} + accesses * width) / unit;
  if (access.kind == PatternKind::tiled) return accesses / k_in_row * under;
  if (access.kind != PatternKind::strided || stride == 0) return accesses * under;
  return accesses * std::min(1.0, std::abs(double(stride)) / unit) * under;
}

// Lines, or blocks. width: bytes from the first place to the last. A step brings as many new ones
// as it passes, at most those that lie under the places; steps that follow no rule bring all of
// them.
double units_of_cluster(Known cluster, double width, std::int64_t stride, double unit) {
  double most = 0;
  for (const KnownAccess& access : cluster) {
    const AccessPattern& pattern = *access.pattern;
    const double accesses = double{pattern.accesses};
    const double size = accesses > 0 ? double{pattern.bytes} / accesses : 0;
    const double under = std::max(1 + width / unit, size / unit);
    double units = 0, rest = 1;
    for (const AccessPattern::Stride& step : pattern.strides) {
      units += double{step.share} * std::min(std::abs(double(step.bytes)) / unit, under);
      rest -= double{step.share};
    }
    units = accesses * (units + std::max(rest, 0.0) * under);
    if (pattern.strides[0].share == 0) units = units_by_kind(access, stride, width, unit, under);
    most = std::max(most, units);
  }
  return most;
}

const KnownAccess& largest(Known accesses) {
  return *std::ranges::max_element(accesses, {},
                                   [](const KnownAccess& access) { return access.pattern->bytes; });
}

// Of a strided stream's lines, those that count as alone in their block.
double alone_in_block(Known cluster, double lines) {
  const AccessPattern& pattern = *cluster.front().pattern;
  const double steps = double{pattern.accesses}, stride = double(stride_of(pattern));
  if (!(steps > 0) || !(stride > 0)) return lines;
  return lines * alone_part(lines / steps * k_block / std::min(stride, k_block));
}

// Bytes in which a loop's scattered accesses lie for a while; 0: not known. Of steps that were seen
// once, patterns keep the longest forwards: about half of these bytes. Where most steps come again,
// as inside the rows of a tile, the accesses move on.
double reach_of(const AccessPattern& pattern) {
  constexpr float k_once = 0.13F; // of 8 steps or more
  double steps = 0, bytes = 0;
  float again = 0;
  for (const AccessPattern::Stride& step : pattern.strides)
    if (step.share > k_once) {
      again += step.share;
    } else if (step.share > 0) {
      ++steps;
      bytes += std::abs(double(step.bytes));
    }
  return steps > 0 && again < k_regularly ? 2 * bytes / steps : 0;
}

// Bytes from one element to the next that scattered accesses choose from.
double apart_in(const AccessPattern& pattern) {
  std::int64_t apart = 0;
  for (const AccessPattern::Stride& step : pattern.strides)
    apart = std::gcd(apart, step.share > 0 ? step.bytes : 0);
  const double size = pattern.accesses > 0 ? double{pattern.bytes / pattern.accesses} : 1;
  return std::max({1.0, size, static_cast<double>(apart)});
}

// As far as one of them knows; they are fields of what an index leads to.
double fresh_part_of(Known cluster) {
  return std::ranges::min_element(cluster, {}, &KnownAccess::fresh)->fresh;
}

void add_cluster(Known cluster, double width, std::int64_t stride, Lines& lines) {
  const KnownAccess& access = largest(cluster);
  const double fresh = access.kind == PatternKind::random ? fresh_part_of(cluster) : 1;
  const double count = fresh * units_of_cluster(cluster, width, stride, k_line_bytes);
  const bool stores = access.pattern->kind == AccessKind::store;
  const bool is_strided = access.kind == PatternKind::strided;
  const bool is_stream = access.kind == PatternKind::sequential ||
                         (is_strided && std::abs(stride) <= k_prefetched_stride);
  if (access.kind == PatternKind::unknown) return;
  const double scattered = lines.scattered();
  const double alone = is_strided ? alone_in_block(cluster, count) : 0;
  if (stores) {
    lines.scattered_store += is_stream ? alone : count;
    lines.streamed_store += is_stream ? count - alone : 0;
    if (is_stream && access.places > 1) {
      lines.dealt += count - alone;
      lines.places_sum += (count - alone) * access.places;
    }
  } else if (is_stream) {
    lines.streamed_load += count;
    lines.alone += alone;
  } else {
    (access.kind == PatternKind::pointer_chase ? lines.chased_load : lines.gathered_load) += count;
    const double blocks = fresh * units_of_cluster(cluster, width, stride, k_block);
    lines.clustered += count * (1 - alone_part(blocks > 0 ? count / blocks : 1));
  }
  if (const double reach = reach_of(*access.pattern); reach > 0) {
    lines.with_reach += lines.scattered() - scattered;
    lines.reach_sum += (lines.scattered() - scattered) * reach;
  }
}

// Lines that the walk with the longest steps passes; endless if many steps follow no rule.
double passed_by(Known near) {
  constexpr double k_known = 0.9;
  double most = 0;
  for (const KnownAccess& access : near) {
    double step = 0, known = 0; // the mean
    for (const AccessPattern::Stride& stride : access.pattern->strides) {
      step += double{stride.share} * std::abs(double(stride.bytes));
      known += double{stride.share};
    }
    if (known < k_known) return HUGE_VAL;
    most = std::max(most, double{access.pattern->accesses} * step / k_line_bytes);
  }
  return most;
}

// near: sorted by stride and place.
void add_near(Known near, std::int64_t stride, Lines& lines) {
  Lines of_clusters;
  for (std::size_t begin = 0, end = 0; begin < near.size(); begin = end) {
    const AccessPattern& first = *near[begin].pattern;
    std::uint64_t last = place_of(first);
    for (end = begin + 1; end < near.size(); ++end) {
      const AccessPattern& next = *near[end].pattern;
      if (stride_of(next) != stride_of(first)) break;
      if (double(place_of(next) - last) >= k_line_bytes) break;
      last = place_of(next);
    }
    const Known cluster = near.subspan(begin, end - begin);
    const auto width = double(last - place_of(first));
    add_cluster(cluster, width, stride, of_clusters);
  }
  const double all = of_clusters.total(), passed = passed_by(near);
  if (all > passed) of_clusters *= passed / all;
  lines += of_clusters;
}

} // namespace

Lines& Lines::operator+=(const Lines& other) {
  streamed_load += other.streamed_load;
  gathered_load += other.gathered_load;
  chased_load += other.chased_load;
  streamed_store += other.streamed_store;
  scattered_store += other.scattered_store;
  alone += other.alone;
  clustered += other.clustered;
  with_reach += other.with_reach;
  reach_sum += other.reach_sum;
  dealt += other.dealt;
  places_sum += other.places_sum;
  return *this;
}

Lines& Lines::operator*=(double factor) {
  for (double* lines :
       {&streamed_load, &gathered_load, &chased_load, &streamed_store, &scattered_store, &alone,
        &clustered, &with_reach, &reach_sum, &dealt, &places_sum})
    *lines *= factor;
  return *this;
}

double places_of(const AccessPattern& store, std::span<const AccessPattern* const> sample) {
  constexpr std::uint64_t k_apart = 1 << 16; // bytes, of counters
  if (store.through == 0 || store.is_indirect()) return 1;
  const AccessPattern* index = nullptr;
  std::uint64_t nearest = k_apart;
  for (const AccessPattern* load : sample) {
    const std::uint64_t apart =
        std::max(load->address, store.through) - std::min(load->address, store.through);
    if (load->kind == AccessKind::store || apart >= nearest) continue;
    nearest = apart;
    index = load;
  }
  return index != nullptr ? std::max(1.0, reach_of(*index) / apart_in(*index)) : 1;
}

Lines lines_of(std::vector<KnownAccess> accesses, std::int64_t stride) {
  const auto by_address = [](const KnownAccess& access) {
    return std::pair(access.pattern->kind == AccessKind::store, access.pattern->address);
  };
  std::ranges::sort(accesses, {}, by_address);
  Lines lines;
  for (auto begin = accesses.begin(), end = begin; begin != accesses.end(); begin = end) {
    const auto [stores, address] = by_address(*begin);
    while (end != accesses.end() && by_address(*end).first == stores &&
           by_address(*end).second - address <= k_core_cache)
      ++end;
    std::ranges::sort(begin, end, {}, [](const KnownAccess& access) {
      return std::pair(stride_of(*access.pattern), place_of(*access.pattern));
    });
    add_near({begin, end}, stride, lines);
  }
  return lines;
}

void TrafficCount::add(const Loop& loop, const AccessPattern& pattern) {
  loop_ = loop;
  loops_[loop].nanoseconds += double{pattern.bytes} * part_;
  patterns_.push_back(&pattern);
}

void TrafficCount::at_site(std::uint32_t site, PatternKind kind, double fresh, std::int64_t stride,
                           double speed) {
  OfSite& of_site = sites_[site];
  of_site.speed = speed;
  of_site.stride = stride;
  of_site.accesses.push_back({patterns_.back(), kind, 1, fresh});
}

void TrafficCount::end_sample() {
  for (auto& [site, of_site] : sites_) {
    for (KnownAccess& access : of_site.accesses)
      if (access.pattern->kind == AccessKind::store)
        access.places = places_of(*access.pattern, patterns_);
    Lines lines = lines_of(std::move(of_site.accesses), of_site.stride);
    lines *= of_site.speed * part_;
    if (lines.total() > 0) loops_[loop_].lines[site] += lines;
  }
  patterns_.clear();
  sites_.clear();
}

std::vector<LoopTraffic> TrafficCount::traffic() const {
  std::map<std::pair<std::uint32_t, std::vector<std::uint32_t>>, Counted> joined; // by sites
  for (const auto& [loop, counted] : loops_) {
    std::vector<std::uint32_t> sites;
    for (const auto& [site, lines] : counted.lines)
      sites.push_back(site);
    Counted& all = joined[{loop.code, std::move(sites)}];
    all.nanoseconds += counted.nanoseconds;
    for (const auto& [site, lines] : counted.lines)
      all.lines[site] += lines;
  }
  std::vector<LoopTraffic> traffic;
  for (const auto& [key, counted] : joined) {
    LoopTraffic& loop = traffic.emplace_back();
    loop.nanoseconds = counted.nanoseconds;
    for (const auto& [site, lines] : counted.lines)
      loop.sites.push_back({site, lines});
  }
  return traffic;
}

} // namespace omptier
