// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Stretches from the thread that ends them to the log: which count, which get a record, what
// happens when there are too many; their records written and read back.
#include "log_build.hpp"

#include "base/os.hpp"
#include "recorder/stretches.hpp"

#include <gtest/gtest.h>
#include <thread>
#include <vector>

using namespace omptier;

namespace {

const void* place(std::uintptr_t number) {
  return reinterpret_cast<const void*>(0x401000 + number); // NOLINT(performance-no-int-to-ptr)
}

std::vector<EndedStretch> drained(StretchQueue& queue, std::uint64_t until = ~std::uint64_t{0}) {
  std::vector<EndedStretch> all;
  queue.drain(until, [&](const EndedStretch& stretch) { all.push_back(stretch); });
  return all;
}

} // namespace

TEST(Stretches, CutAtBarriersAndAtRegions) {
  StretchQueue queue;
  queue.begin();
  EXPECT_EQ(queue.passed(place(1), 7), 0u) << "in no region";
  queue.region_began(3, 7);
  EXPECT_EQ(queue.passed(place(1), 7), 4u);
  std::thread([&] { EXPECT_EQ(queue.passed(place(1), 8), 0u); }).join(); // not the primary thread
  queue.region_began(5, 7);                                              // in it
  EXPECT_EQ(queue.passed(place(2), 7), 0u);
  queue.region_ended(7);
  EXPECT_EQ(queue.passed(place(3), 7), 4u);
  queue.region_ended(7);
  queue.region_began(6, 7);
  queue.region_ended(7);
  queue.end();
  EXPECT_EQ(queue.passed(place(1), 7), 0u);
  const std::vector<EndedStretch> all = drained(queue);
  using Kind = EndedStretch::Kind;
  const Kind kinds[] = {Kind::serial, Kind::barrier, Kind::barrier,
                        Kind::rest,   Kind::serial,  Kind::serial};
  const std::uint32_t regions[] = {0, 3, 3, 3, 4, 7}; // of serial ones, from 1: the one before
  const std::uint64_t places[] = {4, 0x401001, 0x401003, 0, 7, 0};
  ASSERT_EQ(all.size(), 6u);
  for (std::size_t i = 0; i < 6; ++i) {
    EXPECT_EQ(all[i].kind, kinds[i]) << i;
    EXPECT_EQ(all[i].region, regions[i]) << i;
    EXPECT_EQ(all[i].place, places[i]) << i;
    EXPECT_LE(all[i].begin, all[i].end) << i;
    if (i > 0 && i < 5) {
      EXPECT_EQ(all[i].begin, all[i - 1].end) << i << ": stretches leave no gap";
    }
  }
}

TEST(Stretches, LaterOnesWaitForTheNextDrain) {
  StretchQueue queue;
  queue.region_began(0, 7);
  queue.passed(place(1), 7);
  const std::uint64_t until = monotonic_nanoseconds();
  queue.passed(place(2), 7);
  EXPECT_EQ(drained(queue, until).size(), 2u);
  EXPECT_EQ(drained(queue).size(), 1u);
  queue.region_ended(7);
}

TEST(Stretches, TooManyAtOnceAreDroppedAndTheRestIsRight) {
  StretchQueue queue;
  queue.region_began(0, 7);
  std::size_t kept = 1;
  for (std::size_t i = 0; i < 2 * StretchQueue::k_entries; ++i)
    kept += queue.passed(place(1), 7) != 0 ? 1 : 0;
  EXPECT_LT(kept, StretchQueue::k_entries);
  const std::vector<EndedStretch> before = drained(queue);
  EXPECT_EQ(before.size(), kept);
  EXPECT_NE(queue.passed(place(2), 7), 0u);
  const std::vector<EndedStretch> all = drained(queue);
  ASSERT_EQ(all.size(), 1u);
  EXPECT_GT(all[0].begin, before.back().end) << "the gap is nobody's";
  queue.region_ended(7);
}

TEST(Stretches, StretchesWithSamplesAreFound) {
  SampleTimes times;
  for (const std::uint64_t time : {50, 10, 30})
    times.add(time);
  times.sort();
  EXPECT_FALSE(times.any(0, 9));
  EXPECT_TRUE(times.any(9, 10));
  EXPECT_FALSE(times.any(10, 29));
  EXPECT_TRUE(times.any(20, 40));
  EXPECT_TRUE(times.any(9, 10)) << "asked again, out of order";
  EXPECT_FALSE(times.any(50, 90));
  times.settle(40); // 30 may lie in a stretch that goes on
  times.sort();
  EXPECT_FALSE(times.any(0, 20));
  EXPECT_TRUE(times.any(20, 45));
  EXPECT_TRUE(times.any(45, 60));
}

TEST(Stretches, RecordsAreReadBackInOrder) {
  const ScratchFile file;
  auto writer = std::make_unique<LogWriter>();
  ASSERT_TRUE(open_log(*writer, file));
  writer->run(some_run());
  const Frame frames[2] = {{0, 0x1234}, {0, 0x5678}};
  writer->region_definition(0, frames, 1);
  using Kind = StretchDefinition::Kind;
  writer->stretch_definition(0, {Kind::barrier, 0, 0, frames[1], 0, 0});
  writer->stretch_definition(1, {Kind::serial, 1, 0, {}, 0, 0});
  const std::uint64_t now = monotonic_nanoseconds();
  writer->stretch({now + 20, 5, 0, 77});
  writer->stretch({now + 10, 3, 1, 78});
  writer->stretch_count(0, 5, 700);
  writer->stretch_count(0, 9, 1000);
  writer->end();
  writer->close();
  const Parsed<Profile> profile = parse_profile(file.bytes(), "log");
  ASSERT_TRUE(profile) << profile.error();
  ASSERT_EQ(profile->stretches.size(), 2u);
  EXPECT_EQ(profile->stretches[0].end, now + 10);
  EXPECT_EQ(profile->stretches[0].stretch, 1u);
  EXPECT_EQ(profile->stretches[1].nanoseconds, 5u);
  EXPECT_EQ(profile->stretches[1].thread, 77u);
  ASSERT_EQ(profile->stretch_definitions.size(), 2u);
  EXPECT_EQ(profile->stretch_definitions[0].frame.offset, 0x5678u);
  EXPECT_EQ(profile->stretch_definitions[0].entries, 9u);
  EXPECT_EQ(profile->stretch_definitions[0].nanoseconds, 1000u);
  EXPECT_EQ(profile->stretch_definitions[1].kind, Kind::serial);
  EXPECT_EQ(profile->stretch_definitions[1].region, 1u);
}
