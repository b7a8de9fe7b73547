// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What looks of `omptier run --online` leave to each other, and whether a change has paid.
#include "cli/online_state.hpp"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

namespace omptier {
namespace {

constexpr std::uint64_t k_second = 1'000'000'000;

class OnlineStateTest : public ::testing::Test {
protected:
  void SetUp() override { std::filesystem::create_directory(folder_); }
  void TearDown() override { std::filesystem::remove_all(folder_); }
  const std::string folder_ = testing::TempDir() + "online-state";
  const OnlineFiles files_{folder_ + "/host-1.profile"};
};

TEST_F(OnlineStateTest, IsReadAsItWasWritten) {
  EXPECT_FALSE(read_state(files_));
  OnlineState state;
  state.moved_into[1] = 4096;
  state.changes = 2;
  state.pace = 0.75;
  state.undone = true;
  state.moves = {{0x7f0000000000, 1 << 20, 3}};
  state.at_change["0:64 "] = {7, 3 * k_second};
  ASSERT_TRUE(write_state(files_, state));
  const auto read = read_state(files_);
  ASSERT_TRUE(read);
  EXPECT_EQ(read->moved_into, state.moved_into);
  EXPECT_EQ(read->changes, 2u);
  EXPECT_EQ(read->pace, 0.75);
  EXPECT_TRUE(read->undone);
  ASSERT_EQ(read->moves.size(), 1u);
  EXPECT_EQ(read->moves[0].address, 0x7f0000000000u);
  EXPECT_EQ(read->moves[0].from, 3u);
  EXPECT_EQ(read->at_change.at("0:64 ").entries, 7u);
}

TEST_F(OnlineStateTest, NonsenseIsNoStateAndAFullDiskKeepsTheOldOne) {
  std::ofstream(files_.state()) << "{\"changes\": ";
  EXPECT_THROW(read_state(files_), std::exception);
  std::ofstream(files_.state()) << "{\"changes\": null}";
  EXPECT_THROW(read_state(files_), std::exception);
  ASSERT_TRUE(write_state(files_, {}));
  std::filesystem::create_directory(files_.state() + ".new"); // so the new one cannot be written
  OnlineState other;
  other.changes = 5;
  EXPECT_FALSE(write_state(files_, other));
  EXPECT_EQ(read_state(files_)->changes, 0u);
}

// Ten visits a second before; the moves slow three of them; then `after` seconds for ten.
OnlineState changed_after_100_visits() {
  OnlineState state;
  state.at_change["r"] = {100, 10 * k_second};
  state.settled["r"] = {103, 15 * k_second};
  return state;
}

TEST(OnlinePace, LeavesOutTheMovesThemselves) {
  const OnlineState state = changed_after_100_visits();
  EXPECT_DOUBLE_EQ(pace_since_change(state, {{"r", {113, 15 * k_second + k_second / 2}}}), 0.5);
  EXPECT_DOUBLE_EQ(pace_since_change(state, {{"r", {113, 17 * k_second}}}), 2);
}

TEST(OnlinePace, NeedsVisitsAndTimeOnBothSides) {
  const OnlineState state = changed_after_100_visits();
  EXPECT_EQ(pace_since_change(state, {}), 0);
  EXPECT_EQ(pace_since_change(state, {{"r", {105, 25 * k_second}}}), 0) << "two visits";
  EXPECT_EQ(pace_since_change(state, {{"r", {107, 15 * k_second + k_second / 4}}}), 0)
      << "too short";
  EXPECT_EQ(pace_since_change(state, {{"new", {100, 25 * k_second}}}), 0) << "not there before";
  EXPECT_EQ(pace_since_change({}, {{"r", {100, 25 * k_second}}}), 0) << "nothing changed";
}

// What is compared with begins when the change before was settled.
TEST(OnlinePace, ComparesWithTheTimeSinceTheChangeBefore) {
  OnlineState state = changed_after_100_visits();
  state.before["r"] = {90, 8 * k_second}; // the last ten took two seconds
  EXPECT_DOUBLE_EQ(pace_since_change(state, {{"r", {113, 16 * k_second}}}), 0.5);
}

} // namespace
} // namespace omptier
