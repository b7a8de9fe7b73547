// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// See log_reader.hpp. Two layers: blocks (length, checksum, cut or corrupt) and the records in
// them. A record that makes no sense inside a block whose checksum is right comes from a faulty
// writer; it is reported like corruption.
#include "profile/log_reader.hpp"

#include "objects/live.hpp"
#include "objects/modules.hpp"
#include "profile/format.hpp"

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstring>
#include <fcntl.h>
#include <map>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include <utility>

namespace omptier {
namespace {

constexpr std::uint32_t k_largest_number = 1u << 28; // of sites and regions in one log
constexpr std::uint32_t k_largest_module = 1u << 14;

// Reads numbers from a record's bytes; past the end it gives zeros and is no longer good.
class Body {
public:
  Body(const char* begin, const char* end) : next_(begin), end_(end) {}
  bool good() const { return good_; }
  bool empty() const { return next_ == end_; }
  const char* at() const { return next_; }
  void fail() { good_ = false; }
  std::uint64_t number() {
    std::uint64_t value = 0;
    for (unsigned shift = 0; shift < 64 && next_ < end_; shift += 7) {
      const auto byte = static_cast<unsigned char>(*next_++);
      value |= std::uint64_t(byte & 0x7f) << shift;
      if ((byte & 0x80) == 0) return value;
    }
    good_ = false;
    return 0;
  }
  std::uint32_t small(std::uint32_t limit) {
    const std::uint64_t value = number();
    if (value >= limit) good_ = false;
    return good_ ? static_cast<std::uint32_t>(value) : 0;
  }
  std::uint64_t difference(std::uint64_t& reference) {
    return reference += static_cast<std::uint64_t>(unfold_sign(number()));
  }
  template <typename T> T raw() {
    T value{};
    if (static_cast<std::size_t>(end_ - next_) < sizeof value) {
      good_ = false;
      return value;
    }
    std::memcpy(&value, next_, sizeof value);
    next_ += sizeof value;
    return value;
  }
  std::string text() {
    const std::uint64_t length = number();
    if (length > static_cast<std::uint64_t>(end_ - next_)) good_ = false;
    if (!good_) return "";
    std::string value(next_, length);
    next_ += length;
    return value;
  }
  std::vector<Frame> frames() {
    std::vector<Frame> frames(small(k_max_frames + 1));
    for (Frame& frame : frames) {
      frame.module = small(k_largest_module);
      frame.offset = number();
    }
    return frames;
  }
  Body part(std::uint64_t bytes) {
    if (bytes > static_cast<std::uint64_t>(end_ - next_)) {
      good_ = false;
      return {end_, end_};
    }
    Body body(next_, next_ + bytes);
    next_ += bytes;
    return body;
  }

private:
  const char* next_;
  const char* end_;
  bool good_ = true;
};

// Numbers of sites and regions are given in order: a large gap would be paid for in memory.
template <typename T> std::uint32_t next_number(Body& body, const std::vector<T>& list) {
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

class Reader {
public:
  explicit Reader(const std::string& name) { profile_.file = name; }

  Parsed<Profile> read(std::string_view bytes) {
    ProfileHeader header{};
    if (bytes.size() < sizeof header) {
      if (bytes.empty() || std::memcmp(bytes.data(), k_profile_magic,
                                       std::min(bytes.size(), sizeof header.magic)) == 0)
        return fail(0, "the log was cut off before its first block; record again");
      return fail(0, "this is not a profile");
    }
    std::memcpy(&header, bytes.data(), sizeof header);
    if (std::memcmp(header.magic, k_profile_magic, sizeof header.magic) != 0)
      return fail(0, "this is not a profile");
    if (header.version < k_oldest_profile_version || header.version > k_profile_version)
      return fail(8, "profile version " + std::to_string(header.version) + ", this omptier reads " +
                         std::to_string(k_profile_version) + "; record again");
    if (header.bytes < sizeof header || header.bytes > 4096)
      return fail(12, "impossible header length; record again");
    std::size_t at = header.bytes;
    std::uint32_t sequence = 0;
    while (at < bytes.size()) {
      std::string problem;
      const std::size_t next = read_block(bytes, at, sequence++, problem);
      if (!problem.empty()) return Parsed<Profile>::failure(problem);
      if (next == 0) break; // cut off
      at = next;
    }
    profile_.bytes = std::min(at, bytes.size());
    if (!has_run_) return fail(at, "the log was cut off before its first record; record again");
    if (!profile_.end && profile_.cut.empty())
      profile_.cut = place(at) + "the program ended without closing the log (killed?)";
    finish();
    return std::move(profile_);
  }

private:
  std::string place(std::size_t offset) const {
    return profile_.file + ": byte " + std::to_string(offset) + ": ";
  }
  Parsed<Profile> fail(std::size_t offset, const std::string& why) const {
    return Parsed<Profile>::failure(place(offset) + why);
  }

  // Offset of the next block; 0 when the file ends inside this one.
  std::size_t read_block(std::string_view bytes, std::size_t at, std::uint32_t sequence,
                         std::string& problem) {
    BlockHeader header{};
    if (bytes.size() - at < sizeof header) return cut(at);
    std::memcpy(&header, bytes.data() + at, sizeof header);
    if (header.magic != k_block_magic || header.bytes > k_largest_block - sizeof header ||
        header.sequence != sequence) {
      problem = place(at) + "corrupt block header; record again";
      return 0;
    }
    if (bytes.size() - at - sizeof header < header.bytes) return cut(at);
    const char* records = bytes.data() + at + sizeof header;
    const std::uint64_t head = hash_bytes(0, bytes.data() + at, offsetof(BlockHeader, checksum));
    if (hash_bytes(head, records, header.bytes) != header.checksum) {
      problem = place(at) + "checksum of the block is wrong, the file is corrupt; record again";
      return 0;
    }
    state_ = {};
    place_ = through_place_ = 0;
    state_.time = state_.sample_time = state_.pattern_time = state_.stretch_time = header.base_time;
    Body body(records, records + header.bytes);
    std::uint32_t count = 0;
    while (!body.empty()) {
      const char* start = body.at();
      ++count;
      if (!read_record(body) || count > header.records) {
        problem = place(static_cast<std::size_t>(start - bytes.data())) +
                  "impossible record, the writer was faulty; record again";
        return 0;
      }
    }
    return at + sizeof header + header.bytes;
  }

  std::size_t cut(std::size_t at) {
    profile_.cut = place(at) + "the log is cut off here; what is before is used";
    return 0;
  }

  bool read_record(Body& body) {
    const auto head = body.raw<std::uint8_t>();
    if ((head & k_sample_bit) != 0) return read_sample(head, body);
    const std::uint64_t bytes = body.number();
    Body part = body.part(bytes);
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
    case RecordType::unwatched:
      profile_.unwatched = part.number();
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

  std::uint64_t time(Body& body) {
    const std::uint64_t now = body.difference(state_.time);
    profile_.last_time = std::max(profile_.last_time, now);
    return now;
  }

  // Of records that the writer times itself, under its lock: they are in order.
  std::uint64_t time_in_order(Body& body) {
    const std::uint64_t now = time(body);
    if (now < last_event_) body.fail();
    return last_event_ = now;
  }

  void read_run(Body& body) {
    has_run_ = true;
    RunRecord& run = profile_.run;
    run.process = body.number();
    run.rank = body.number();
    run.start_time = body.number();
    run.wall_clock_start = body.number();
    run.measure = static_cast<Measure>(body.small(3));
    run.worst_error = body.raw<double>();
    run.rate = body.raw<double>();
    for (std::string* text : {&run.host, &run.program, &run.command_line, &run.job, &run.source,
                              &run.source_description})
      *text = body.text();
    profile_.last_time = run.start_time;
  }

  void read_module(Body& body) {
    const std::uint32_t number = body.small(k_largest_module);
    ModuleInfo module;
    module.bias = body.number();
    module.system = body.number() != 0;
    module.identity = body.text();
    module.name = body.text();
    module.path = body.text();
    if (body.good()) slot(profile_.modules, number) = std::move(module);
  }

  void read_object(Body& body) {
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

  void read_release(Body& body) {
    const std::uint64_t now = time_in_order(body);
    const std::uint64_t address = body.difference(state_.object_address);
    if (const auto object = live_.erase(address)) profile_.objects[*object].released = now;
  }

  void read_site_totals(Body& body) {
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

  // Kept for the sample or pattern that follows.
  void read_place(Body& body) {
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

  void read_region_totals(Body& body) {
    RegionTotals totals;
    const std::uint32_t number = next_number(body, profile_.region_definitions);
    totals.entries = body.number();
    totals.entered_anew = body.number();
    totals.nanoseconds = body.number();
    totals.threads = static_cast<std::uint32_t>(body.number());
    if (number >= profile_.region_definitions.size()) body.fail();
    if (body.good()) slot(profile_.region_totals, number) = totals;
  }

  void read_area(Body& body) {
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

  void end_area(AreaKind kind, std::uint32_t number, std::uint64_t end) {
    const auto at = open_areas_.find({kind, number});
    if (at == open_areas_.end()) return;
    AreaRecord& area = profile_.areas[at->second];
    area.end = std::max(area.begin, end);
    open_areas_.erase(at);
  }

  void read_region(Body& body) {
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

  void read_stretch_definition(Body& body) {
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

  void read_stretch(Body& body) {
    StretchRecord stretch;
    stretch.end = body.difference(state_.stretch_time);
    stretch.nanoseconds = std::min(body.number(), stretch.end);
    stretch.stretch = body.small(static_cast<std::uint32_t>(profile_.stretch_definitions.size()));
    stretch.thread = static_cast<std::uint32_t>(body.number());
    profile_.last_time = std::max(profile_.last_time, stretch.end);
    if (body.good()) profile_.stretches.push_back(stretch);
  }

  void read_stretch_count(Body& body) {
    const std::uint32_t number =
        body.small(static_cast<std::uint32_t>(profile_.stretch_definitions.size()));
    if (!body.good()) return;
    profile_.stretch_definitions[number].entries = body.number();
    profile_.stretch_definitions[number].nanoseconds = body.number();
  }

  void read_move(Body& body) {
    MoveRecord move;
    move.time = time(body);
    move.address = body.number();
    move.bytes = body.number();
    move.from = static_cast<MemoryKind>(body.small(k_memory_kinds + 1));
    move.to = static_cast<MemoryKind>(body.small(k_memory_kinds + 1));
    move.seconds = body.raw<double>();
    profile_.moves.push_back(move);
  }

  void read_pattern(Body& body) {
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
    }
    if (!sane) body.fail();
    pattern.place = std::exchange(place_, 0);
    pattern.through_place = std::exchange(through_place_, 0);
    profile_.last_time = std::max(profile_.last_time, pattern.time);
    if (body.good()) profile_.patterns.push_back(pattern);
  }

  bool read_sample(std::uint8_t head, Body& body) {
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

  void finish() {
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

  Profile profile_;
  bool has_run_ = false;
  DifferenceState state_;
  std::uint64_t last_event_ = 0;
  std::vector<SiteTotals> last_totals_;         // by site
  std::uint32_t place_ = 0, through_place_ = 0; // of the next sample or pattern
  LiveMap live_;
  std::vector<std::uint32_t> instances_;
  std::map<std::pair<AreaKind, std::uint32_t>, std::size_t> open_areas_; // places in the list
};

} // namespace

Parsed<Profile> parse_profile(std::string_view bytes, const std::string& name) {
  return Reader(name).read(bytes);
}

Parsed<Profile> read_profile(const std::string& path) {
  const auto failure = [&](int error) {
    return Parsed<Profile>::failure(path + ": " + std::strerror(error));
  };
  const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return failure(errno);
  std::string bytes;
  struct stat status{};
  if (fstat(fd, &status) == 0 && S_ISREG(status.st_mode))
    bytes.reserve(static_cast<std::size_t>(status.st_size));
  std::vector<char> chunk(1 << 20);
  for (;;) {
    const ssize_t count = read(fd, chunk.data(), chunk.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) {
      const int error = errno;
      close(fd);
      return failure(error);
    }
    if (count == 0) break;
    bytes.append(chunk.data(), static_cast<std::size_t>(count));
  }
  close(fd);
  return parse_profile(bytes, path);
}

} // namespace omptier
