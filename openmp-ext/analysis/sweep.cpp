// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// See sweep.hpp.
#include "analysis/sweep.hpp"

#include "log/format.hpp"

#include <algorithm>
#include <unordered_map>

namespace omptier {

Sweep::Sweep(ProfileSummary& summary, Names& names, const Profile& profile)
    : summary_(summary), profile_(profile) {
  for (const SiteRecord& site : profile.sites)
    site_numbers_.push_back(names.site(profile, site));
  for (const RegionDefinition& region : profile.region_definitions)
    region_numbers_.push_back(names.region(names.translate(profile, region.frames)));
  sites.resize(summary.sites.size());
}

void Sweep::run() {
  object_weights_.assign(profile_.objects.size(), 0);
  for (const ObjectRecord& object : profile_.objects)
    by_release_.push_back(object.object);
  std::stable_sort(by_release_.begin(), by_release_.end(), [&](auto a, auto b) {
    return profile_.objects[a].released < profile_.objects[b].released;
  });
  attributions.reserve(profile_.samples.size());
  learn_levels();
  for (const AccessSample& sample : profile_.samples) {
    attribute_patterns(sample.time);
    advance(sample.time);
    attribute(sample);
  }
  attribute_patterns(ObjectRecord::k_never - 1);
  advance(ObjectRecord::k_never - 1);
  close_region(profile_.last_time);
  take_region_totals();
  keep_instances();
}

std::vector<MoveSummary> Sweep::moves() const {
  std::vector<MoveSummary> moves;
  std::unordered_map<std::uint64_t, std::vector<std::uint64_t>> objects_at;
  for (const MoveRecord& record : profile_.moves)
    objects_at[record.address];
  for (const ObjectRecord& object : profile_.objects)
    if (const auto at = objects_at.find(object.address); at != objects_at.end())
      at->second.push_back(object.object);
  for (const MoveRecord& record : profile_.moves) {
    MoveSummary& move = moves.emplace_back();
    const double taken = record.seconds * 1e9; // whatever a damaged file says
    const bool sane = taken >= 0 && taken <= static_cast<double>(record.time);
    move.begin = relative(record.time - (sane ? static_cast<std::uint64_t>(taken) : 0));
    move.bytes = record.bytes;
    move.from = record.from;
    move.to = record.to;
    move.seconds = record.seconds;
    for (const std::uint64_t number : objects_at[record.address])
      if (const ObjectRecord& object = profile_.objects[number];
          object.time <= record.time && record.time < object.released)
        move.site = site_numbers_[object.site];
    const auto later =
        std::ranges::lower_bound(profile_.regions, record.time, {}, &RegionRecord::time);
    const auto next =
        std::find_if(later, profile_.regions.end(), [](auto& region) { return region.begin; });
    if (next != profile_.regions.end()) move.region = region_numbers_[next->region];
  }
  std::ranges::stable_sort(moves, {}, &MoveSummary::begin);
  return moves;
}

std::uint64_t Sweep::relative(std::uint64_t time) const {
  return time > profile_.run.start_time ? time - profile_.run.start_time : 0;
}

void Sweep::advance(std::uint64_t now) {
  const auto time_of = [](const auto& list, std::size_t next) {
    return next < list.size() ? list[next].time : ObjectRecord::k_never;
  };
  for (;;) {
    const std::uint64_t born = time_of(profile_.objects, next_object_);
    const std::uint64_t gone = next_release_ < by_release_.size()
                                   ? profile_.objects[by_release_[next_release_]].released
                                   : ObjectRecord::k_never;
    const std::uint64_t region = time_of(profile_.regions, next_region_);
    const std::uint64_t totals = time_of(profile_.site_totals, next_totals_);
    const std::uint64_t first = std::min({born, gone, region, totals});
    if (first > now || first == ObjectRecord::k_never) return;
    if (gone == first && by_release_[next_release_] < next_object_)
      release_next();
    else if (born == first)
      begin_next();
    else if (region == first)
      step_region(profile_.regions[next_region_++]);
    else if (totals == first)
      take_totals(profile_.site_totals[next_totals_++]);
    else
      ++next_release_; // released before it was born: a damaged clock; never counted
  }
}

LiveMap& Sweep::map_of(const ObjectRecord& object) {
  switch (profile_.sites[object.site].kind) {
  case SiteKind::variable:
  case SiteKind::statics:
  case SiteKind::constants:
    return modules_;
  case SiteKind::stacks:
    return stacks_;
  case SiteKind::heap:
    return heap_;
  default:
    return live_;
  }
}

// A made-up log may tell of more than a process can address: sums must not wrap.
std::uint64_t Sweep::bytes_of(const ObjectRecord& object) {
  constexpr std::uint64_t k_most = std::uint64_t{1} << 48;
  return std::min(object.bytes, k_most);
}

void Sweep::begin_next() {
  const ObjectRecord& object = profile_.objects[next_object_++];
  const std::uint64_t bytes = bytes_of(object);
  map_of(object).insert(object.address, object.bytes, object.object);
  SiteInProfile& site = sites[site_numbers_[object.site]];
  SiteSummary& summary = summary_.sites[site_numbers_[object.site]];
  if (object.allocator == 0) summary.by_malloc = true;
  const bool rest = object.allocator == ObjectRecord::k_rest;
  if (object.allocator == ObjectRecord::k_mapping) summary.kind = SiteKind::mapping;
  if (!rest) ++site.objects;
  if (!has_bytes(summary.kind)) return;
  if (!rest) site.bytes_total += bytes;
  site.bytes_largest = std::max(site.bytes_largest, bytes);
  step_live(site, object.time, static_cast<std::int64_t>(bytes));
  // The rest of a mapping was in the total with its whole; a made-up log may tell of no whole.
  if (rest) site.bytes_total = std::max(site.bytes_total, site.live.back().bytes);
}

void Sweep::release_next() {
  const ObjectRecord& object = profile_.objects[by_release_[next_release_++]];
  LiveMap& map = map_of(object);
  if (const auto there = map.find(object.address); there && *there == object.object)
    map.erase(object.address);
  if (!has_bytes(summary_.sites[site_numbers_[object.site]].kind)) return;
  step_live(sites[site_numbers_[object.site]], object.released,
            -static_cast<std::int64_t>(bytes_of(object)));
}

void Sweep::step_live(SiteInProfile& site, std::uint64_t time, std::int64_t change) {
  const std::uint64_t before = site.live.empty() ? 0 : site.live.back().bytes;
  const LiveStep step{relative(time), before + static_cast<std::uint64_t>(change)};
  if (!site.live.empty() && site.live.back().time == step.time)
    site.live.back() = step;
  else
    site.live.push_back(step);
  site.bytes_peak = std::max(site.bytes_peak, step.bytes);
}

// A peak that has passed since the totals before counts with what is told of the site now.
void Sweep::take_totals(const SiteTotals& totals) {
  if (totals.site >= counted_.size()) counted_.resize(profile_.sites.size());
  SiteTotals& before = counted_[totals.site];
  SiteInProfile& site = sites[site_numbers_[totals.site]];
  if (totals.by_malloc) summary_.sites[site_numbers_[totals.site]].by_malloc = true;
  const auto change = [](std::uint64_t to, std::uint64_t from) {
    return static_cast<std::int64_t>(to - from);
  };
  site.objects += totals.objects - std::min(before.objects, totals.objects);
  site.bytes_total += totals.bytes - std::min(before.bytes, totals.bytes);
  site.bytes_largest = std::max(site.bytes_largest, totals.largest);
  const std::uint64_t last =
      site.live.empty() ? 0 : site.live.back().time + profile_.run.start_time;
  step_live(site, std::max(totals.peak_time, last), change(totals.peak, before.live));
  step_live(site, totals.time, change(totals.live, totals.peak));
  before = totals;
}

bool Sweep::is_totalled(std::uint32_t region) const {
  return region < profile_.region_totals.size() && profile_.region_totals[region].entries > 0;
}

void Sweep::take_region_totals() {
  for (std::uint32_t number = 0; number < profile_.region_totals.size(); ++number) {
    const RegionTotals& totals = profile_.region_totals[number];
    RegionSummary& region = summary_.regions[region_numbers_[number]];
    region.entries += totals.entries;
    region.entered_anew += totals.entered_anew;
    region.nanoseconds += totals.nanoseconds;
    region.threads = std::max(region.threads, totals.threads);
  }
}

void Sweep::step_region(const RegionRecord& record) {
  RegionSummary& region = summary_.regions[region_numbers_[record.region]];
  if (record.begin) {
    const std::uint64_t once = is_totalled(record.region) ? 0 : 1;
    region.entries += once;
    region.threads = std::max(region.threads, record.threads);
    if (running_.empty()) {
      if (region_numbers_[record.region] != last_region_) region.entered_anew += once;
      last_region_ = region_numbers_[record.region];
      region_begin_ = record.time;
    }
    running_.push_back({record.region, record.thread});
    return;
  }
  // The innermost one of that thread ends.
  for (std::size_t i = running_.size(); i-- > 0;) {
    if (running_[i].thread != record.thread || running_[i].region != record.region) continue;
    if (i == 0) close_region(record.time);
    running_.erase(running_.begin() + static_cast<std::ptrdiff_t>(i));
    if (i == 0) region_begin_ = record.time;
    return;
  }
}

void Sweep::close_region(std::uint64_t time) {
  if (running_.empty() || time < region_begin_ || is_totalled(running_.front().region)) return;
  summary_.regions[region_numbers_[running_.front().region]].nanoseconds += time - region_begin_;
}

void Sweep::add_to_site(Attribution& at, std::uint32_t number, const AccessSample& sample,
                        const BlockPlace& place) {
  const double weight = sample.weight;
  at.site = number;
  at.position =
      static_cast<float>(double(place.offset) / double(std::max<std::uint64_t>(place.bytes, 1)));
  const auto add = [&](auto& to) {
    to.add(sample, weight);
    to.offsets.add(place.offset, place.bytes, weight);
  };
  add(summary_.sites[number]);
  add(part_of(number, at.region));
  if (sample.latency <= 0) return;
  sites[number].latency_sum += weight * double{sample.latency};
  sites[number].latency_weight += weight;
}

std::uint32_t Sweep::region_now() const {
  return running_.empty() ? 0 : region_numbers_[running_.front().region];
}

void Sweep::attribute(AccessSample blamed) {
  blamed.level = level_of(blamed);
  Attribution at;
  at.weight = blamed.weight;
  at.region = region_now();
  const AccessSample sample = shared_among_streams(blamed, at.region);
  const double weight = sample.weight;
  summary_.regions[at.region].add(sample, weight);
  ++summary_.samples;
  const auto object = sample.place == 0 ? object_at(sample.address) : std::nullopt;
  if (sample.place != 0) {
    const BlockPlace& place = profile_.places[sample.place - 1];
    add_to_site(at, site_numbers_[place.site], sample, place);
  } else if (object) {
    const ObjectRecord& record = profile_.objects[*object];
    object_weights_[*object] += weight;
    add_to_site(at, site_numbers_[record.site], sample,
                {record.site, sample.address - record.address, record.bytes});
  } else if (is_small_object(sample.address)) {
    at.site = k_small_objects;
    summary_.small.add(sample, weight);
  } else {
    ++(sample.address == 0 ? summary_.unknown_address : summary_.outside_objects);
    if (sample.address == 0 && sample.kind == AccessKind::unknown) ++summary_.no_operand;
    summary_.other.add(sample, weight);
  }
  attributions.push_back(at);
}

bool Sweep::is_small_object(std::uint64_t address) const {
  return profile_.small_areas.contains(address / k_small_area);
}

std::optional<std::uint64_t> Sweep::object_at(std::uint64_t address) const {
  if (address == 0) return std::nullopt;
  for (const LiveMap* map : {&live_, &modules_, &stacks_})
    if (const auto object = map->find(address)) return object;
  return is_small_object(address) ? std::nullopt : heap_.find(address);
}

std::uint32_t Sweep::site_at(std::uint64_t address, std::uint32_t place) const {
  if (place != 0) return site_numbers_[profile_.places[place - 1].site];
  const auto object = object_at(address);
  return object ? site_numbers_[profile_.objects[*object].site] : k_no_site;
}

void Sweep::attribute_patterns(std::uint64_t now) {
  for (; next_pattern_ < profile_.patterns.size(); ++next_pattern_) {
    const AccessPattern& pattern = profile_.patterns[next_pattern_];
    if (pattern.time > now) return;
    advance(pattern.time);
    ++summary_.patterns;
    patterns.push_back({&pattern, site_at(pattern.address, pattern.place),
                        site_at(pattern.through, pattern.through_place), region_now()});
  }
}

// The patterns of the loop that this sample was in came just before it; they have its time.
void Sweep::learn_streams(const AccessSample& sample) {
  constexpr std::size_t k_most = 1024; // more no loop has (emulation/loop_accesses.hpp)
  std::vector<LoopAccess> loop;
  const std::size_t first = patterns.size() - std::min(patterns.size(), k_most);
  for (std::size_t i = patterns.size(); i-- > first;) {
    const auto& [pattern, site, through, region] = patterns[i];
    if (pattern->time != sample.time) break;
    if (pattern->thread == sample.thread && site != k_no_site)
      loop.push_back({site, is_cached(site), *pattern});
  }
  if (!loop.empty()) streams_.learn(sample.pc, streams_of(std::move(loop)));
}

// So little that a core's own cache keeps it. (What watched addresses say of a stream is no help: a
// copy uses a word again at once, piece by piece.)
bool Sweep::is_cached(std::uint32_t site) const {
  constexpr std::uint64_t k_fits = 256u << 10;
  return !sites[site].live.empty() && sites[site].live.back().bytes <= k_fits;
}

AccessSample Sweep::shared_among_streams(const AccessSample& sample, std::uint32_t region) {
  if (profile_.run.measure != Measure::time || sample.address == 0) return sample;
  learn_streams(sample);
  const std::uint32_t from = site_at(sample.address, sample.place);
  if (from == k_no_site) return sample;
  const Stream* stream = streams_.deal(sample.pc, from);
  // What was there when the loop was looked at may have gone.
  if (stream == nullptr || site_at(stream->address, stream->place) != stream->site) return sample;
  if (stream->site == from) return sample;
  const double weight = sample.weight;
  part_of(from, region).dealt -= weight;
  part_of(stream->site, region).dealt += weight;
  AccessSample dealt = sample;
  dealt.address = stream->address;
  dealt.place = stream->place;
  dealt.kind = stream->kind;
  dealt.level = AccessLevel::unknown;
  return dealt;
}

SitePart& Sweep::part_of(std::uint32_t site, std::uint32_t region) {
  std::vector<SitePart>& parts = summary_.sites[site].by_region;
  const auto at = std::ranges::find(parts, region, &SitePart::of);
  if (at != parts.end()) return *at;
  parts.emplace_back().of = region;
  return parts.back();
}

// Samples of time carry a level only from the moment on at which their instruction was judged
// (sampling/reuse.hpp). Other sources tell it of each sample.
void Sweep::learn_levels() {
  if (profile_.run.measure != Measure::time) return;
  for (const AccessSample& sample : profile_.samples)
    if (sample.pc != 0 && sample.level != AccessLevel::unknown)
      cached_[sample.pc] +=
          sample.level == AccessLevel::cache ? double{sample.weight} : -double{sample.weight};
}

AccessLevel Sweep::level_of(const AccessSample& sample) const {
  if (sample.level != AccessLevel::unknown) return sample.level;
  const auto at = cached_.find(sample.pc);
  if (at == cached_.end() || at->second == 0) return AccessLevel::unknown;
  return at->second > 0 ? AccessLevel::cache : AccessLevel::memory;
}

void Sweep::keep_instances() {
  for (const ObjectRecord& object : profile_.objects)
    sites[site_numbers_[object.site]].instances.push_back(
        {object.instance, relative(object.time),
         relative(std::min(object.released, profile_.last_time)), object.bytes,
         object_weights_[object.object]});
  for (SiteInProfile& site : sites) {
    if (site.instances.size() <= k_instances_kept) continue;
    std::nth_element(site.instances.begin(), site.instances.begin() + k_instances_kept,
                     site.instances.end(), [](const InstanceSummary& a, const InstanceSummary& b) {
                       return a.bytes != b.bytes ? a.bytes > b.bytes : a.instance < b.instance;
                     });
    site.instances.resize(k_instances_kept);
    std::ranges::sort(site.instances, {}, &InstanceSummary::instance);
  }
}

} // namespace omptier
