// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Logs of older versions: the same run, written in both ways, gives the same report. What the log
// writer makes is put into their records here, byte by byte.
#include "analysis_summary.hpp"
#include "log_build.hpp"

#include "base/os.hpp"
#include "cli/report_text.hpp"
#include "log/format.hpp"
#include "log/record_body.hpp"
#include "objects/modules.hpp"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace omptier {
namespace {

// The bytes of one block's records.
class Version2 {
public:
  explicit Version2(std::uint64_t base_time) { state_.sample_time = state_.pattern_time = base_time; }
  void sample(const LoggedSample& sample) {
    place(sample.place, 0);
    const bool extras = sample.node != 255 || sample.latency > 0;
    raw(static_cast<std::uint8_t>(0x80 | int(sample.kind) << 5 | int(sample.level) << 3 |
                                  (sample.streamed ? 4 : 0) | 2 | (extras ? 1 : 0)));
    difference(sample.time, state_.sample_time);
    number(sample.thread);
    difference(sample.pc, state_.sample_pc);
    difference(sample.address, state_.sample_address);
    raw(sample.weight);
    if (extras) raw(sample.node), number(static_cast<std::uint64_t>(sample.latency * 10));
    ++records;
  }
  void pattern(const LoggedPattern& pattern) {
    place(pattern.place, 0);
    place(pattern.through_place, 1);
    if (pattern.loop != 0) {
      Version2 loop(0);
      loop.difference(pattern.loop, state_.loop);
      if (pattern.run_nanoseconds > 0) loop.raw(pattern.run_nanoseconds), loop.raw(pattern.run_bytes);
      record(RecordType::loop_of_2, loop.bytes);
    }
    Version2 body(0);
    body.difference(pattern.time, state_.pattern_time);
    body.number(pattern.thread);
    body.difference(pattern.pc, state_.pattern_pc);
    body.difference(pattern.address, state_.pattern_address);
    body.number(pattern.through);
    body.number(static_cast<std::uint64_t>(pattern.kind));
    for (const float value : {pattern.accesses, pattern.bytes, pattern.chased})
      body.raw(value);
    for (const AccessPattern::Stride& stride : pattern.strides)
      if (stride.share > 0) body.number(fold_sign(stride.bytes)), body.raw(stride.share);
    record(RecordType::pattern_of_2, body.bytes);
  }
  void record(RecordType type, std::string_view body) {
    raw(type);
    number(body.size());
    bytes += body;
    ++records;
  }
  std::string bytes;
  std::uint32_t records = 0;

private:
  void place(const BlockPlace& place, std::uint64_t which) {
    if (!place.is_known()) return;
    Version2 body(0);
    body.number(std::uint64_t{place.site} << 1 | which);
    body.number(place.offset);
    body.number(place.bytes);
    record(RecordType::in_block_of_2, body.bytes);
  }
  void number(std::uint64_t value) {
    for (; value >= 0x80; value >>= 7)
      raw(static_cast<std::uint8_t>(value | 0x80));
    raw(static_cast<std::uint8_t>(value));
  }
  void difference(std::uint64_t value, std::uint64_t& reference) {
    number(fold_sign(static_cast<std::int64_t>(value - reference)));
    reference = value;
  }
  template <typename T> void raw(T value) {
    bytes.append(reinterpret_cast<const char*>(&value), sizeof value);
  }
  DifferenceState state_;
};

// record(out, type, body): writes what stands for one record, into a block of the other version.
template <typename F> std::string rewritten(const std::string& log, char version, F&& record) {
  std::string out = log.substr(0, sizeof(ProfileHeader));
  out[offsetof(ProfileHeader, version)] = version;
  for (std::size_t at = out.size(); at < log.size();) {
    BlockHeader block{};
    std::memcpy(&block, log.data() + at, sizeof block);
    at += sizeof block;
    RecordBody body(log.data() + at, log.data() + at + block.bytes);
    at += block.bytes;
    Version2 records(block.base_time);
    while (!body.empty()) {
      const auto type = body.raw<RecordType>();
      const std::uint64_t bytes = body.number();
      const char* begin = body.at();
      body.part(bytes);
      record(records, type, std::string_view(begin, bytes));
    }
    block.bytes = static_cast<std::uint32_t>(records.bytes.size());
    block.records = records.records;
    const std::uint64_t head = hash_bytes(0, &block, offsetof(BlockHeader, checksum));
    block.checksum = hash_bytes(head, records.bytes.data(), records.bytes.size());
    out.append(reinterpret_cast<const char*>(&block), sizeof block);
    out += records.bytes;
  }
  return out;
}

// profile: what the log says; its samples and patterns are in the order of the log. In version 3, a
// record of version 2 follows each pattern's own.
std::string as_version_2(const std::string& log, const Profile& profile, char version = 2) {
  std::size_t samples = 0, patterns = 0;
  return rewritten(log, version, [&](Version2& out, RecordType type, std::string_view body) {
    if (version == 3) out.record(type, body);
    if (type == RecordType::sample && version == 2)
      out.sample(profile.samples.at(samples++));
    else if (type == RecordType::pattern)
      out.pattern(profile.patterns.at(patterns++));
    else if (version == 2)
      out.record(type, body);
  });
}

constexpr float k_fresh = 0.6875f; // its bytes are nothing else's in some_log()

// Without where indices lead.
std::string as_version_5(const std::string& log) {
  const std::string_view fresh(reinterpret_cast<const char*>(&k_fresh), sizeof k_fresh);
  return rewritten(log, 5, [&](Version2& out, RecordType type, std::string_view body) {
    std::string kept(body);
    const std::size_t at = type == RecordType::pattern ? kept.find(fresh) : std::string::npos;
    if (at != std::string::npos) kept.erase(at, fresh.size());
    out.record(type, kept);
  });
}

// Told objects, counted ones and nobody's; loops with patterns through indices; regions.
std::string some_log() {
  StartedLog log;
  log->module(0, {"build-id:1", "app", "/app", 0x10000, false});
  const Frame frames[] = {{0, 0x100}, {0, 0x200}, {0, 0x300}};
  for (std::uint32_t site = 0; site < 3; ++site)
    log->site(site, frames + site, 1);
  log->region_definition(0, frames, 2);
  log->object(0, 0x100000, 1 << 20, 1, 0);
  log->site_totals({1, true, 10, 100'000, 20'000, 10'000, 50'000, monotonic_nanoseconds(), 0});
  for (unsigned i = 0; i < 300; ++i) {
    AccessSample sample = sample_at(monotonic_nanoseconds(), 0x100000 + 64 * i);
    sample.pc = 0x10100 + i % 3;
    sample.thread = 7 + i % 2;
    sample.kind = i % 2 == 0 ? AccessKind::load : AccessKind::store;
    sample.weight = static_cast<float>(1 + i / 100);
    if (i % 5 == 0) sample.address = i % 2 == 0 ? 0 : 0x900000;
    if (i % 7 == 0) sample.latency = 30;
    const BlockPlace counted{1 + i % 2, i, 4096};
    log->sample(sample, i % 3 == 0 ? counted : BlockPlace());
    for (unsigned access = 0; access < i % 4; ++access) {
      AccessPattern pattern;
      pattern.pc = sample.pc + 4 * access;
      pattern.address = 0x100000 + 4096 * access + i;
      pattern.through = access == 1 ? 0x100008 : 0;
      pattern.fresh = k_fresh;
      pattern.kind = sample.kind;
      pattern.accesses = 10;
      pattern.bytes = 80;
      pattern.loop = i % 4 == 3 ? 0x10100 : 0;
      if (pattern.loop != 0 && i % 8 == 3) pattern.run_nanoseconds = 1e6, pattern.run_bytes = 1e5;
      pattern.strides[0] = {8, 0.75f};
      pattern.strides[1] = {-64, 0.25f};
      log->pattern(pattern, access == 2 ? counted : BlockPlace(),
                   access == 1 && i % 8 == 2 ? counted : BlockPlace());
    }
    if (i == 150) log->flush();
  }
  const std::uint64_t now = monotonic_nanoseconds();
  log->region({now - 1000, 0, 4, 7, true});
  log->region({now, 0, 0, 7, false});
  log->end();
  log->close();
  return log.file.bytes();
}

std::string report(Profile profile) {
  profile.bytes = 0;
  profile.run.measure = Measure::time;
  const ProfileSummary summary = summary_of(profile);
  Symbols symbols;
  return profile_json(summary, names_of(summary, symbols), symbols).dump(2);
}

} // namespace

TEST(LogVersions, SameReportOfTheSameRun) {
  const std::string log = some_log();
  const Parsed<Profile> now = parse_profile(log, "log");
  ASSERT_TRUE(now) << now.error();
  ASSERT_EQ(now->samples.size(), 300u);
  ASSERT_EQ(now->patterns.size(), 450u);
  const Parsed<Profile> before = parse_profile(as_version_2(log, *now), "log");
  ASSERT_TRUE(before) << before.error();
  ASSERT_EQ(before->samples.size(), 300u);
  for (std::size_t i = 0; i < 300; ++i) {
    const LoggedSample &one = now->samples[i], &other = before->samples[i];
    ASSERT_EQ(one.patterns, i % 4) << i;
    ASSERT_EQ(other.patterns, i % 4) << i;
    ASSERT_EQ(other.first_pattern, one.first_pattern) << i;
    ASSERT_EQ(other.place.is_known(), i % 3 == 0) << i;
  }
  EXPECT_EQ(report(*before), report(*now));
}

TEST(LogVersions, IndicesOfVersion5LeadAnywhere) {
  const std::string log = some_log();
  const Parsed<Profile> now = parse_profile(log, "log");
  ASSERT_TRUE(now) << now.error();
  const Parsed<Profile> before = parse_profile(as_version_5(log), "log");
  ASSERT_TRUE(before) << before.error();
  ASSERT_EQ(before->patterns.size(), 450u);
  for (std::size_t i = 0; i < 450; ++i) {
    const LoggedPattern &one = now->patterns[i], &other = before->patterns[i];
    ASSERT_EQ(one.fresh, one.through != 0 ? k_fresh : 0) << i;
    ASSERT_EQ(other.fresh, 0) << i;
    ASSERT_EQ(other.through, one.through) << i;
    ASSERT_EQ(other.strides[1].bytes, -64) << i;
    ASSERT_EQ(other.strides[1].share, 0.25f) << i;
  }
}

// It would belong to no sample.
TEST(LogVersions, NoPatternsOfVersion2InVersion3) {
  const std::string log = some_log();
  const Parsed<Profile> now = parse_profile(log, "log");
  ASSERT_TRUE(now) << now.error();
  const Parsed<Profile> mixed = parse_profile(as_version_2(log, *now, 3), "log");
  ASSERT_FALSE(mixed);
  EXPECT_NE(mixed.error().find("impossible record"), std::string::npos) << mixed.error();
}

// What falls on a runtime's waiting threads was left out, but not what their loops accessed.
TEST(LogVersions, PatternsWithoutTheirSampleCount) {
  const std::string log = some_log();
  Profile changed = *parse_profile(log, "log");
  changed.patterns[0].thread = 99;
  const Parsed<Profile> before = parse_profile(as_version_2(log, changed), "log");
  ASSERT_TRUE(before) << before.error();
  EXPECT_EQ(before->samples[1].patterns, 0u);
  EXPECT_EQ(before->samples[2].patterns, 2u);
  EXPECT_EQ(summary_of(*before).patterns, 450u);
}

} // namespace omptier
