// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// See attribution.hpp.
#include "analysis/attribution.hpp"

#include "analysis/blocks.hpp"
#include "analysis/fresh_bytes.hpp"
#include "analysis/growth.hpp"
#include "analysis/runtime_site.hpp"
#include "log/format.hpp"
#include "model/demand.hpp"

#include <algorithm>
#include <cmath>

namespace omptier {

Sweep::Sweep(ProfileSummary& summary, Names& names, const Profile& profile)
    : summary_(summary), names_(names), profile_(profile) {
  runtime_site_ = names.site(profile, runtime_site());
  for (const SiteRecord& site : profile.sites)
    site_numbers_.push_back(is_runtimes(profile, site) ? runtime_site_ : names.site(profile, site));
  for (const RegionDefinition& region : profile.region_definitions)
    region_numbers_.push_back(names.region(names.translate(profile, region.frames)));
  sites.resize(summary.sites.size());
  for (const AreaRecord& area : profile.areas)
    if (area.kind == AreaKind::module) module_areas_.push_back(&area);
}

void Sweep::run() {
  for (const ObjectRecord& object : profile_.objects)
    by_release_.push_back(object.object);
  std::stable_sort(by_release_.begin(), by_release_.end(), [&](auto a, auto b) {
    return profile_.objects[a].released < profile_.objects[b].released;
  });
  for (const std::uint64_t area : profile_.small_areas)
    live_.insert(area * k_small_area, k_small_area, Place::k_none, Layer::small_objects);
  attributions.reserve(profile_.samples.size());
  for (const LoggedSample& sample : profile_.samples) {
    attribute_reuses(sample.time);
    attribute_patterns(sample.time);
    advance(sample.time);
    attribute(sample);
  }
  attribute_reuses(profile_.last_time);
  attribute_patterns(ObjectRecord::k_never - 1);
  take_code();
  take_advances();
  advance(ObjectRecord::k_never - 1);
  close_region(profile_.last_time);
  std::ranges::stable_sort(moves, {}, &MoveSummary::begin);
  take_region_totals();
  take_runtimes_small_objects();
  measure_growth(profile_, site_numbers_, sites);
  measure_fresh_bytes(profile_, site_numbers_, sites);
  find_lost();
  for (std::uint32_t i = 0; i < sites.size(); ++i)
    sites[i].lines_of_block = miss_steps_.of(i);
  measure_blocks(profile_, site_numbers_, attributions, sites, summary_.sites);
}

// An object cannot be released while it is moved. The next record is the begin of the region,
// unless it was moved at a barrier of one.
void Sweep::take_move(const MoveRecord& record) {
  MoveSummary& move = moves.emplace_back();
  const double taken = record.seconds * 1e9; // whatever a damaged file says
  const bool sane = taken >= 0 && taken <= static_cast<double>(record.time);
  move.begin = relative(record.time - (sane ? static_cast<std::uint64_t>(taken) : 0));
  move.bytes = record.bytes;
  move.from = record.from;
  move.to = record.to;
  move.seconds = record.seconds;
  const Place place = place_of(record.address, {});
  if (place.offset == 0 && place.site < k_small_objects) move.site = place.site;
  if (record.at_barrier) {
    move.at_barrier = true;
    move.region = region_now();
    return;
  }
  const auto next =
      std::find_if(profile_.regions.begin() + static_cast<std::ptrdiff_t>(next_region_),
                   profile_.regions.end(), [](auto& region) { return region.begin; });
  if (next != profile_.regions.end()) move.region = region_numbers_[next->region];
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
    const std::uint64_t move = time_of(profile_.moves, moves.size());
    const std::uint64_t region = time_of(profile_.regions, next_region_);
    const std::uint64_t totals = time_of(profile_.site_totals, next_totals_);
    const std::uint64_t first = std::min({born, gone, move, region, totals});
    if (first > now || first == ObjectRecord::k_never) return;
    if (gone == first && by_release_[next_release_] < next_object_)
      release_next();
    else if (born == first)
      begin_next();
    else if (move == first)
      take_move(profile_.moves[moves.size()]);
    else if (region == first)
      step_region(profile_.regions[next_region_++]);
    else if (totals == first)
      take_totals(profile_.site_totals[next_totals_++]);
    else
      ++next_release_; // released before it was allocated: a damaged clock; never counted
  }
}

Layer Sweep::layer_of(const ObjectRecord& object) const {
  switch (profile_.sites[object.site].kind) {
  case SiteKind::variable:
  case SiteKind::statics:
  case SiteKind::constants:
    return Layer::modules;
  case SiteKind::stacks:
    return Layer::stacks;
  case SiteKind::heap:
    return Layer::heap;
  default:
    return Layer::blocks;
  }
}

// A log that is made up may name more than a process can address: sums must not wrap.
std::uint64_t Sweep::bytes_of(const ObjectRecord& object) {
  constexpr std::uint64_t k_most = std::uint64_t{1} << 48;
  return std::min(object.bytes, k_most);
}

bool Sweep::counts_bytes(const ObjectRecord& object) const {
  return has_bytes(profile_.sites[object.site].kind);
}

void Sweep::begin_next() {
  const ObjectRecord& object = profile_.objects[next_object_++];
  const std::uint64_t bytes = bytes_of(object);
  live_.insert(object.address, object.bytes, object.object, layer_of(object));
  SiteInProfile& site = sites[site_numbers_[object.site]];
  SiteSummary& summary = summary_.sites[site_numbers_[object.site]];
  if (object.allocator == 0) summary.by_malloc = true;
  const bool rest = object.allocator == ObjectRecord::k_rest;
  const bool runtimes = summary.kind == SiteKind::runtime;
  if (object.allocator == ObjectRecord::k_mapping && !runtimes) summary.kind = SiteKind::mapping;
  if (!rest && !(runtimes && object.allocator == ObjectRecord::k_area)) ++site.objects;
  if (!counts_bytes(object)) return;
  if (!rest) site.bytes_total += bytes;
  site.bytes_largest = std::max(site.bytes_largest, bytes);
  step_live(site, object.time, static_cast<std::int64_t>(bytes));
  // The whole mapping, with this rest, is in the total; a made-up log may lack it.
  if (rest) site.bytes_total = std::max(site.bytes_total, site.live.back().bytes);
}

void Sweep::release_next() {
  const ObjectRecord& object = profile_.objects[by_release_[next_release_++]];
  live_.erase(object.address, layer_of(object), object.object);
  if (!counts_bytes(object)) return;
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

// Totals come later than their peak, perhaps after steps of the site's larger blocks: those steps
// have what is live in the end. False if there are none, so that the peak is the last step.
bool Sweep::counts_later_steps(SiteInProfile& site, std::uint64_t peak_time, std::int64_t to_peak,
                               std::int64_t to_end) {
  const std::uint64_t time = relative(peak_time);
  std::vector<LiveStep> later;
  for (; !site.live.empty() && site.live.back().time > time; site.live.pop_back())
    later.push_back(site.live.back());
  step_live(site, peak_time, to_peak);
  for (; !later.empty(); later.pop_back()) {
    later.back().bytes += static_cast<std::uint64_t>(to_end);
    site.bytes_peak = std::max(site.bytes_peak, later.back().bytes);
    site.live.push_back(later.back());
  }
  return site.live.back().time > time;
}

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
  const std::uint64_t peak_time = std::max(totals.peak_time, before.time);
  if (!counts_later_steps(site, peak_time, change(totals.peak, before.live),
                          change(totals.live, before.live)))
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
  for (std::uint32_t number = 0; number < summary_.regions.size(); ++number) {
    RegionSummary& region = summary_.regions[number];
    if (region.also.empty()) continue;
    region.entered_anew -= std::min(region.entered_anew, entries_between_copies(number));
  }
}

// A region's copy is entered anew after another copy ran: the stretches in between are counted.
std::uint64_t Sweep::entries_between_copies(std::uint32_t region) const {
  std::uint64_t entries = 0;
  for (const StretchDefinition& stretch : profile_.stretch_definitions)
    if (stretch.kind == StretchDefinition::Kind::serial && stretch.region > 0 &&
        stretch.next_region > 0 && stretch.region != stretch.next_region &&
        is_totalled(stretch.next_region - 1) &&
        region_numbers_[stretch.region - 1] == region &&
        region_numbers_[stretch.next_region - 1] == region)
      entries += stretch.entries;
  return entries;
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
      region.see(relative(record.time));
    }
    running_.push_back({record.region, record.thread});
    return;
  }
  for (std::size_t i = running_.size(); i-- > 0;) {
    if (running_[i].thread != record.thread || running_[i].region != record.region) continue;
    if (i == 0) close_region(record.time);
    running_.erase(running_.begin() + static_cast<std::ptrdiff_t>(i));
    if (i == 0) region_begin_ = record.time;
    return;
  }
}

void Sweep::close_region(std::uint64_t time) {
  if (running_.empty() || time < region_begin_) return;
  const std::uint32_t region = region_numbers_[running_.front().region];
  visits.push_back({region, relative(region_begin_), relative(time)});
  if (!is_totalled(running_.front().region))
    summary_.regions[region].nanoseconds += time - region_begin_;
}

void Sweep::add_to_site(const Place& place, const AccessSample& sample, std::uint32_t region) {
  const double weight = sample.weight;
  const auto add = [&](auto& to) {
    to.add(sample, weight);
    if (place.is_exact) to.offsets.add(place.offset, place.bytes, weight);
  };
  add(summary_.sites[place.site]);
  add(part_of(place.site, region));
  if (sample.latency <= 0) return;
  sites[place.site].latency_sum += weight * double{sample.latency};
  sites[place.site].latency_weight += weight;
}

std::uint32_t Sweep::region_now() const {
  return running_.empty() ? 0 : region_numbers_[running_.front().region];
}

void Sweep::attribute(const LoggedSample& logged) {
  AccessSample sample = static_cast<const AccessSample&>(logged);
  // In older logs the level was the instruction's verdict, which also held for other objects.
  if (profile_.run.measure == Measure::time) sample.level = AccessLevel::unknown;
  Place place = place_of(sample.address, logged.place);
  const std::uint32_t region = region_now(), blamed_on = place.site;
  blamed_sites_.push_back(place.site);
  region_runs_.push_back({region_begin_, region});
  note_lost(logged, place);
  if (profile_.run.measure == Measure::time && sample.address != 0) {
    learn_streams(logged);
    share_among_streams(sample, place, region);
  }
  if (place.site == k_no_site && is_in_runtime(logged))
    place = {runtime_site_, Place::k_none, 0, 0, false};
  const double weight = sample.weight;
  if (sample.loop != 0) {
    loops_[logged.pc] = sample.loop;
    nests_.add(sample.thread, sample.loop, sample.nest);
  }
  for (std::uint32_t i = 0; i < logged.patterns; ++i)
    if (const std::uint64_t loop = profile_.patterns[logged.first_pattern + i].loop; loop != 0)
      loops_[logged.pc] = loop;
  summary_.regions[region].add(sample, weight);
  summary_.regions[region].see(relative(logged.time));
  ++summary_.samples;
  if (place.site < k_small_objects) {
    add_to_site(place, sample, region);
    if (profile_.run.measure == Measure::misses && sample.streamed && !sample.by_kernel)
      miss_steps_.add(place.site, sample.thread, sample.kind == AccessKind::store, sample.address);
    blamed_time[{place.site, region, place.site == blamed_on ? sample.pc : 0}] += weight;
  } else if (place.site == k_small_objects) {
    summary_.small.add(sample, weight);
  } else {
    ++(sample.address == 0 ? summary_.unknown_address : summary_.outside_objects);
    if (sample.address == 0 && sample.kind == AccessKind::unknown) ++summary_.no_operand;
    summary_.other.add(sample, weight);
  }
  const auto bytes = double(std::max<std::uint64_t>(place.bytes, 1));
  const double position = place.is_exact ? double(place.offset) / bytes : -1;
  attributions.push_back(
      {place.site, region, sample.weight, static_cast<float>(position), place.object});
}

namespace {

bool is_code_of(const AreaRecord& area, std::uint64_t pc, std::uint64_t time) {
  return pc - area.address < area.bytes && area.begin <= time && time <= area.end;
}

} // namespace

const AreaRecord* Sweep::module_of(std::uint64_t pc, std::uint64_t time) const {
  const auto found = std::ranges::find_if(
      module_areas_, [&](const AreaRecord* area) { return is_code_of(*area, pc, time); });
  return found != module_areas_.end() ? *found : nullptr;
}

bool Sweep::is_in_runtime(const AccessSample& sample) const {
  if (sample.pc == 0) return false;
  const AreaRecord* area = module_of(sample.pc, sample.time);
  return area != nullptr && area->number != 0 && is_runtimes(profile_.modules[area->number]);
}

// Counts only: addresses and times of release are not known.
void Sweep::take_runtimes_small_objects() {
  for (std::size_t i = 0; i < profile_.small_objects.size() && i < site_numbers_.size(); ++i) {
    if (site_numbers_[i] != runtime_site_) continue;
    sites[runtime_site_].objects += profile_.small_objects[i].objects;
    sites[runtime_site_].bytes_total += profile_.small_objects[i].bytes;
  }
}

CodeSummary* Sweep::code_at(std::uint64_t pc, std::uint64_t time) {
  if (code_area_ == nullptr || !is_code_of(*code_area_, pc, time)) {
    const AreaRecord* found = module_of(pc, time);
    if (found == nullptr) return nullptr;
    code_area_ = found;
  }
  const std::uint64_t bias = profile_.modules[code_area_->number].bias;
  // The pc of a counted access is its callback's return address already.
  const std::uint64_t behind = profile_.run.source == "exact" ? 0 : 1;
  CodeSummary& code = names_.code(profile_, {code_area_->number, pc - bias + behind});
  if (const auto loop = loops_.find(pc); loop != loops_.end()) code.loop = loop->second - bias;
  return &code;
}

// What is known of an instruction's loop by now holds for all its samples. Patterns also show
// instructions on which no sample fell, such as stores, which hardly ever wait.
void Sweep::take_code() {
  const auto at_site = [](CodeSummary& code, std::uint32_t site, AccessKind kind) -> CodeAtSite& {
    auto at = std::ranges::find(code.by_site, site, &CodeAtSite::site);
    if (at == code.by_site.end()) {
      code.by_site.emplace_back().site = site;
      at = code.by_site.end() - 1;
    }
    at->loads = at->loads || kind == AccessKind::load;
    at->stores = at->stores || kind == AccessKind::store;
    return *at;
  };
  const auto together = nests_.together();
  for (auto& [pc, loop] : loops_)
    if (const auto first = together.find(loop); first != together.end()) loop = first->second;
  for (std::size_t i = 0; i < profile_.samples.size(); ++i) {
    const LoggedSample& sample = profile_.samples[i];
    CodeSummary* code = sample.pc != 0 ? code_at(sample.pc, sample.time) : nullptr;
    if (code == nullptr) continue;
    ++code->samples;
    code->weight += double{sample.weight};
    if (blamed_sites_[i] >= k_small_objects) continue;
    CodeAtSite& part = at_site(*code, blamed_sites_[i], sample.kind);
    ++part.samples;
    part.weight += double{sample.weight};
  }
  for (const PatternAt& of : patterns)
    if (of.site < k_small_objects && of.pattern->pc != 0)
      if (CodeSummary* code = code_at(of.pattern->pc, of.pattern->time); code != nullptr)
        at_site(*code, of.site,
                of.pattern->kind == AccessKind::store ? AccessKind::store : AccessKind::load);
}

void Sweep::take_advances() {
  if (profile_.run.measure != Measure::time || profile_.run.source == "timer") return;
  static_assert(ObjectOfSite::k_unknown == Place::k_none);
  advances = advance_rates(profile_, region_runs_, objects_of_patterns_);
  for (std::size_t i = 0; i < profile_.samples.size(); ++i)
    for (std::uint32_t k = 0; k < profile_.samples[i].patterns; ++k)
      patterns[profile_.samples[i].first_pattern + k].nest = advances.nests[i];
}

Place Sweep::place_of(std::uint64_t address, const BlockPlace& known) const {
  if (known.is_known())
    return {site_numbers_[known.site], Place::k_none, known.offset, known.bytes};
  const auto found = address != 0 ? live_.find(address) : std::nullopt;
  if (!found) return {};
  if (*found == Place::k_none) return {k_small_objects};
  const ObjectRecord& object = profile_.objects[*found];
  return {site_numbers_[object.site], *found, address - object.address, object.bytes};
}

// Beside a small array of indices, its neighbours were read. Into a small object, chance brings
// lines back: of that the model of the caches knows.
double Sweep::fresh_part(const AccessPattern& pattern, const Place& place, const Place& through) {
  constexpr double k_less_than_chance = 0.7;
  if (through.bytes < k_index_array || !(pattern.fresh > 0)) return 1;
  const double lines = std::max(1.0, static_cast<double>(place.bytes) / k_line_bytes);
  const double fresh = double{pattern.fresh}, chance = std::exp(-double{k_indices_before} / lines);
  return fresh < k_less_than_chance * chance ? fresh : 1;
}

void Sweep::attribute_patterns(std::uint64_t now) {
  const auto site_of = [](const Place& place) {
    return place.site < k_small_objects ? place.site : k_no_site;
  };
  for (; next_pattern_ < profile_.patterns.size(); ++next_pattern_) {
    const LoggedPattern& pattern = profile_.patterns[next_pattern_];
    if (pattern.time > now) return;
    advance(pattern.time);
    ++summary_.patterns;
    const Place place = place_of(pattern.address, pattern.place);
    objects_of_patterns_.push_back({place.object, place.site});
    const Place through = place_of(pattern.through, pattern.through_place);
    patterns.push_back({&pattern, site_of(place), site_of(through), region_now()});
    patterns.back().fresh = fresh_part(pattern, place, through);
  }
}

void Sweep::note_lost(const LoggedSample& sample, const Place& place) {
  if (place.site >= k_small_objects) return;
  for (std::size_t i = sample.first_pattern; i < sample.first_pattern + sample.patterns; ++i)
    if (patterns[i].is_lost()) patterns[i].beside = place.site;
}

// By instruction; if one accesses several objects, its samples stay lost.
void Sweep::find_lost() {
  constexpr double k_nearly_all = 0.9;
  std::map<std::uint64_t, std::map<std::uint32_t, double>> sites_at; // by instruction
  for (const PatternAt& at : patterns)
    if (at.is_lost()) sites_at[at.pattern->pc];
  for (const auto& [at, weight] : blamed_time)
    if (const auto found = sites_at.find(at.pc); found != sites_at.end())
      found->second[at.site] += weight;
  for (PatternAt& at : patterns) {
    if (!at.is_lost()) continue;
    double all = 0, most = 0;
    std::uint32_t site = k_no_site;
    for (const auto& [candidate, weight] : sites_at[at.pattern->pc]) {
      all += weight;
      if (weight <= most) continue;
      most = weight;
      site = candidate;
    }
    if (most > 0 && most >= k_nearly_all * all) at.site = site;
  }
}

void Sweep::attribute_reuses(std::uint64_t now) {
  for (; next_reuse_ < profile_.reuses.size(); ++next_reuse_) {
    const LoggedReuse& reuse = profile_.reuses[next_reuse_];
    if (reuse.time > now) return;
    advance(reuse.time);
    const std::uint32_t site = place_of(reuse.address, reuse.place).site;
    if (site < k_small_objects) reuses.push_back({&reuse, site, region_now()});
  }
}

void Sweep::learn_streams(const LoggedSample& sample) {
  std::vector<LoopAccess> loop;
  loop.reserve(sample.patterns);
  for (std::size_t i = sample.first_pattern + sample.patterns; i-- > sample.first_pattern;)
    if (const std::uint32_t site = patterns[i].site; site != k_no_site)
      loop.push_back({site, is_cached(site), &profile_.patterns[i]});
  if (!loop.empty()) streams_.learn(sample.pc, streams_of(std::move(loop)));
}

// Small enough for a core's own cache. (Watched addresses do not help for streams: a copy uses a
// word again at once, piece by piece.)
bool Sweep::is_cached(std::uint32_t site) const {
  constexpr std::uint64_t k_fits = 256u << 10;
  return !sites[site].live.empty() && sites[site].live.back().bytes <= k_fits;
}

void Sweep::share_among_streams(AccessSample& sample, Place& place, std::uint32_t region) {
  const Stream* stream = streams_.deal(sample.pc, place.site);
  if (stream == nullptr) return;
  const Place dealt = beside(*stream, sample, place);
  // The object seen in the loop may have been freed.
  if (dealt.site != stream->site) return;
  const bool other_block = dealt.object != place.object && dealt.object != Place::k_none;
  if (dealt.site == place.site && !other_block) return;
  part_of(place.site, region).dealt -= double{sample.weight};
  part_of(dealt.site, region).dealt += double{sample.weight};
  sample.kind = stream->kind;
  place = dealt;
}

// Where a stream is while the blamed stream of the same loop is at the sample's address: both have
// moved on equally since they were seen together. If the loop works on other blocks now, the block
// is unknown.
Place Sweep::beside(const Stream& stream, const AccessSample& sample, const Place& blamed) const {
  Place dealt = place_of(stream.address, stream.place);
  dealt.is_exact = false;
  const Stream* own = streams_.nearest(sample.pc, blamed.site, sample.address);
  if (blamed.object == Place::k_none || own == nullptr ||
      place_of(own->address, own->place).object != blamed.object) {
    if (dealt.site < sites.size() && sites[dealt.site].objects > 1) dealt.object = Place::k_none;
    return dealt;
  }
  if (dealt.object == Place::k_none || own->step == 0 || stream.step == 0) return dealt;
  const double passed = double(static_cast<std::int64_t>(sample.address - own->address));
  const double offset =
      double(dealt.offset) + passed / double(own->step) * double(stream.step);
  if (!(offset >= 0 && offset < double(dealt.bytes))) return dealt;
  dealt.offset = static_cast<std::uint64_t>(offset);
  dealt.is_exact = true;
  return dealt;
}

SitePart& Sweep::part_of(std::uint32_t site, std::uint32_t region) {
  std::vector<SitePart>& parts = summary_.sites[site].by_region;
  const auto at = std::ranges::find(parts, region, &SitePart::of);
  if (at != parts.end()) return *at;
  parts.emplace_back().of = region;
  return parts.back();
}

} // namespace omptier
