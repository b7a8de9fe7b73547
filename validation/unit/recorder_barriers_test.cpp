// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Barriers from the thread that passes them to the log: which count, which get a record, what
// happens when there are too many; their records written and read back.
#include "profile_build.hpp"

#include "base/os.hpp"
#include "ompt/barriers.hpp"

#include <gtest/gtest.h>
#include <thread>
#include <vector>

using namespace omptier;

namespace {

const void* place(std::uintptr_t number) {
  return reinterpret_cast<const void*>(0x401000 + number); // NOLINT(performance-no-int-to-ptr)
}

std::vector<BarrierPassed> drained(BarrierQueue& queue, std::uint64_t until = ~std::uint64_t{0}) {
  std::vector<BarrierPassed> all;
  queue.drain(until, [&](const BarrierPassed& passed) { all.push_back(passed); });
  return all;
}

} // namespace

TEST(Barriers, OnlyThePrimaryThreadOfAnOutermostRegionTells) {
  BarrierQueue queue;
  EXPECT_EQ(queue.passed(place(1), 7), 0u) << "in no region";
  queue.region_began(3);
  EXPECT_EQ(queue.passed(place(1), 7), 4u);
  std::thread([&] { EXPECT_EQ(queue.passed(place(1), 8), 0u); }).join();
  queue.region_began(5); // in it
  EXPECT_EQ(queue.passed(place(2), 7), 0u);
  queue.region_ended();
  EXPECT_EQ(queue.passed(place(3), 7), 4u);
  queue.region_ended();
  EXPECT_EQ(queue.passed(place(1), 7), 0u);
  const std::vector<BarrierPassed> all = drained(queue);
  ASSERT_EQ(all.size(), 2u);
  EXPECT_EQ(all[0].region, 3u);
  EXPECT_EQ(all[0].place, 0x401001u);
  EXPECT_EQ(all[1].place, 0x401003u);
  EXPECT_EQ(all[1].since, all[0].time) << "stretches leave no gap";
  EXPECT_LE(all[0].since, all[0].time);
}

TEST(Barriers, LaterOnesWaitForTheNextDrain) {
  BarrierQueue queue;
  queue.region_began(0);
  queue.passed(place(1), 7);
  const std::uint64_t until = monotonic_nanoseconds();
  queue.passed(place(2), 7);
  EXPECT_EQ(drained(queue, until).size(), 1u);
  EXPECT_EQ(drained(queue).size(), 1u);
  queue.region_ended();
}

TEST(Barriers, TooManyAtOnceLeaveAGapThatIsKnown) {
  BarrierQueue queue;
  queue.region_began(0);
  std::size_t kept = 0;
  for (std::size_t i = 0; i < 2 * BarrierQueue::k_entries; ++i)
    kept += queue.passed(place(1), 7) != 0 ? 1 : 0;
  EXPECT_LT(kept, BarrierQueue::k_entries);
  EXPECT_EQ(drained(queue).size(), kept);
  EXPECT_NE(queue.passed(place(2), 7), 0u);
  const std::vector<BarrierPassed> all = drained(queue);
  ASSERT_EQ(all.size(), 2u);
  EXPECT_EQ(all[0].place, 0u);
  EXPECT_EQ(all[0].time, all[1].since) << "the last stretch is known again";
  queue.region_ended();
}

TEST(Barriers, StretchesWithSamplesAreFound) {
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

TEST(Barriers, RecordsAreReadBackInOrder) {
  const ScratchFile file;
  auto writer = std::make_unique<LogWriter>();
  ASSERT_TRUE(open_log(*writer, file));
  writer->run(some_run());
  const Frame frames[2] = {{0, 0x1234}, {0, 0x5678}};
  writer->region_definition(0, frames, 1);
  writer->barrier_definition(0, 0, frames[1]);
  writer->region(0, 4, 77, true);
  const std::uint64_t now = monotonic_nanoseconds();
  writer->barrier(now + 20, 1, 77);
  writer->barrier(now + 10, 0, 78);
  writer->region(0, 0, 77, false);
  writer->barrier_count(0, 5, 700);
  writer->barrier_count(0, 9, 1000);
  writer->end();
  writer->close();
  const Parsed<Profile> profile = parse_profile(file.bytes(), "log");
  ASSERT_TRUE(profile) << profile.error();
  ASSERT_EQ(profile->barriers.size(), 2u);
  EXPECT_EQ(profile->barriers[0].time, now + 10);
  EXPECT_EQ(profile->barriers[0].barrier, BarrierRecord::k_unknown);
  EXPECT_EQ(profile->barriers[1].barrier, 0u);
  EXPECT_EQ(profile->barriers[1].thread, 77u);
  ASSERT_EQ(profile->barrier_definitions.size(), 1u);
  EXPECT_EQ(profile->barrier_definitions[0].frame.offset, 0x5678u);
  EXPECT_EQ(profile->barrier_definitions[0].passed, 9u);
  EXPECT_EQ(profile->barrier_definitions[0].nanoseconds, 1000u);
}
