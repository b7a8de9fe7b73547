// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// See region_moves.hpp. All tables are fixed or in our own pages: no malloc.
#include "migration/region_moves.hpp"

#include "base/notices.hpp"
#include "base/os.hpp"
#include "migration/own_thread.hpp"
#include "migration/visits.hpp"
#include "objects/stack.hpp"
#include "placement/mover_threads.hpp"

#include <algorithm>
#include <atomic>
#include <utility>

namespace omptier {
namespace {

constexpr std::size_t k_most_entries = 1024; // entries whose totals are kept

struct Totals {
  std::atomic<std::uint64_t> moves{0}, bytes{0}, nanoseconds{0}, first{0}, last{0}, without_room{0};
  std::atomic<std::uint64_t> between{0};
};

// One region at a time moves pages, and no thread waits for its turn. Whoever set this has the
// rest; the thread between regions has the objects until it has ended.
std::atomic<bool> moving{false};
std::uint32_t last_region = FrameMatcher::k_none;
std::uint64_t last_allocations = 0; // plan matches at the last look: more mean new objects
Rounds rounds;
Visits visits;
bool withheld = false; // moves for the last region: visits do not allow them yet
std::uint32_t moved_for = FrameMatcher::k_none; // the last region that memory moved for
Rounds::Way way = Rounds::Way::at_begins; // in the last region
bool all_at_home = false;
// Once moving has ended, or is withheld, and objects find no room at home: so many regions begin
// before the next try, and between the next two.
unsigned until_try = 0, between_tries = 0;
std::atomic<bool> over{false}; // all is at home and stays there
ObjectMoves objects;
Totals totals[k_most_entries];
// Of the region behind which objects are to move, until they do; null: none. Regions end far more
// often than that.
std::atomic<const void*> ends_before_moves{nullptr};

// Regions that run, nested ones too, where the plan names barriers. When a team waits at one, all
// that its threads began have ended: any other is of another team.
std::atomic<unsigned> running{0};
// What began last is a barrier, so that the end of its region counts for rounds.
std::atomic<bool> barrier_was_last{false};

struct BetweenRegions {
  OwnThread thread;
  bool moved = false; // or may have, for a region that has not begun yet
  const PlanPlacement* plan = nullptr;
  Placer* placer = nullptr;
  Rounds::Next next;
  OnRegionMove on_move = nullptr;
} between;

class Turn {
public:
  Turn() : has_(!moving.exchange(true, std::memory_order_acquire)) {}
  ~Turn() {
    if (has_) moving.store(false, std::memory_order_release);
  }
  Turn(const Turn&) = delete;
  Turn& operator=(const Turn&) = delete;
  explicit operator bool() const { return has_; }

private:
  bool has_;
};

void count_move(const RegionMove& move) {
  if (move.plan_entry >= k_most_entries) return;
  Totals& total = totals[move.plan_entry];
  total.moves.fetch_add(1, std::memory_order_relaxed);
  total.bytes.fetch_add(move.bytes, std::memory_order_relaxed);
  if (move.between)
    total.between.fetch_add(move.bytes, std::memory_order_relaxed);
  else
    total.nanoseconds.fetch_add(static_cast<std::uint64_t>(move.seconds * 1e9),
                                std::memory_order_relaxed);
  if (total.first.load(std::memory_order_relaxed) == 0) total.first.store(move.at);
  total.last.store(move.at, std::memory_order_relaxed);
}

struct ForRegion {
  const void* codeptr;
  bool between, at_barrier;
  OnRegionMove moved;

  static void take(void* context, const ObjectMove& made) {
    const ForRegion& self = *static_cast<const ForRegion*>(context);
    const RegionMove move{made, self.codeptr, self.between, self.at_barrier};
    count_move(move);
    if (self.moved != nullptr) self.moved(move);
  }
};

void move_between(void*) {
  const NoMoverHelpers alone(between.thread.stop()); // the program may need the other processors
  ForRegion region{between.next.place, true, false, between.on_move};
  objects.move_for(*between.plan, *between.placer, between.next.region, {&ForRegion::take, &region},
                   &between.thread.stop());
}

void say_that_moving_ends(const Rounds::Verdict& verdict) {
  constexpr double k_milliseconds = 1e-6;
  warn_once(
      Notice::moves_end,
      "Moving memory for parallel regions does not pay and ends: a round of them takes %.3g ms "
      "with its moves, %.3g ms without. Memory stays where the plan places it for all other "
      "regions.",
      verdict.with * k_milliseconds, verdict.without * k_milliseconds);
}

// Ever more rarely, if moving has ended or is withheld.
bool tries_to_go_home() {
  if (all_at_home) return false;
  if (rounds.verdict().pays && !withheld) return true;
  if (until_try > 0) {
    --until_try;
    return false;
  }
  constexpr unsigned k_most_between = 1 << 20;
  until_try = between_tries;
  between_tries = std::min(2 * between_tries + 1, k_most_between);
  return true;
}

void say_that_moves_are_limited() {
  constexpr std::uint64_t k_rounds_are_none = 2 * Rounds::k_most_regions; // visits
  if (visits.without_moves() != k_rounds_are_none) return;
  warn_once(Notice::moves_limited,
            "Moving memory for parallel regions, which come in no order that repeats, has not "
            "proved to save what it takes. It is limited to %.0f %% of the run and what it proves "
            "to save.",
            100 * Visits::k_part);
}

bool rounds_tell() {
  const Rounds::Verdict& verdict = rounds.verdict();
  return rounds.are_known() || (verdict.known && verdict.with < verdict.without);
}

// Whether memory may move for the region that begins, where rounds do not tell.
bool may_move(std::uint32_t region, std::uint64_t now) {
  const bool may = visits.may_move(region, now);
  if (!may) say_that_moves_are_limited();
  return may;
}

// at_barrier: the region is the call of one, at codeptr.
void begin_region(const PlanPlacement& plan, Placer& placer, std::uint32_t region,
                  const void* codeptr, bool at_barrier, OnRegionMove moved) {
  const bool other_region = region != last_region;
  const std::uint64_t allocations = plan.matched();
  const bool new_objects = allocations != last_allocations;
  if (!other_region) rounds.again();
  const bool moved_between = std::exchange(between.moved, false);
  const bool asks_again = withheld && visits.is_long();
  if (!other_region && !new_objects && !moved_between && !asks_again) {
    visits.again();
    return;
  }
  const std::uint64_t now = monotonic_nanoseconds();
  between.thread.end(); // waits for the object that is being moved; the rest is moved here
  visits.end(now);
  last_region = region;
  last_allocations = allocations;
  if (other_region) {
    const bool paid = rounds.verdict().pays;
    way = rounds.begin(region, now, codeptr, at_barrier);
    barrier_was_last.store(at_barrier, std::memory_order_relaxed);
    if (paid && !rounds.verdict().pays) say_that_moving_ends(rounds.verdict());
  }
  const bool asks = way != Rounds::Way::home && !rounds_tell();
  const bool is_placed = asks && objects.are_placed(plan, placer, region);
  withheld = asks && !is_placed && !may_move(region, now);
  const bool moves_here = way != Rounds::Way::home && !withheld;
  const bool ends = way == Rounds::Way::between && !at_barrier;
  ends_before_moves.store(ends ? codeptr : nullptr, std::memory_order_relaxed);
  if (!moves_here && !new_objects && !moved_between && !tries_to_go_home()) {
    over.store(all_at_home && !rounds.verdict().pays, std::memory_order_relaxed);
    visits.begin(region, monotonic_nanoseconds(), Visits::Memory::at_home);
    return;
  }
  ForRegion here{codeptr, false, at_barrier, moved};
  ObjectMoves::Outcome outcome;
  if (!is_placed)
    outcome = objects.move_for(plan, placer, moves_here ? region : FrameMatcher::k_none,
                               {&ForRegion::take, &here});
  for (const std::uint32_t entry : objects.without_room())
    if (entry < k_most_entries) totals[entry].without_room.fetch_add(1, std::memory_order_relaxed);
  all_at_home = !moves_here && outcome.all;
  if (moves_here) moved_for = region;
  over.store(all_at_home && !rounds.verdict().pays, std::memory_order_relaxed);
  if (new_objects || moves_here) until_try = between_tries = 0;
  const std::uint64_t after = monotonic_nanoseconds();
  if (outcome.any || moved_between) rounds.moved_for(after - now);
  if (outcome.tried || moved_between) visits.spent(moved_for, after - now);
  // Where nothing moves home for want of room, this is how the region finds it without moves.
  const bool stays = all_at_home || !outcome.any;
  const auto without = stays ? Visits::Memory::at_home : Visits::Memory::otherwise;
  visits.begin(region, after, moves_here ? Visits::Memory::moved : without);
}

// A region has ended. The plan may have come after its begin, or a fork.
bool none_runs_any_more() {
  unsigned before = running.load(std::memory_order_relaxed);
  while (before > 0 &&
         !running.compare_exchange_weak(before, before - 1, std::memory_order_relaxed)) {
  }
  return before <= 1;
}

} // namespace

unsigned frames_of_regions(const PlanPlacement& plan) {
  return std::clamp(plan.matcher().region_depth(), 1u, k_max_frames);
}

void region_begins(const PlanPlacement& plan, Placer& placer, const void* codeptr,
                   OnRegionMove moved) {
  if (plan.has_barriers()) running.fetch_add(1, std::memory_order_relaxed);
  ReturnAddress stack[k_max_frames];
  const unsigned count = capture_stack(codeptr, stack, frames_of_regions(plan));
  const std::uint32_t region = plan.matcher().match_region(stack, count);
  if (region == FrameMatcher::k_none) return;
  if (const Turn turn; turn) begin_region(plan, placer, region, codeptr, false, moved);
}

bool barriers_move() {
  return !over.load(std::memory_order_relaxed);
}

void barrier_reached(const PlanPlacement& plan, Placer& placer,
                     std::span<const ReturnAddress> stack, OnRegionMove moved) {
  if (running.load(std::memory_order_relaxed) > 1) return;
  const std::uint32_t region =
      plan.matcher().match_region(stack.data(), static_cast<unsigned>(stack.size()));
  if (region == FrameMatcher::k_none) return;
  const auto* codeptr = reinterpret_cast<const void*>(stack.front());
  if (const Turn turn; turn) begin_region(plan, placer, region, codeptr, true, moved);
}

void region_ends(const PlanPlacement& plan, Placer& placer, const void* codeptr,
                 OnRegionMove moved) {
  if (plan.has_barriers() && none_runs_any_more() &&
      barrier_was_last.load(std::memory_order_relaxed))
    if (const Turn turn; turn) rounds.region_ended();
  if (codeptr == nullptr || ends_before_moves.load(std::memory_order_relaxed) != codeptr) return;
  const Turn turn;
  if (!turn || ends_before_moves.load(std::memory_order_relaxed) != codeptr) return;
  between.next = rounds.next();
  if (!between.next.known || between.next.at_barrier) return; // there the team waits for its moves
  ends_before_moves.store(nullptr, std::memory_order_relaxed);
  between.plan = &plan;
  between.placer = &placer;
  between.on_move = moved;
  between.moved = between.thread.begin(move_between, nullptr);
}

void no_more_regions() {
  if (const Turn turn; turn) between.thread.ask_to_stop();
}

void end_region_moves_of_parent() {
  moving.store(false);
  between.thread.forget();
  between.moved = false;
  ends_before_moves.store(nullptr);
  over.store(false);
  running.store(0); // the child's one thread is in no region any more
  barrier_was_last.store(false);
  until_try = between_tries = 0;
  last_region = FrameMatcher::k_none;
  rounds = {}; // may be half written
  visits = {};
  withheld = false;
  moved_for = FrameMatcher::k_none;
  way = Rounds::Way::at_begins;
}

Rounds::Verdict move_verdict() {
  const Turn turn;
  return turn ? rounds.verdict() : Rounds::Verdict{};
}

std::uint64_t visits_without_moves() {
  const Turn turn;
  return turn ? visits.without_moves() : 0;
}

MoveTotals move_totals(std::uint32_t plan_entry) {
  MoveTotals result;
  if (plan_entry >= k_most_entries) return result;
  const Totals& total = totals[plan_entry];
  result.moves = total.moves.load();
  result.bytes = total.bytes.load();
  result.nanoseconds = total.nanoseconds.load();
  result.first = total.first.load();
  result.last = total.last.load();
  result.without_room = total.without_room.load();
  result.between = total.between.load();
  return result;
}

} // namespace omptier
