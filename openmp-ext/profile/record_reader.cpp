// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// See record_reader.hpp.
#include "profile/record_reader.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

namespace omptier {
namespace {

constexpr std::uint32_t k_largest_number = 1u << 28; // of sites and regions in one log

// Numbers of sites and regions are given in order: a large gap would be paid for in memory.
template <typename T> std::uint32_t next_number(RecordBody& body, const std::vector<T>& list) {
  constexpr std::size_t k_largest_gap = 1024;
  return body.small(static_cast<std::uint32_t>(
      std::min<std::size_t>(k_largest_number, list.size() + k_largest_gap)));
}

template <typename T> T& slot(std::vector<T>& list, std::uint32_t number) {
  if (list.size() <= number) list.resize(number + 1);
  return list[number];
}

// In the gaps of a damaged file's numbers: outside of regions, from start to end.
constexpr StretchDefinition k_unknown_stretch = {StretchDefinition::Kind::serial, 0, 0, {}, 0, 0};

} // namespace

void RecordReader::begin_block(std::uint64_t base_time) {
  state_ = {};
  place_ = through_place_ = 0;
  state_.time = state_.sample_time = state_.pattern_time = state_.stretch_time = base_time;
}

bool RecordReader::read(RecordBody& body) {
  const auto head = body.raw<std::uint8_t>();
  if ((head & k_sample_bit) != 0) return read_sample(head, body);
  const std::uint64_t bytes = body.number();
  RecordBody part = body.part(bytes);
  if (!body.good()) return false;
  const auto type = static_cast<RecordType>(head);
  if (!has_run_ && type != RecordType::run) return false;
  switch (type) {
  case RecordType::run:
    read_run(part);
    break;
  case RecordType::module:
    read_module(part);
    break;
  case RecordType::site: {
    const std::uint32_t number = next_number(part, profile_.sites);
    slot(profile_.sites, number) = {number, part.frames()};
    break;
  }
  case RecordType::object:
    read_object(part);
    break;
  case RecordType::release:
    read_release(part);
    break;
  case RecordType::small_objects: {
    const std::uint32_t number = next_number(part, profile_.sites);
    const std::uint64_t objects = part.number();
    slot(profile_.small_objects, number) = {objects, part.number()};
    break;
  }
  case RecordType::small_area:
    profile_.small_areas.insert(part.number());
    break;
  case RecordType::area:
    read_area(part);
    break;
  case RecordType::area_end: {
    const auto kind = static_cast<AreaKind>(part.small(k_area_kinds));
    const auto number = static_cast<std::uint32_t>(part.number());
    end_area(kind, number, part.number());
    break;
  }
  case RecordType::region_definition: {
    const std::uint32_t number = next_number(part, profile_.region_definitions);
    slot(profile_.region_definitions, number) = {number, part.frames()};
    break;
  }
  case RecordType::region:
    read_region(part);
    break;
  case RecordType::stretch_definition:
    read_stretch_definition(part);
    break;
  case RecordType::stretch:
    read_stretch(part);
    break;
  case RecordType::stretch_count:
    read_stretch_count(part);
    break;
  case RecordType::move:
    read_move(part);
    break;
  case RecordType::phase:
    profile_.phases.push_back({time_in_order(part), part.text()});
    break;
  case RecordType::lost: {
    const std::uint64_t samples = part.number();
    profile_.samples_lost += samples;
    profile_.lost_by[part.empty() ? 0 : part.small(k_loss_reasons)] += samples;
    break;
  }
  case RecordType::site_totals:
    read_site_totals(part);
    break;
  case RecordType::in_block:
    read_place(part);
    break;
  case RecordType::region_totals:
    read_region_totals(part);
    break;
  case RecordType::thinned:
    profile_.thinnings.push_back({time_in_order(part), part.number()});
    break;
  case RecordType::shortages: {
    Shortages& all = profile_.shortages;
    for (std::uint64_t* number : {&all.objects, &all.by_caller, &all.runs, &all.stretches,
                                  &all.phases, &all.areas, &all.moves, &all.regions_by_caller})
      *number = part.empty() ? 0 : part.number();
    break;
  }
  case RecordType::loop:
    read_loop(part);
    break;
  case RecordType::pattern:
    read_pattern(part);
    break;
  case RecordType::waiting: {
    profile_.samples_waiting += part.number();
    const double weight = part.raw<double>();
    if (weight >= 0 && std::isfinite(weight)) profile_.waiting += weight;
    break;
  }
  case RecordType::end: {
    EndRecord end;
    end.time = time_in_order(part);
    end.samples = part.number();
    end.samples_lost = part.number();
    profile_.end = end;
    break;
  }
  default:
    break; // of a later version
  }
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
  run.process = body.number();
  run.rank = body.number();
  run.start_time = body.number();
  run.wall_clock_start = body.number();
  run.measure = static_cast<Measure>(body.small(3));
  run.worst_error = body.raw<double>();
  run.rate = body.raw<double>();
  for (std::string* text :
       {&run.host, &run.program, &run.command_line, &run.job, &run.source, &run.source_description})
    *text = body.text();
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
  // A block that was freed behind our back: its memory is another object's now.
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
  for (std::uint64_t* value :
       {&totals.objects, &totals.bytes, &totals.largest, &totals.live, &totals.peak})
    *value = body.number();
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

void RecordReader::read_place(RecordBody& body) {
  BlockPlace place;
  const std::uint32_t number = body.small(2 * k_largest_number);
  place.site = number >> 1;
  place.offset = body.number();
  place.bytes = body.number();
  if (!body.good() || place.site >= profile_.sites.size() || place.offset > place.bytes) {
    body.fail();
    return;
  }
  profile_.places.push_back(place);
  ((number & k_block_of_index) != 0 ? through_place_ : place_) =
      static_cast<std::uint32_t>(profile_.places.size());
}

void RecordReader::read_region_totals(RecordBody& body) {
  RegionTotals totals;
  const std::uint32_t number = next_number(body, profile_.region_definitions);
  totals.entries = body.number();
  totals.entered_anew = body.number();
  totals.nanoseconds = body.number();
  totals.threads = static_cast<std::uint32_t>(body.number());
  if (number >= profile_.region_definitions.size()) body.fail();
  if (body.good()) slot(profile_.region_totals, number) = totals;
}

void RecordReader::read_area(RecordBody& body) {
  AreaRecord area;
  area.kind = static_cast<AreaKind>(body.small(k_area_kinds));
  const bool of_module = area.kind == AreaKind::module || area.kind == AreaKind::statics;
  area.number =
      of_module ? body.small(k_largest_module) : static_cast<std::uint32_t>(body.number());
  area.address = body.number();
  area.bytes = body.number();
  area.begin = body.number();
  if (area.bytes == 0 || area.address + area.bytes < area.address) body.fail();
  if (!body.good()) return;
  if (of_module) slot(profile_.modules, area.number);
  end_area(area.kind, area.number, area.begin);
  open_areas_[{area.kind, area.number}] = profile_.areas.size();
  profile_.areas.push_back(area);
}

void RecordReader::end_area(AreaKind kind, std::uint32_t number, std::uint64_t end) {
  const auto at = open_areas_.find({kind, number});
  if (at == open_areas_.end()) return;
  AreaRecord& area = profile_.areas[at->second];
  area.end = std::max(area.begin, end);
  open_areas_.erase(at);
}

void RecordReader::read_region(RecordBody& body) {
  RegionRecord region;
  region.time = time(body);
  const std::uint32_t number = body.small(2 * k_largest_number);
  region.region = number >> 1;
  region.begin = (number & 1) != 0;
  region.threads = static_cast<std::uint32_t>(body.number());
  region.thread = static_cast<std::uint32_t>(body.number());
  if (region.region >= profile_.region_definitions.size())
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
  profile_.stretch_definitions[number].entries = body.number();
  profile_.stretch_definitions[number].nanoseconds = body.number();
}

void RecordReader::read_move(RecordBody& body) {
  MoveRecord move;
  move.time = time(body);
  move.address = body.number();
  move.bytes = body.number();
  move.from = static_cast<MemoryKind>(body.small(k_memory_kinds + 1));
  move.to = static_cast<MemoryKind>(body.small(k_memory_kinds + 1));
  move.seconds = body.raw<double>();
  profile_.moves.push_back(move);
}

void RecordReader::read_loop(RecordBody& body) {
  loop_ = {};
  loop_.loop = body.difference(state_.loop);
  if (body.empty()) return;
  loop_.run_nanoseconds = body.raw<float>();
  loop_.run_bytes = body.raw<float>();
  const bool sane = loop_.run_nanoseconds >= 0 && loop_.run_nanoseconds <= 1e18f &&
                    loop_.run_bytes >= -1 && loop_.run_bytes <= 1e18f;
  if (!sane) body.fail();
}

void RecordReader::read_pattern(RecordBody& body) {
  AccessPattern pattern;
  pattern.time = body.difference(state_.pattern_time);
  pattern.thread = static_cast<std::uint32_t>(body.number());
  pattern.pc = body.difference(state_.pattern_pc);
  pattern.address = body.difference(state_.pattern_address);
  pattern.through = body.number();
  pattern.kind = static_cast<AccessKind>(body.small(3));
  pattern.accesses = body.raw<float>();
  pattern.bytes = body.raw<float>();
  pattern.chased = body.raw<float>();
  const auto is_sane = [](float value, float most) { return value >= 0 && value <= most; };
  bool sane = is_sane(pattern.accesses, 1e30f) && is_sane(pattern.bytes, 1e30f) &&
              is_sane(pattern.chased, 1);
  for (AccessPattern::Stride& stride : pattern.strides) {
    if (body.empty()) break;
    stride.bytes = unfold_sign(body.number());
    stride.share = body.raw<float>();
    sane = sane && is_sane(stride.share, 1.001f);
    if (stride.bytes == INT64_MIN) stride = {}; // nothing is so far apart, and it has no size
  }
  if (!sane) body.fail();
  pattern.place = std::exchange(place_, 0);
  pattern.through_place = std::exchange(through_place_, 0);
  pattern.loop = loop_.loop;
  pattern.run_nanoseconds = loop_.run_nanoseconds;
  pattern.run_bytes = loop_.run_bytes;
  loop_ = {};
  profile_.last_time = std::max(profile_.last_time, pattern.time);
  if (body.good()) profile_.patterns.push_back(pattern);
}

bool RecordReader::read_sample(std::uint8_t head, RecordBody& body) {
  AccessSample sample;
  const unsigned kind = head >> 5 & 3, level = head >> 3 & 3;
  if (kind == 3 || level == 3 || !has_run_) return false;
  sample.kind = static_cast<AccessKind>(kind);
  sample.level = static_cast<AccessLevel>(level);
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
  }
  if (!(sample.weight > 0) || sample.weight > 1e30f) return false;
  sample.place = std::exchange(place_, 0);
  profile_.last_time = std::max(profile_.last_time, sample.time);
  profile_.samples.push_back(sample);
  return body.good();
}

void RecordReader::finish() {
  std::stable_sort(profile_.samples.begin(), profile_.samples.end(),
                   [](const AccessSample& a, const AccessSample& b) { return a.time < b.time; });
  std::ranges::stable_sort(profile_.patterns, {}, &AccessPattern::time);
  std::ranges::stable_sort(profile_.stretches, {}, &StretchRecord::end);
  std::ranges::stable_sort(profile_.regions, {}, &RegionRecord::time);
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
}

} // namespace omptier
