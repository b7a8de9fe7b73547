// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// See record_reader.hpp.
#include "log/record_reader.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

namespace omptier {
namespace {

constexpr std::uint32_t k_largest_number = 1u << 28; // of sites and regions in one log

// Sites and regions are numbered in order: a large gap would cost memory.
template <typename T> std::uint32_t next_number(RecordBody& body, const std::vector<T>& list) {
  constexpr std::size_t k_largest_gap = 1024;
  return body.small(static_cast<std::uint32_t>(
      std::min<std::size_t>(k_largest_number, list.size() + k_largest_gap)));
}

template <typename T> T& slot(std::vector<T>& list, std::uint32_t number) {
  if (list.size() <= number) list.resize(number + 1);
  return list[number];
}

// For numbers that a damaged file skips: outside of regions, from start to end.
constexpr StretchDefinition k_unknown_stretch = {StretchDefinition::Kind::serial, 0, 0, {}, 0, 0};

} // namespace

void RecordReader::begin_block(std::uint64_t base_time) {
  state_ = {};
  next_of_2_ = {};
  state_.time = state_.sample_time = state_.pattern_time = state_.stretch_time = base_time;
}

// By type; null for those of a later version.
constexpr RecordReader::Readers RecordReader::readers() {
  Readers readers{};
  const auto set = [&](RecordType type, Reader reader) {
    readers[static_cast<std::uint8_t>(type)] = reader;
  };
  set(RecordType::run, &RecordReader::read_run);
  set(RecordType::module, &RecordReader::read_module);
  set(RecordType::site, &RecordReader::read_site);
  set(RecordType::object, &RecordReader::read_object);
  set(RecordType::release, &RecordReader::read_release);
  set(RecordType::region_definition, &RecordReader::read_region_definition);
  set(RecordType::region, &RecordReader::read_region);
  set(RecordType::move, &RecordReader::read_move);
  set(RecordType::phase, &RecordReader::read_phase);
  set(RecordType::lost, &RecordReader::read_lost);
  set(RecordType::end, &RecordReader::read_end);
  set(RecordType::pattern_of_2, &RecordReader::read_pattern_of_2);
  set(RecordType::waiting, &RecordReader::read_waiting);
  set(RecordType::small_objects, &RecordReader::read_small_objects);
  set(RecordType::small_area, &RecordReader::read_small_area);
  set(RecordType::stretch_definition, &RecordReader::read_stretch_definition);
  set(RecordType::stretch, &RecordReader::read_stretch);
  set(RecordType::stretch_count, &RecordReader::read_stretch_count);
  set(RecordType::site_totals, &RecordReader::read_site_totals);
  set(RecordType::in_block_of_2, &RecordReader::read_in_block_of_2);
  set(RecordType::region_totals, &RecordReader::read_region_totals);
  set(RecordType::thinned, &RecordReader::read_thinned);
  set(RecordType::shortages, &RecordReader::read_shortages);
  set(RecordType::area, &RecordReader::read_area);
  set(RecordType::area_end, &RecordReader::read_area_end);
  set(RecordType::loop_of_2, &RecordReader::read_loop_of_2);
  set(RecordType::sample, &RecordReader::read_sample);
  set(RecordType::pattern, &RecordReader::read_pattern);
  set(RecordType::reuse, &RecordReader::read_reuse);
  set(RecordType::name_text, &RecordReader::read_name<&NameReader::read_text>);
  set(RecordType::frame_name, &RecordReader::read_name<&NameReader::read_frame>);
  set(RecordType::site_name, &RecordReader::read_name<&NameReader::read_site>);
  set(RecordType::static_names, &RecordReader::read_name<&NameReader::read_statics>);
  set(RecordType::source_time, &RecordReader::read_name<&NameReader::read_source>);
  set(RecordType::names_end, &RecordReader::read_name<&NameReader::read_end>);
  return readers;
}

bool RecordReader::read(RecordBody& body) {
  static constexpr Readers k_readers = readers();
  const RecordBody start = body;
  const auto type = body.raw<std::uint8_t>();
  if (!has_run_ && type != static_cast<std::uint8_t>(RecordType::run)) return false;
  if ((type & k_sample_of_2) != 0) {
    if (version_ >= 3) return false;
    read_sample(body = start);
    return body.good();
  }
  // Their patterns belong to no sample.
  const auto is = [type](RecordType of) { return type == static_cast<std::uint8_t>(of); };
  if (version_ >= 3 && (is(RecordType::pattern_of_2) || is(RecordType::in_block_of_2) ||
                        is(RecordType::loop_of_2)))
    return false;
  const std::uint64_t bytes = body.number();
  RecordBody part = body.part(bytes);
  if (!body.good() || (version_ < 3 && type >= static_cast<std::uint8_t>(RecordType::sample)))
    return false;
  if (const Reader reader = k_readers[type]) (this->*reader)(part);
  return part.good();
}

std::uint64_t RecordReader::time(RecordBody& body) {
  const std::uint64_t now = body.difference(state_.time);
  profile_.last_time = std::max(profile_.last_time, now);
  return now;
}

std::uint64_t RecordReader::time_in_order(RecordBody& body) {
  const std::uint64_t now = time(body);
  if (now < last_event_) body.fail();
  return last_event_ = now;
}

void RecordReader::read_run(RecordBody& body) {
  has_run_ = true;
  RunRecord& run = profile_.run;
  body.numbers(run.process, run.rank, run.start_time, run.wall_clock_start);
  run.measure = static_cast<Measure>(body.small(3));
  run.worst_error = body.raw<double>();
  run.rate = body.raw<double>();
  for (std::string* text :
       {&run.host, &run.program, &run.command_line, &run.job, &run.source, &run.source_description})
    *text = body.text();
  if (!body.empty()) body.numbers(run.caches.own, run.caches.all);
  if (!body.empty()) body.numbers(run.recording);
  profile_.last_time = run.start_time;
}

void RecordReader::read_module(RecordBody& body) {
  const std::uint32_t number = body.small(k_largest_module);
  ModuleInfo module;
  module.bias = body.number();
  module.system = body.number() != 0;
  module.identity = body.text();
  module.name = body.text();
  module.path = body.text();
  if (body.good()) slot(profile_.modules, number) = std::move(module);
}

void RecordReader::read_site(RecordBody& body) {
  const std::uint32_t number = next_number(body, profile_.sites);
  slot(profile_.sites, number) = {number, body.frames()};
}

void RecordReader::read_small_objects(RecordBody& body) {
  const std::uint32_t number = next_number(body, profile_.sites);
  SmallObjects& small = slot(profile_.small_objects, number);
  body.numbers(small.objects, small.bytes);
}

void RecordReader::read_small_area(RecordBody& body) {
  profile_.small_areas.insert(body.number());
}

void RecordReader::read_object(RecordBody& body) {
  ObjectRecord object;
  object.time = time_in_order(body);
  object.address = body.difference(state_.object_address);
  object.bytes = body.number();
  object.site = body.small(k_largest_number);
  object.thread = static_cast<std::uint32_t>(body.number());
  object.allocator = body.number();
  object.object = profile_.objects.size();
  if (!body.good() || object.site >= profile_.sites.size()) {
    body.fail(); // an object of a site that was never named
    return;
  }
  std::uint32_t& instances = slot(instances_, object.site);
  if (object.allocator == ObjectRecord::k_rest && instances > 0)
    object.instance = instances - 1;
  else
    object.instance = instances++;
  // The block was freed unnoticed: its memory belongs to another object now.
  for (const std::uint64_t old : live_.insert(object.address, object.bytes, object.object))
    profile_.objects[old].released = object.time;
  profile_.objects.push_back(object);
}

void RecordReader::read_release(RecordBody& body) {
  const std::uint64_t now = time_in_order(body);
  const std::uint64_t address = body.difference(state_.object_address);
  if (const auto object = live_.erase(address)) profile_.objects[*object].released = now;
}

void RecordReader::read_site_totals(RecordBody& body) {
  SiteTotals totals;
  totals.time = time_in_order(body);
  const std::uint32_t number = body.small(2 * k_largest_number);
  totals.site = number >> 1;
  totals.by_malloc = (number & 1) != 0;
  body.numbers(totals.objects, totals.bytes, totals.largest, totals.live, totals.peak);
  totals.peak_time = totals.time - std::min(totals.time, body.number());
  if (totals.site >= profile_.sites.size()) body.fail();
  if (!body.good()) return;
  SiteTotals& before = slot(last_totals_, totals.site); // counts from the start on never fall
  if (totals.live > totals.peak || totals.peak > totals.bytes || totals.bytes >> 56 != 0 ||
      totals.bytes < before.bytes || totals.objects < before.objects) {
    body.fail();
    return;
  }
  before = totals;
  profile_.site_totals.push_back(totals);
}

void RecordReader::read_region_totals(RecordBody& body) {
  RegionTotals totals;
  const std::uint32_t number = next_number(body, profile_.region_definitions);
  body.numbers(totals.entries, totals.entered_anew, totals.nanoseconds, totals.threads);
  if (number >= profile_.region_definitions.size()) body.fail();
  if (body.good()) slot(profile_.region_totals, number) = totals;
}

void RecordReader::read_area(RecordBody& body) {
  AreaRecord area;
  area.kind = static_cast<AreaKind>(body.small(k_area_kinds));
  const bool of_module = area.kind == AreaKind::module || area.kind == AreaKind::statics;
  area.number =
      of_module ? body.small(k_largest_module) : static_cast<std::uint32_t>(body.number());
  body.numbers(area.address, area.bytes, area.begin);
  if (area.bytes == 0 || area.address + area.bytes < area.address) body.fail();
  if (!body.good()) return;
  if (of_module) slot(profile_.modules, area.number);
  end_area(area.kind, area.number, area.begin);
  open_areas_[{area.kind, area.number}] = profile_.areas.size();
  profile_.areas.push_back(area);
}

void RecordReader::read_area_end(RecordBody& body) {
  const auto kind = static_cast<AreaKind>(body.small(k_area_kinds));
  const auto number = static_cast<std::uint32_t>(body.number());
  end_area(kind, number, body.number());
}

void RecordReader::end_area(AreaKind kind, std::uint32_t number, std::uint64_t end) {
  const auto at = open_areas_.find({kind, number});
  if (at == open_areas_.end()) return;
  AreaRecord& area = profile_.areas[at->second];
  area.end = std::max(area.begin, end);
  open_areas_.erase(at);
}

void RecordReader::read_region_definition(RecordBody& body) {
  const std::uint32_t number = next_number(body, profile_.region_definitions);
  slot(profile_.region_definitions, number) = {number, body.frames()};
}

void RecordReader::read_region(RecordBody& body) {
  RegionRecord region;
  region.time = time(body);
  const std::uint32_t number = body.small(2 * k_largest_number);
  region.region = number >> 1;
  region.begin = (number & 1) != 0;
  body.numbers(region.threads, region.thread);
  const bool in_order = profile_.regions.empty() || profile_.regions.back().time <= region.time;
  if ((version_ >= 3 && !in_order) || region.region >= profile_.region_definitions.size())
    body.fail();
  else
    profile_.regions.push_back(region);
}

void RecordReader::read_stretch_definition(RecordBody& body) {
  const std::uint32_t number = next_number(body, profile_.stretch_definitions);
  const auto regions = static_cast<std::uint32_t>(profile_.region_definitions.size());
  StretchDefinition stretch;
  stretch.kind = static_cast<StretchDefinition::Kind>(body.small(3));
  const bool serial = stretch.kind == StretchDefinition::Kind::serial;
  stretch.region = body.small(regions + (serial ? 1 : 0));
  stretch.next_region = body.small(regions + 1);
  if (stretch.kind == StretchDefinition::Kind::barrier) {
    const std::vector<Frame> frames = body.frames();
    if (frames.empty()) return body.fail();
    stretch.frame = frames.front();
  }
  if (!body.good()) return;
  if (number >= profile_.stretch_definitions.size())
    profile_.stretch_definitions.resize(number + 1, k_unknown_stretch);
  profile_.stretch_definitions[number] = stretch;
}

void RecordReader::read_stretch(RecordBody& body) {
  StretchRecord stretch;
  stretch.end = body.difference(state_.stretch_time);
  stretch.nanoseconds = std::min(body.number(), stretch.end);
  stretch.stretch = body.small(static_cast<std::uint32_t>(profile_.stretch_definitions.size()));
  stretch.thread = static_cast<std::uint32_t>(body.number());
  profile_.last_time = std::max(profile_.last_time, stretch.end);
  if (body.good()) profile_.stretches.push_back(stretch);
}

void RecordReader::read_stretch_count(RecordBody& body) {
  const std::uint32_t number =
      body.small(static_cast<std::uint32_t>(profile_.stretch_definitions.size()));
  if (!body.good()) return;
  StretchDefinition& stretch = profile_.stretch_definitions[number];
  body.numbers(stretch.entries, stretch.nanoseconds);
}

void RecordReader::read_move(RecordBody& body) {
  MoveRecord move;
  move.time = time(body);
  body.numbers(move.address, move.bytes);
  move.from = static_cast<MemoryKind>(body.small(k_memory_kinds + 1));
  move.to = static_cast<MemoryKind>(body.small(k_memory_kinds + 1));
  move.seconds = body.raw<double>();
  move.at_barrier = !body.empty() && body.number() != 0;
  profile_.moves.push_back(move);
}

void RecordReader::read_phase(RecordBody& body) {
  profile_.phases.push_back({time_in_order(body), body.text()});
}

void RecordReader::read_lost(RecordBody& body) {
  const std::uint64_t samples = body.number();
  profile_.samples_lost += samples;
  profile_.lost_by[body.empty() ? 0 : body.small(k_loss_reasons)] += samples;
}

void RecordReader::read_thinned(RecordBody& body) {
  profile_.thinnings.push_back({time_in_order(body), body.number()});
}

void RecordReader::read_shortages(RecordBody& body) {
  Shortages& all = profile_.shortages;
  for (std::uint64_t* number : {&all.objects, &all.by_caller, &all.runs, &all.stretches,
                                &all.phases, &all.areas, &all.moves, &all.regions_by_caller,
                                &all.loops.emulated, &all.loops.alike, &all.loops.left_out})
    *number = body.empty() ? 0 : body.number();
}

void RecordReader::read_waiting(RecordBody& body) {
  profile_.samples_waiting += body.number();
  const double weight = body.raw<double>();
  if (weight >= 0 && std::isfinite(weight)) profile_.waiting += weight;
}

void RecordReader::read_end(RecordBody& body) {
  EndRecord& end = profile_.end.emplace();
  end.time = time_in_order(body);
  body.numbers(end.samples, end.samples_lost);
}

// number: the site's + 1; 0 = there is no place.
BlockPlace RecordReader::read_place(RecordBody& body, std::uint64_t number) const {
  if (number == 0) return {};
  BlockPlace place{static_cast<std::uint32_t>(number - 1)};
  body.numbers(place.offset, place.bytes);
  if (number > profile_.sites.size() || place.offset > place.bytes) body.fail();
  return place;
}

void RecordReader::read_sample(RecordBody& body) {
  LoggedSample sample;
  const auto head = body.raw<std::uint8_t>();
  const unsigned kind = head >> 5 & 3, level = head >> 3 & 3;
  sample.kind = static_cast<AccessKind>(kind);
  sample.by_kernel = level == k_sample_by_kernel;
  sample.level = sample.by_kernel ? AccessLevel::memory : static_cast<AccessLevel>(level);
  sample.streamed = (head & k_sample_streamed) != 0;
  sample.time = body.difference(state_.sample_time);
  sample.thread = static_cast<std::uint32_t>(body.number());
  sample.pc = body.difference(state_.sample_pc);
  sample.address = body.difference(state_.sample_address);
  if ((head & k_sample_weight) != 0) state_.sample_weight = body.raw<float>();
  sample.weight = state_.sample_weight;
  if ((head & k_sample_extras) != 0) {
    sample.node = body.raw<std::uint8_t>();
    sample.latency = static_cast<float>(body.number()) / 10;
    const auto facts = version_ < 5 ? std::uint8_t{0} : body.raw<std::uint8_t>();
    sample.stored_back = (facts & k_fact_stored_back) != 0;
    sample.gathered = (facts & k_fact_gathered) != 0;
    if ((facts & k_fact_loop) != 0) body.difference(state_.sample_loop);
    if ((facts & k_fact_nest) != 0) body.difference(state_.sample_nest);
    sample.loop = state_.sample_loop;
    sample.nest = state_.sample_nest;
  }
  if (version_ < 3)
    sample.place = std::exchange(next_of_2_.place, {});
  else if ((head & k_sample_place) != 0)
    sample.place = read_place(body, body.number());
  if (kind == 3 || (sample.by_kernel && version_ < 4) || !(sample.weight > 0) ||
      sample.weight > 1e30f || (version_ == 4 && !body.empty())) // facts of version 5
    body.fail();
  if (!body.good()) return;
  profile_.last_time = std::max(profile_.last_time, sample.time);
  sample.first_pattern = static_cast<std::uint32_t>(profile_.patterns.size());
  profile_.samples.push_back(sample);
}

void RecordReader::read_pattern(RecordBody& body) {
  if (profile_.samples.empty()) return body.fail();
  LoggedPattern pattern;
  pattern.time = profile_.samples.back().time;
  pattern.thread = profile_.samples.back().thread;
  pattern.place = read_place(body, body.number());
  pattern.through_place = read_place(body, body.number());
  pattern.loop = body.difference(state_.loop);
  if (body.number() != 0) read_run_of_loop(pattern, body);
  add_pattern(pattern, body);
  if (body.good()) ++profile_.samples.back().patterns;
}

void RecordReader::read_reuse(RecordBody& body) {
  LoggedReuse reuse;
  reuse.place = read_place(body, body.number());
  body.numbers(reuse.time, reuse.pc, reuse.address, reuse.range, reuse.samples, reuse.thread);
  reuse.watched = body.raw<float>();
  reuse.until_next_use = body.raw<float>();
  if (!(reuse.watched >= 0 && reuse.watched <= 1e18f) ||
      !(reuse.until_next_use >= 0 && reuse.until_next_use <= 1e18f))
    body.fail();
  if (!body.good()) return;
  profile_.last_time = std::max(profile_.last_time, reuse.time);
  profile_.reuses.push_back(reuse);
}

void RecordReader::read_run_of_loop(LoggedPattern& pattern, RecordBody& body) {
  pattern.run_nanoseconds = body.raw<float>();
  pattern.run_bytes = body.raw<float>();
  if (!(pattern.run_nanoseconds >= 0 && pattern.run_nanoseconds <= 1e18f) ||
      !(pattern.run_bytes >= -1 && pattern.run_bytes <= 1e18f))
    body.fail();
}

void RecordReader::add_pattern(LoggedPattern& pattern, RecordBody& body) {
  pattern.pc = body.difference(state_.pattern_pc);
  pattern.address = body.difference(state_.pattern_address);
  pattern.through = body.number();
  pattern.kind = static_cast<AccessKind>(body.small(3));
  pattern.accesses = body.raw<float>();
  pattern.bytes = body.raw<float>();
  pattern.chased = body.raw<float>();
  if (pattern.through != 0 && version_ >= 6) pattern.fresh = body.raw<float>();
  const auto is_sane = [](float value, float most) { return value >= 0 && value <= most; };
  bool sane = is_sane(pattern.accesses, 1e30f) && is_sane(pattern.bytes, 1e30f) &&
              is_sane(pattern.chased, 1) && is_sane(pattern.fresh, 1);
  for (AccessPattern::Stride& stride : pattern.strides) {
    if (body.empty()) break;
    stride.bytes = unfold_sign(body.number());
    stride.share = body.raw<float>();
    sane = sane && is_sane(stride.share, 1.001f);
    if (stride.bytes == INT64_MIN) stride = {}; // nothing is so far apart, and it has no size
  }
  if (!sane) body.fail();
  profile_.last_time = std::max(profile_.last_time, pattern.time);
  if (body.good()) profile_.patterns.push_back(pattern);
}

void RecordReader::read_pattern_of_2(RecordBody& body) {
  LoggedPattern pattern = std::exchange(next_of_2_, {});
  pattern.time = body.difference(state_.pattern_time);
  pattern.thread = static_cast<std::uint32_t>(body.number());
  add_pattern(pattern, body);
}

void RecordReader::read_in_block_of_2(RecordBody& body) {
  const std::uint64_t number = body.number(); // site, then one bit: of an index
  auto& place = (number & 1) != 0 ? next_of_2_.through_place : next_of_2_.place;
  place = read_place(body, (number >> 1) + 1);
}

void RecordReader::read_loop_of_2(RecordBody& body) {
  next_of_2_.loop = body.difference(state_.loop);
  if (!body.empty()) read_run_of_loop(next_of_2_, body);
}

// Each sample is followed by the patterns of its loop.
void RecordReader::sort_samples() {
  std::vector<std::uint32_t> order(profile_.samples.size());
  std::iota(order.begin(), order.end(), 0u);
  std::ranges::stable_sort(order, {}, [&](std::uint32_t i) { return profile_.samples[i].time; });
  std::vector<LoggedSample> samples;
  std::vector<LoggedPattern> patterns;
  samples.reserve(order.size());
  patterns.reserve(profile_.patterns.size());
  for (const std::uint32_t i : order) {
    LoggedSample& sample = samples.emplace_back(profile_.samples[i]);
    const auto first = profile_.patterns.begin() + sample.first_pattern;
    sample.first_pattern = static_cast<std::uint32_t>(patterns.size());
    patterns.insert(patterns.end(), first, first + sample.patterns);
  }
  profile_.samples = std::move(samples);
  profile_.patterns = std::move(patterns);
}

// In version 2, patterns carry time and thread of their sample, and some have no sample, because it
// was not kept.
void RecordReader::sort_samples_of_2() {
  std::ranges::stable_sort(profile_.samples, {}, &AccessSample::time);
  std::ranges::stable_sort(profile_.patterns, {}, &AccessPattern::time);
  const std::vector<LoggedPattern>& all = profile_.patterns;
  std::uint32_t next = 0;
  const auto is_of = [&](const LoggedSample& sample) {
    return next < all.size() && all[next].time == sample.time && all[next].thread == sample.thread;
  };
  for (LoggedSample& sample : profile_.samples) {
    while (next < all.size() && all[next].time < sample.time)
      ++next;
    sample.first_pattern = next;
    for (; is_of(sample); ++next)
      ++sample.patterns;
  }
}

void RecordReader::finish() {
  if (version_ >= 3)
    sort_samples();
  else
    sort_samples_of_2();
  std::ranges::stable_sort(profile_.reuses, {}, &LoggedReuse::time);
  if (version_ < 3) std::ranges::stable_sort(profile_.regions, {}, &RegionRecord::time);
  std::ranges::stable_sort(profile_.stretches, {}, &StretchRecord::end);
  std::ranges::stable_sort(profile_.moves, {}, &MoveRecord::time);
  std::uint32_t most = 0; // a frame may name any module: make them all exist
  const auto note = [&](const std::vector<Frame>& frames) {
    for (const Frame& frame : frames)
      most = std::max(most, frame.module + 1);
  };
  for (const SiteRecord& site : profile_.sites)
    note(site.frames);
  for (const RegionDefinition& region : profile_.region_definitions)
    note(region.frames);
  for (const StretchDefinition& stretch : profile_.stretch_definitions)
    note({stretch.frame});
  if (profile_.modules.size() < most) profile_.modules.resize(most);
  profile_.names = names_.finish(profile_.modules);
}

} // namespace omptier
