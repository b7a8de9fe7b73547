// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Moves at the begin of a region and at barriers, on nodes that are not there (made_up_nodes.hpp),
// and a process that forks while they are under way.
#include "dram_and_hbm.hpp"
#include "made_up_nodes.hpp"
#include "migration/region_moves.hpp"
#include "migration/visits.hpp"
#include "objects/modules.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cstring>
#include <memory>
#include <semaphore>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>
#include <vector>

using namespace omptier;

namespace {

constexpr std::size_t k_mib = 1 << 20;
constexpr std::size_t k_bytes = 10 * k_mib;

// Places of this program: an allocation of the plan, and two regions of which the first wants it in
// HBM.
void site() {}
void second_site() {}
void region() {}
void other_region() {}
void third_region() {} // as the first, if the plan has it
const void* address_of(void (*place)()) {
  return reinterpret_cast<const void*>(place);
}

PlanFrame frame(void (*place)()) {
  PlanFrame result;
  const LoadedModule* module = nullptr;
  EXPECT_TRUE(identify(reinterpret_cast<ReturnAddress>(place), module, result.offset));
  return result;
}

Plan plan_for_region() {
  PlanEntry home, here, there;
  PlanEntry second;
  second.frames = {frame(second_site)};
  second.kinds = {MemoryKind::hbm, MemoryKind::dram};
  home.frames = here.frames = there.frames = {frame(site)};
  home.kinds = {MemoryKind::dram};
  here.kinds = {MemoryKind::hbm};
  here.region = {frame(region)};
  here.benefit = 1e9;
  there.kinds = {MemoryKind::dram};
  there.region = {frame(other_region)};
  Plan plan;
  const LoadedModule* program = module_of(reinterpret_cast<std::uintptr_t>(address_of(site)));
  plan.modules = {{identity_of(*program), program->name}};
  plan.entries = {home, here, there, second};
  return plan;
}

std::binary_semaphore reached{0}, go_on{0};
std::atomic<int> pauses{0}; // moves of pages that wait in the middle

int pause_once(std::uintptr_t, int, int) {
  if (pauses.exchange(0) != 0) {
    reached.release();
    EXPECT_TRUE(go_on.try_acquire_for(std::chrono::seconds(20)));
  }
  return 0;
}

class RegionMovesTest : public ::testing::Test {
protected:
  void SetUp() override {
    before_ = &os();
    calls_ = made_up_nodes::calls();
    replace_os_calls(&calls_);
    constexpr std::size_t k_most = 1024 * k_mib;
    placer_ = std::make_unique<Placer>(dram_and_hbm(k_most), only(MemoryKind::hbm, k_most));
    BlockRequest request;
    request.bytes = k_bytes;
    request.plan_entry = 1; // the first
    bool fresh = false;
    Refusal why = Refusal::none;
    block_ = placer_->place(1, request, fresh, why);
    ASSERT_NE(block_, nullptr) << describe(why);
    std::memset(block_, 1, k_bytes);
  }
  void TearDown() override {
    begin();                      // waits for moves between regions
    end_region_moves_of_parent(); // for the next test
    EXPECT_TRUE(placer_->release(block_));
    placer_.reset();
    replace_os_calls(before_);
  }
  void begin(void (*place)() = region) {
    region_begins(placement_, *placer_, address_of(place), nullptr);
  }
  void end(void (*place)() = region) {
    region_ends(placement_, *placer_, address_of(place), nullptr);
  }
  // As if a barrier's call were at the place.
  void pass_barrier(void (*place)(), OnRegionMove moved = nullptr) {
    const ReturnAddress stack[] = {reinterpret_cast<ReturnAddress>(place)};
    barrier_reached(placement_, *placer_, stack, moved);
  }
  bool all_in_hbm() {
    return placer_->ledger().used(MemoryKind::hbm) == k_bytes &&
           placer_->ledger().used(MemoryKind::dram) == 0;
  }
  const Plan plan_ = plan_for_region();
  const PlanPlacement placement_{plan_};
  std::unique_ptr<Placer> placer_;
  void* block_ = nullptr;

private:
  OsCalls calls_{};
  const OsCalls* before_ = nullptr;
};

TEST_F(RegionMovesTest, AChildForkedInTheMiddleOfAMoveMovesTheRest) {
  made_up_nodes::verdict = pause_once;
  pauses = 1;
  std::thread mover([&] { begin(); });
  if (!reached.try_acquire_for(std::chrono::seconds(20))) {
    mover.join();
    FAIL() << "no pages are moved";
  }
  begin(); // moves nothing, and does not wait
  placer_->lock_all();
  const pid_t child = ::fork();
  if (child == 0) { // as the runtime does after fork
    placer_->forget_other_threads();
    end_region_moves_of_parent();
    placer_->unlock_all();
    begin();
    ::syscall(SYS_exit_group, all_in_hbm() ? 0 : 1);
  }
  placer_->unlock_all();
  int status = -1;
  ::waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
  EXPECT_FALSE(all_in_hbm()) << "its own move is not over yet";
  go_on.release();
  mover.join();
  EXPECT_TRUE(all_in_hbm());
}

// Both kinds are full, so neither block can move first.
TEST_F(RegionMovesTest, BlocksOfFullKindsChangePlaces) {
  EXPECT_TRUE(placer_->release(block_));
  CapacityByKind capacity;
  for (const MemoryKind kind : {MemoryKind::dram, MemoryKind::hbm})
    capacity[static_cast<std::size_t>(kind)] = k_bytes;
  placer_ = std::make_unique<Placer>(dram_and_hbm(1024 * k_mib), capacity);
  void* blocks[2] = {};
  for (const unsigned tier : {0u, 1u}) {
    BlockRequest request;
    request.bytes = k_bytes;
    request.plan_entry = tier == 0 ? 4 : 1;
    bool fresh = false;
    Refusal why = Refusal::none;
    blocks[tier] = placer_->place(tier, request, fresh, why);
    ASSERT_NE(blocks[tier], nullptr) << describe(why);
    std::memset(blocks[tier], 'a' + static_cast<int>(tier), k_bytes);
  }
  block_ = blocks[1];
  const std::uint64_t before = move_totals(1).bytes; // of the entry that wants it in HBM
  begin();
  for (const unsigned tier : {0u, 1u}) {
    PageCensus census;
    count_pages(reinterpret_cast<std::uintptr_t>(blocks[tier]), k_bytes, census);
    EXPECT_EQ(census.node[tier], k_bytes) << "tier 0 is HBM, node 1; tier 1 is DRAM, node 0";
    EXPECT_EQ(static_cast<char*>(blocks[tier])[k_bytes - 1], static_cast<char>('a' + tier));
  }
  EXPECT_EQ(placer_->ledger().used(MemoryKind::hbm), k_bytes);
  EXPECT_EQ(placer_->ledger().used(MemoryKind::dram), k_bytes);
  EXPECT_EQ(move_totals(1).bytes, before + k_bytes);
  std::string why_not;
  EXPECT_TRUE(placer_->is_sound(why_not, true)) << why_not;
  EXPECT_TRUE(placer_->release(blocks[0]));
}

int take_a_while(std::uintptr_t, int, int) {
  std::this_thread::sleep_for(std::chrono::microseconds(20));
  return 0;
}

// Its regions take no time wherever the data lie.
TEST_F(RegionMovesTest, WhatDoesNotPayEnds) {
  made_up_nodes::verdict = take_a_while;
  unsigned in_hbm = 0;
  for (int round = 0; round < 40; ++round) {
    begin(region);
    in_hbm += all_in_hbm() ? 1 : 0;
    begin(other_region);
    EXPECT_EQ(placer_->ledger().used(MemoryKind::dram), k_bytes);
  }
  EXPECT_GE(in_hbm, 2u); // before rounds are recognised
  EXPECT_LE(in_hbm, 12u);
  EXPECT_TRUE(move_verdict().known);
  EXPECT_FALSE(move_verdict().pays);
  EXPECT_GT(move_verdict().with, move_verdict().without);
}

struct ThreeRegions {
  Plan plan;
  std::uint32_t random = 1;

  explicit ThreeRegions(const Plan& of_two) : plan(of_two) {
    PlanEntry third = plan.entries[1];
    third.region = {frame(third_region)};
    plan.entries.push_back(third);
  }
  // In no order that repeats.
  void (*next())() {
    random = random * 1664525 + 1013904223;
    void (*const places[])() = {region, other_region, third_region};
    return places[(random >> 16) % 3];
  }
};

// Regions that take no time: after the first visits, moves would take more than 2 % of the run.
TEST_F(RegionMovesTest, WithoutRoundsMovesThatSaveNothingAreLimited) {
  made_up_nodes::verdict = take_a_while;
  ThreeRegions regions(plan_);
  const PlanPlacement placement(regions.plan);
  unsigned moves = 0;
  for (int visit = 0; visit < 300; ++visit) {
    const std::uint64_t before = placer_->ledger().used(MemoryKind::hbm);
    region_begins(placement, *placer_, address_of(regions.next()), nullptr);
    moves += placer_->ledger().used(MemoryKind::hbm) != before ? 1 : 0;
  }
  EXPECT_GE(moves, 4u);
  EXPECT_LE(moves, 2 * 3 * Visits::k_trials + 4) << "there and home";
  EXPECT_GE(visits_without_moves(), 60u);
}

// Nothing has to move, so nothing is withheld.
TEST_F(RegionMovesTest, RegionsThatFindTheirMemoryAreNotLimited) {
  made_up_nodes::verdict = take_a_while;
  ThreeRegions regions(plan_);
  regions.plan.entries[2].kinds = {MemoryKind::hbm};
  const PlanPlacement placement(regions.plan);
  for (int visit = 0; visit < 300; ++visit) {
    region_begins(placement, *placer_, address_of(regions.next()), nullptr);
    ASSERT_TRUE(all_in_hbm()) << visit;
  }
}

TEST_F(RegionMovesTest, MemoryMovesAtBarriersInARegion) {
  EXPECT_TRUE(placement_.has_barriers()) << "no name says that these are begins of regions";
  EXPECT_EQ(frames_of_regions(placement_), 1u);
  begin(region);
  EXPECT_TRUE(all_in_hbm());
  for (int round = 0; round < 2; ++round) {
    pass_barrier(second_site); // which no entry names
    EXPECT_TRUE(all_in_hbm());
    pass_barrier(other_region);
    EXPECT_EQ(placer_->ledger().used(MemoryKind::dram), k_bytes);
    pass_barrier(region);
    EXPECT_TRUE(all_in_hbm());
  }
  std::string why_not;
  EXPECT_TRUE(placer_->is_sound(why_not, true)) << why_not;
}

TEST_F(RegionMovesTest, ANameTellsThatNoRegionIsABarrier) {
  Plan plan = plan_for_region();
  plan.entries[1].region[0].portable.callee = "__kmpc_fork_call";
  plan.entries[2].region[0].portable.callee = "GOMP_parallel";
  EXPECT_FALSE(PlanPlacement(plan).has_barriers());
  plan.entries[2].region[0].portable.callee = "__kmpc_barrier";
  EXPECT_TRUE(PlanPlacement(plan).has_barriers());
}

// Region and barrier are one sequence.
TEST_F(RegionMovesTest, MovesAtBarriersThatDoNotPayEnd) {
  made_up_nodes::verdict = take_a_while;
  EXPECT_TRUE(barriers_move());
  for (int round = 0; round < 40; ++round) {
    begin(region);
    pass_barrier(other_region);
    EXPECT_EQ(placer_->ledger().used(MemoryKind::dram), k_bytes);
    end(region);
  }
  EXPECT_TRUE(move_verdict().known);
  EXPECT_FALSE(move_verdict().pays);
  EXPECT_FALSE(barriers_move());
  end_region_moves_of_parent(); // a child compares anew
  EXPECT_TRUE(barriers_move());
}

// Another thread of the program has a team of its own meanwhile.
TEST_F(RegionMovesTest, AtBarriersNothingMovesWhileSeveralTeamsRun) {
  begin(region);
  std::thread([&] { begin(second_site); }).join(); // which no entry names
  pass_barrier(other_region);
  EXPECT_TRUE(all_in_hbm());
  end(second_site);
  pass_barrier(other_region);
  EXPECT_EQ(placer_->ledger().used(MemoryKind::dram), k_bytes);
  end(region);
  end(region); // of one that began before there was a plan
  begin(region);
  pass_barrier(other_region);
  EXPECT_EQ(placer_->ledger().used(MemoryKind::dram), k_bytes);
}

// Something else has the room at home.
TEST_F(RegionMovesTest, WhatCannotGoHomeIsTriedEverMoreRarely) {
  EXPECT_TRUE(placer_->release(block_));
  placer_ = std::make_unique<Placer>(dram_and_hbm(1024 * k_mib), only(MemoryKind::hbm, k_bytes));
  const auto place = [&](std::uint32_t entry, std::size_t tier) {
    BlockRequest request;
    request.bytes = k_bytes;
    request.plan_entry = entry;
    bool fresh = false;
    Refusal why = Refusal::none;
    void* block = placer_->place(tier, request, fresh, why);
    EXPECT_NE(block, nullptr) << describe(why);
    return block;
  };
  block_ = place(1, 1);
  made_up_nodes::verdict = take_a_while;
  for (int round = 0; round < 40; ++round)
    for (void (*at)() : {region, other_region})
      begin(at);
  ASSERT_FALSE(move_verdict().pays);
  void* other = place(0, 0);                           // fills HBM
  void* newcomer = place(4, 1);                        // is at home there
  placement_.decide(address_of(second_site), k_bytes); // an allocation of the plan
  const std::uint64_t before = move_totals(3).without_room;
  for (int round = 0; round < 100; ++round)
    for (void (*at)() : {region, other_region})
      begin(at);
  const std::uint64_t tries = move_totals(3).without_room - before;
  EXPECT_GE(tries, 4u);
  EXPECT_LE(tries, 10u);
  EXPECT_TRUE(placer_->release(other));
  for (int round = 0; round < 1000 && placer_->ledger().used(MemoryKind::hbm) == 0; ++round)
    for (void (*at)() : {region, other_region})
      begin(at);
  EXPECT_EQ(placer_->ledger().used(MemoryKind::hbm), k_bytes);
  EXPECT_TRUE(placer_->release(newcomer));
}

std::atomic<std::size_t> at_begins_bytes{0}, between_bytes{0};

void note(const RegionMove& move) {
  EXPECT_EQ(move.codeptr, address_of(move.to == MemoryKind::hbm ? region : other_region));
  (move.between ? between_bytes : at_begins_bytes) += move.bytes;
}

int take_a_while_now_and_then(std::uintptr_t page, int, int) {
  if (page / 4096 % 16 == 0) std::this_thread::sleep_for(std::chrono::microseconds(20));
  return 0;
}

// A program that is slow where its data do not lie where the plan wants them, and works on
// something else between regions, for as long as moves take.
struct Alternating {
  const PlanPlacement& placement;
  Placer& placer;
  const char* last_byte;

  bool is_in(MemoryKind kind) const { return placer.ledger().used(kind) == k_bytes; }
  bool arrives_in(MemoryKind kind, std::chrono::milliseconds within) const {
    const auto end = std::chrono::steady_clock::now() + within;
    while (!is_in(kind) && std::chrono::steady_clock::now() < end)
      std::this_thread::sleep_for(std::chrono::microseconds(200));
    return is_in(kind);
  }
  void visit(void (*place)(), MemoryKind kind, MemoryKind next) const {
    region_begins(placement, placer, address_of(place), note);
    std::this_thread::sleep_for(std::chrono::milliseconds(is_in(kind) ? 1 : 100));
    EXPECT_EQ(*last_byte, 1);
    region_ends(placement, placer, address_of(place), note);
    arrives_in(next, std::chrono::milliseconds(30));
  }
  void round() const {
    visit(region, MemoryKind::hbm, MemoryKind::dram);
    visit(other_region, MemoryKind::dram, MemoryKind::hbm);
  }
  // Until all of a round moves between regions; false if it never does.
  bool run() const {
    for (int round_number = 0; round_number < 60; ++round_number) {
      const std::size_t at_begins = at_begins_bytes;
      round();
      if (move_verdict().way == Rounds::Way::between && at_begins_bytes == at_begins) return true;
    }
    return false;
  }
};

TEST_F(RegionMovesTest, MovesBetweenRegionsAreTriedAndKept) {
  made_up_nodes::verdict = take_a_while_now_and_then;
  at_begins_bytes = between_bytes = 0;
  const std::uint64_t before = move_totals(1).between + move_totals(2).between;
  const Alternating program{placement_, *placer_, static_cast<char*>(block_) + k_bytes - 1};
  EXPECT_TRUE(program.run());
  EXPECT_GE(at_begins_bytes, 4 * k_bytes) << "of the first rounds";
  EXPECT_GE(between_bytes, 2 * k_bytes);
  begin(region);
  EXPECT_GE(move_totals(1).between + move_totals(2).between, before + between_bytes);
  EXPECT_TRUE(move_verdict().pays);
  std::string why_not;
  EXPECT_TRUE(placer_->is_sound(why_not, true)) << why_not;
}

// Regions that are slow where their memory is not as they want it, each run twice at a time.
TEST_F(RegionMovesTest, WithoutRoundsMovesThatPayGoOn) {
  made_up_nodes::verdict = take_a_while_now_and_then;
  ThreeRegions regions(plan_);
  const PlanPlacement placement(regions.plan);
  unsigned want = 0, have = 0; // HBM, of the visits behind the first ones
  for (int visit = 0; visit < 120; ++visit) {
    void (*const place)() = regions.next();
    for (int run = 0; run < 2; ++run) {
      region_begins(placement, *placer_, address_of(place), nullptr);
      const bool wants = place != other_region;
      std::this_thread::sleep_for(std::chrono::milliseconds(wants && !all_in_hbm() ? 100 : 1));
      if (visit < 60 || !wants || run > 0) continue;
      ++want;
      have += all_in_hbm() ? 1 : 0;
    }
  }
  EXPECT_GE(have, want * 3 / 4);
  std::string why_not;
  EXPECT_TRUE(placer_->is_sound(why_not, true)) << why_not;
}

// The same region runs again although another one was expected: its data come back at once.
TEST_F(RegionMovesTest, AWrongGuessIsUndone) {
  made_up_nodes::verdict = take_a_while_now_and_then;
  const Alternating program{placement_, *placer_, static_cast<char*>(block_) + k_bytes - 1};
  ASSERT_TRUE(program.run());
  using std::chrono::seconds;
  region_begins(placement_, *placer_, address_of(region), note);
  EXPECT_TRUE(all_in_hbm());
  region_ends(placement_, *placer_, address_of(region), note);
  ASSERT_TRUE(program.arrives_in(MemoryKind::dram, seconds(20))) << "where the other wants it";
  no_more_regions(); // which was said too early
  for (int again = 0; again < 2; ++again) {
    region_begins(placement_, *placer_, address_of(region), note);
    EXPECT_TRUE(all_in_hbm()) << again;
    region_ends(placement_, *placer_, address_of(region), note);
  }
}

TEST_F(RegionMovesTest, NothingMovesBehindARegionThatHadABarrier) {
  made_up_nodes::verdict = take_a_while_now_and_then;
  const Alternating program{placement_, *placer_, static_cast<char*>(block_) + k_bytes - 1};
  ASSERT_TRUE(program.run());
  region_begins(placement_, *placer_, address_of(region), note);
  pass_barrier(other_region, note);
  const std::size_t before = between_bytes;
  for (void (*place)() : {region, other_region})
    region_ends(placement_, *placer_, address_of(place), note);
  EXPECT_FALSE(program.arrives_in(MemoryKind::hbm, std::chrono::milliseconds(20)));
  EXPECT_EQ(between_bytes, before);
}

// A region and the barrier in one that no entry names: there the team waits for what moves, so
// that what the region has is not taken from it before.
TEST_F(RegionMovesTest, NothingMovesBeforeABarrier) {
  made_up_nodes::verdict = take_a_while_now_and_then;
  const auto run_for = [](bool in_place) {
    std::this_thread::sleep_for(std::chrono::milliseconds(in_place ? 1 : 100));
  };
  at_begins_bytes = between_bytes = 0;
  for (int round = 0; round < 20; ++round) {
    region_begins(placement_, *placer_, address_of(region), note);
    run_for(all_in_hbm());
    region_ends(placement_, *placer_, address_of(region), note);
    region_begins(placement_, *placer_, address_of(second_site), note);
    pass_barrier(other_region, note);
    run_for(placer_->ledger().used(MemoryKind::dram) == k_bytes);
    region_ends(placement_, *placer_, address_of(second_site), note);
  }
  EXPECT_TRUE(move_verdict().known);
  EXPECT_EQ(between_bytes, 0u);
}

// Of threads that end the same region at once, one starts the moves.
TEST_F(RegionMovesTest, ManyThreadsEndARegion) {
  made_up_nodes::verdict = take_a_while_now_and_then;
  const Alternating program{placement_, *placer_, static_cast<char*>(block_) + k_bytes - 1};
  ASSERT_TRUE(program.run());
  for (int round = 0; round < 10; ++round)
    for (void (*place)() : {region, other_region}) {
      region_begins(placement_, *placer_, address_of(place), note);
      std::vector<std::thread> threads;
      for (int i = 0; i < 4; ++i)
        threads.emplace_back(
            [&, place] { region_ends(placement_, *placer_, address_of(place), note); });
      for (std::thread& thread : threads)
        thread.join();
    }
  begin(region);
  EXPECT_TRUE(all_in_hbm());
}

TEST_F(RegionMovesTest, AChildForkedBetweenRegionsMovesTheRest) {
  made_up_nodes::verdict = take_a_while_now_and_then;
  const Alternating program{placement_, *placer_, static_cast<char*>(block_) + k_bytes - 1};
  ASSERT_TRUE(program.run());
  region_begins(placement_, *placer_, address_of(region), note);
  made_up_nodes::verdict = pause_once;
  pauses = 1;
  region_ends(placement_, *placer_, address_of(region), note);
  ASSERT_TRUE(reached.try_acquire_for(std::chrono::seconds(20))) << "no pages are moved";
  placer_->lock_all();
  const pid_t child = ::fork();
  if (child == 0) {
    placer_->forget_other_threads();
    end_region_moves_of_parent();
    placer_->unlock_all();
    begin(region);
    ::syscall(SYS_exit_group, all_in_hbm() ? 0 : 1);
  }
  placer_->unlock_all();
  int status = -1;
  ::waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
  go_on.release();
  begin(region); // waits for the thread
  EXPECT_TRUE(all_in_hbm());
}

} // namespace
