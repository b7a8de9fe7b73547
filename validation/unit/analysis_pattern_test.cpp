// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Patterns of objects from what instructions do: each case lists the addresses that the
// instructions of a loop access, as a compiler would make them, and says what a person would call
// it.

#include "analysis_summary.hpp"
#include "log_build.hpp"

#include "analysis/object_pattern.hpp"
#include "base/os.hpp"
#include "cli/report_text.hpp"

#include <algorithm>
#include <functional>
#include <gtest/gtest.h>
#include <vector>

namespace {

using namespace omptier;

constexpr std::uint64_t k_base = 1 << 20;

// Feeds the accesses of one instruction in windows of some dozens, as loops are emulated.
void access(PatternEvidence& evidence, std::uint64_t pc, std::int64_t size,
            const std::vector<std::int64_t>& offsets, AccessKind kind = AccessKind::load,
            const std::function<void(AccessPattern&)>& more = {}) {
  constexpr std::size_t k_window = 48;
  for (std::size_t begin = 0; begin + 1 < offsets.size(); begin += k_window - 1) {
    const std::size_t end = std::min(begin + k_window, offsets.size());
    std::map<std::int64_t, unsigned> steps;
    for (std::size_t i = begin + 1; i < end; ++i)
      ++steps[offsets[i] - offsets[i - 1]];
    std::vector<std::pair<unsigned, std::int64_t>> order;
    for (const auto& [step, count] : steps)
      order.emplace_back(count, step);
    std::sort(order.rbegin(), order.rend());
    AccessPattern pattern;
    pattern.pc = pc;
    pattern.kind = kind;
    pattern.accesses = static_cast<float>(end - begin);
    pattern.bytes = pattern.accesses * static_cast<float>(size);
    pattern.address =
        k_base + static_cast<std::uint64_t>(offsets[begin + begin / 7 % (end - begin)]);
    for (std::size_t i = 0; i < std::min<std::size_t>(order.size(), AccessPattern::k_strides); ++i)
      pattern.strides[i] = {order[i].second, static_cast<float>(order[i].first) /
                                                 static_cast<float>(end - begin - 1)};
    if (more) more(pattern);
    evidence.add(pattern);
  }
}

std::vector<std::int64_t> offsets(std::int64_t count,
                                  const std::function<std::int64_t(std::int64_t)>& of) {
  std::vector<std::int64_t> all;
  for (std::int64_t i = 0; i < count; ++i)
    all.push_back(of(i));
  return all;
}

// A made-up log may say anything; no sum overflows.
TEST(Pattern, ImpossibleStepsAndSizes) {
  AccessPattern pattern;
  pattern.pc = 1;
  pattern.kind = AccessKind::load;
  pattern.accesses = 100;
  pattern.bytes = 800;
  pattern.strides[0] = {std::int64_t{1} << 58, 0.8f};
  pattern.strides[1] = {std::int64_t{15} << 59, 0.2f};
  PatternEvidence far;
  far.add(pattern);
  EXPECT_NE(far.decide().kind, PatternKind::sequential);
  pattern.accesses = 1e-20f;
  pattern.bytes = 1e30f;
  PatternEvidence large;
  large.add(pattern);
  EXPECT_EQ(large.decide().kind, PatternKind::sequential); // a copy of a large block
}

TEST(Pattern, StreamsForwardsBackwardsAndUnrolled) {
  PatternEvidence forwards, backwards, unrolled;
  access(forwards, 1, 8, offsets(500, [](auto i) { return i * 8; }));
  EXPECT_EQ(forwards.decide().kind, PatternKind::sequential);
  access(backwards, 1, 8, offsets(500, [](auto i) { return 8000 - i * 8; }));
  EXPECT_EQ(backwards.decide().kind, PatternKind::sequential);
  for (std::int64_t part = 0; part < 4; ++part)
    access(unrolled, std::uint64_t(part), 64,
           offsets(500, [=](auto i) { return i * 256 + part * 64; }));
  EXPECT_EQ(unrolled.decide().kind, PatternKind::sequential);
}

TEST(Pattern, StridesAndHowFarTheyAre) {
  PatternEvidence one, two, column;
  access(one, 1, 8, offsets(500, [](auto i) { return i * 256; }));
  EXPECT_EQ(one.decide().kind, PatternKind::strided);
  EXPECT_EQ(one.decide().stride, 256);
  // Every 256 bytes, in a loop that was unrolled twice.
  access(two, 1, 8, offsets(500, [](auto i) { return i * 512; }));
  access(two, 2, 8, offsets(500, [](auto i) { return i * 512 + 256; }));
  EXPECT_EQ(two.decide().kind, PatternKind::strided);
  EXPECT_EQ(two.decide().stride, 256);
  // Columns of a small matrix: after 32 rows the next column.
  access(column, 1, 8, offsets(2000, [](auto i) { return i % 32 * 8192 + i / 32 * 8; }));
  EXPECT_EQ(column.decide().kind, PatternKind::strided);
  EXPECT_EQ(column.decide().stride, 8192);
}

TEST(Pattern, RowsOfTilesLeaveGaps) {
  PatternEvidence tiles, unrolled;
  access(tiles, 1, 8, offsets(2000, [](auto i) { return i % 32 * 8 + i / 32 * 8192; }));
  EXPECT_EQ(tiles.decide().kind, PatternKind::tiled);
  for (std::int64_t part = 0; part < 4; ++part) // the row in four vectors, no loop
    access(unrolled, std::uint64_t(part), 64,
           offsets(500, [=](auto i) { return i * 8192 + part * 64; }));
  EXPECT_EQ(unrolled.decide().kind, PatternKind::tiled);
}

// A blocked product's rows of 512 bytes: one matrix goes on with the next row, the other comes back
// 64 times. A small array that is read again and again is no tile.
TEST(Pattern, LongRowsOfTilesToo) {
  const auto kind = [](std::int64_t times, std::int64_t rows) {
    PatternEvidence evidence;
    access(evidence, 1, 8, offsets(64 * 64 * 20, [=](auto i) {
             return i % 64 * 8 + i / 64 / times % rows * 6144;
           }));
    return evidence.decide().kind;
  };
  EXPECT_EQ(kind(1, 64), PatternKind::tiled);
  EXPECT_EQ(kind(64, 64), PatternKind::tiled);
  EXPECT_EQ(kind(64, 1), PatternKind::sequential);
}

// The neighbours of a vertex, or a row of a table, found by an index.
TEST(Pattern, ShortRunsAtRandomPlacesAreNoStreams) {
  const auto kind = [](std::int64_t run, std::int64_t stride, bool random) {
    PatternEvidence evidence;
    access(evidence, 1, 8, offsets(8000, [=](auto i) {
             const std::int64_t row = i / run;
             return i % run * stride + (random ? row * row * 7919 % 10007 : row) * run * stride;
           }));
    return evidence.decide().kind;
  };
  EXPECT_EQ(kind(7, 8, true), PatternKind::random);
  EXPECT_EQ(kind(7, 8, false), PatternKind::sequential);
  EXPECT_EQ(kind(16, 8, true), PatternKind::random); // two lines
  EXPECT_EQ(kind(4, 4 << 20, true), PatternKind::random);
  EXPECT_EQ(kind(200, 8, true), PatternKind::sequential);
}

TEST(Pattern, LinesAndRowsReadAgainAreNoTiles) {
  PatternEvidence lines, again;
  access(lines, 1, 8, offsets(2000, [](auto i) { return i % 14 * 8 + i / 14 * 128; }));
  EXPECT_EQ(lines.decide().kind, PatternKind::sequential);
  access(again, 1, 64, offsets(2000, [](auto i) { return i % 8 * 64; }));
  EXPECT_EQ(again.decide().kind, PatternKind::sequential);
}

TEST(Pattern, FieldsOfStructures) {
  PatternEvidence most, few;
  for (std::int64_t part = 0; part < 2; ++part) // 48 of 64 bytes, three at a time
    access(most, std::uint64_t(part), 8,
           offsets(3000, [=](auto i) { return i % 3 * 8 + i / 3 * 64 + part * 24; }));
  EXPECT_EQ(most.decide().kind, PatternKind::sequential);
  access(few, 1, 8, offsets(500, [](auto i) { return i * 64 + 48; }));
  EXPECT_EQ(few.decide().kind, PatternKind::strided);
  EXPECT_EQ(few.decide().stride, 64);
}

// What is loaded and stored is one place, of which a second instruction makes no half of the stride.
TEST(Pattern, AFieldThatIsUpdatedIsOnePlace) {
  const auto updated = [](std::int64_t stride) {
    PatternEvidence evidence;
    access(evidence, 1, 8, offsets(500, [=](auto i) { return i * stride; }));
    access(evidence, 2, 8, offsets(500, [=](auto i) { return i * stride; }), AccessKind::store);
    return evidence.decide();
  };
  for (const std::int64_t stride : {24, 64, 4096}) {
    EXPECT_EQ(updated(stride).kind, PatternKind::strided) << stride;
    EXPECT_EQ(updated(stride).stride, stride);
  }
}

// Two fields that lie unevenly in their structure are no shorter stride.
TEST(Pattern, SeveralFieldsHaveTheStructuresStride) {
  PatternEvidence beside, apart;
  for (const std::int64_t field : {8, 16})
    access(beside, std::uint64_t(field), 8, offsets(500, [=](auto i) { return i * 64 + field; }));
  EXPECT_EQ(beside.decide().stride, 64);
  for (const std::int64_t field : {0, 16})
    access(apart, std::uint64_t(field), 8, offsets(500, [=](auto i) { return i * 64 + field; }));
  EXPECT_EQ(apart.decide().stride, 64);
  PatternEvidence unrolled; // two structures at a time
  for (const std::int64_t field : {0, 16, 64, 80})
    access(unrolled, std::uint64_t(field), 8,
           offsets(500, [=](auto i) { return i * 128 + field; }));
  EXPECT_EQ(unrolled.decide().stride, 64);
}

// Eight stores filled the structures; a loop reads one field of each.
PatternKind filled_and_read(std::int64_t filled, std::int64_t read) {
  PatternEvidence evidence;
  for (std::int64_t field = 0; field < 8; ++field)
    access(evidence, std::uint64_t(field), 8,
           offsets(filled, [=](auto i) { return i * 64 + field * 8; }), AccessKind::store);
  access(evidence, 100, 8, offsets(read, [](auto i) { return i * 64 + 48; }));
  return evidence.decide().kind;
}

TEST(Pattern, WhatHappensSeldomFillsNoGaps) {
  EXPECT_EQ(filled_and_read(0, 2000), PatternKind::strided);
  EXPECT_EQ(filled_and_read(20, 2000), PatternKind::strided);  // 7 % of the accesses
  EXPECT_EQ(filled_and_read(100, 2000), PatternKind::strided); // 29 %
  EXPECT_EQ(filled_and_read(1000, 2000), PatternKind::sequential);
  EXPECT_EQ(filled_and_read(500, 0), PatternKind::sequential);
}

// a(i,j) = a(i,j) - a(i,k) * a(k,j) where the compiler loads a(k,j) anew for each i: what is read
// in one place is no second pattern, and alone it is none.
TEST(Pattern, WhatStaysInOnePlaceHardlyVotes) {
  PatternEvidence factor, row;
  const auto column = [](auto i) { return i * 8; };
  const auto above = [](auto i) { return i / 100 * 800 + i / 100 * (i / 100) % 7 * 64; };
  for (PatternEvidence* evidence : {&factor, &row})
    access(*evidence, 3, 8, offsets(9000, above));
  EXPECT_EQ(row.decide().kind, PatternKind::unknown);
  access(factor, 1, 8, offsets(9000, column));
  access(factor, 4, 8, offsets(9000, column), AccessKind::store);
  const PatternParts parts = factor.parts();
  EXPECT_EQ(parts.whole.kind, PatternKind::sequential);
  EXPECT_FALSE(parts.whole.mixed);
  EXPECT_EQ(parts.bytes(static_cast<std::size_t>(PatternKind::random)), 0);
  PatternEvidence pointer; // two rows' pointers in 3,000 iterations each
  access(pointer, 1, 8, offsets(9000, [](auto i) { return i / 3000 * 176; }));
  EXPECT_EQ(pointer.decide().kind, PatternKind::unknown);
  PatternEvidence short_loop; // fifteen of sixteen accesses stay; those that move are random
  access(short_loop, 1, 8, offsets(16000, [](auto i) { return i / 16 * (i / 16) % 10007 * 64; }));
  EXPECT_EQ(short_loop.decide().kind, PatternKind::random);
}

// The twiddle factors of a radix-2 transform: each pass has a stride of its own.
TEST(Pattern, EachPassHasAStrideOfItsOwn) {
  PatternEvidence passes, anywhere;
  for (std::int64_t pass = 4; pass <= 20; ++pass)
    access(passes, 1, 16, offsets(800, [=](auto i) { return i << pass; }));
  EXPECT_EQ(passes.decide().kind, PatternKind::strided);
  EXPECT_TRUE(passes.decide().several);
  EXPECT_EQ(passes.decide().stride, 1 << 12);
  for (std::int64_t i = 0; i < 400; ++i) // two accesses have some stride, which means nothing
    access(anywhere, 1, 16, {i * i * 7919 % 10007 * 64, i * i * i * 104729 % 1000003 * 64});
  EXPECT_EQ(anywhere.decide().kind, PatternKind::random);
}

// A component at a time of an element's eight corners, each component in its own array.
TEST(Pattern, ArraysInTurnAreStreams) {
  constexpr std::int64_t k_apart = 6 << 20;
  const auto corners =
      offsets(4800, [](auto i) { return i / 8 % 3 * k_apart + i / 24 * 64 + i % 8 * 8; });
  PatternEvidence in_turn, rows;
  access(in_turn, 1, 8, corners);
  EXPECT_EQ(in_turn.decide().kind, PatternKind::sequential);
  access(rows, 1, 8, offsets(4800, [](auto i) { return i / 8 * k_apart + i % 8 * 8; }));
  EXPECT_NE(rows.decide().kind, PatternKind::sequential);
  EXPECT_NE(rows.parts(8.0 * k_apart).whole.kind, PatternKind::sequential);
  EXPECT_EQ(rows.parts(k_apart - 64.0).whole.kind, PatternKind::sequential) << "in other objects";
}

TEST(Pattern, RandomIndirectAndChased) {
  const auto anywhere =
      offsets(1000, [](auto i) { return (i * i * 2654435761 >> 7 & 1048575) * 8; });
  PatternEvidence random, indirect, chased;
  access(random, 1, 8, anywhere);
  EXPECT_EQ(random.decide().kind, PatternKind::random);
  EXPECT_EQ(random.decide().indirect, 0);
  access(indirect, 1, 8, anywhere, AccessKind::load, [](auto& p) { p.through = 99; });
  EXPECT_EQ(indirect.decide().kind, PatternKind::random);
  EXPECT_DOUBLE_EQ(indirect.decide().indirect, 1);
  access(chased, 1, 8, anywhere, AccessKind::load, [](auto& p) { p.chased = 1; });
  EXPECT_EQ(chased.decide().kind, PatternKind::pointer_chase);
}

TEST(Pattern, CopiesAndNothingKnown) {
  PatternEvidence copy, once, none;
  access(copy, 1, 65536, offsets(20, [](auto i) { return i * 65536; }));
  EXPECT_EQ(copy.decide().kind, PatternKind::sequential);
  AccessPattern alone;
  alone.accesses = 1;
  alone.bytes = 8;
  once.add(alone);
  EXPECT_EQ(once.decide().kind, PatternKind::unknown);
  EXPECT_EQ(none.decide().kind, PatternKind::unknown);
  EXPECT_EQ(none.bytes(), 0);
}

TEST(Pattern, BytesDecideAndStoresAreCounted) {
  PatternEvidence evidence;
  access(evidence, 1, 8, offsets(200, [](auto i) { return i * 4096; }));
  EXPECT_EQ(evidence.decide().kind, PatternKind::strided);
  EXPECT_FALSE(evidence.decide().mixed);
  access(evidence, 2, 8, offsets(600, [](auto i) { return i * 8; }), AccessKind::store);
  EXPECT_EQ(evidence.decide().kind, PatternKind::sequential);
  EXPECT_EQ(evidence.decide().stride, 0);
  EXPECT_TRUE(evidence.decide().mixed);
  EXPECT_NEAR(evidence.stored() / evidence.bytes(), 0.75, 0.01);
}

// A site whose accesses went through an index in that site.
ProfileSummary reached_through(std::uint32_t site) {
  StartedLog log;
  const Frame frames[2] = {{0, 0x100}, {0, 0x200}};
  for (std::uint32_t i = 0; i < 2; ++i) {
    log->site(i, frames + i, 1);
    log->object(i, k_base * (i + 1), k_base, 1, 0);
  }
  for (std::uint64_t i = 0; i < 20; ++i) {
    AccessPattern pattern;
    pattern.pc = 0x40;
    pattern.kind = AccessKind::load;
    pattern.address = k_base + i * i * 512;
    pattern.accesses = 10, pattern.bytes = 80;
    pattern.strides[0] = {static_cast<std::int64_t>(i * 1000), 0.1f};
    pattern.through = k_base * (site + 1) + 8 * i;
    log->sample(sample_at(monotonic_nanoseconds(), pattern.address));
    log->pattern(pattern);
  }
  log->end();
  log->close();
  return summary_of(read_back(log.file.path()));
}

TEST(Pattern, TheObjectWithTheIndicesIsNamed) {
  ProfileSummary summary = reached_through(1);
  ProfileNames names;
  for (const SiteSummary& site : summary.sites)
    names.sites.push_back(site.frames[0].offset == 0x100 ? "bins (a.c:3)" : "static keys (a.c:4)");
  names.regions = {"outside"};
  const std::string text = profile_text(summary, names, {});
  const std::size_t row = text.find("\nbins (a.c:3) "), end = text.find('\n', row + 1);
  ASSERT_NE(row, std::string::npos) << text;
  EXPECT_NE(text.substr(row, end - row).find("  indirect (through static keys)"),
            std::string::npos)
      << text;

  // Of many blocks that are accessed in several patterns no single one is said.
  for (SiteSummary& site : summary.sites) {
    site.pattern.mixed = true;
    site.objects = 1;
  }
  EXPECT_EQ(profile_text(summary, names, {}).find("  mixed"), std::string::npos);
  summary.sites[0].objects = 2;
  EXPECT_NE(profile_text(summary, names, {}).find("  mixed"), std::string::npos);
}

TEST(Pattern, ThroughItselfIsAChase) {
  const ProfileSummary summary = reached_through(0);
  const SiteSummary& site = site_at(summary, 0x100);
  EXPECT_EQ(site.pattern.kind, PatternKind::pointer_chase);
  EXPECT_EQ(site.through, SiteSummary::k_nothing);
}

} // namespace
