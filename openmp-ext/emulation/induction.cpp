// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// See induction.hpp. The steps are: the loops around a loop, the path that leads into it, the
// general registers along that path (derived backwards from the sample), executing the path
// forwards with them, two iterations, and the step from these to the sample's.

#include "emulation/induction.hpp"

#include "emulation/loops.hpp"

#include <algorithm>
#include <cstring>
#include <optional>
#include <span>

namespace omptier {
namespace {

constexpr std::size_t k_longest_way = 240;                              // instructions
constexpr unsigned k_longest_iteration = 1000;                          // instructions
constexpr std::uint64_t k_stack_below = 4096, k_stack_above = 64 << 10; // bytes around its top
constexpr std::uint64_t k_most_iterations = std::uint64_t{1} << 40;

// Innermost first. Overlapping loops are merged: compilers enter loops in the middle, and then a
// backward jump does not span the whole body.
std::vector<Loop> loops_around(const Function& function, const Loop& inner) {
  const std::vector<bool>& leads = leading_to(function, inner.first);
  std::vector<Loop> around;
  Loop whole = inner;
  for (bool grown = true; grown;) {
    grown = false;
    std::optional<Loop> next;
    for (const Loop& loop : function.loops) {
      const bool apart = loop.last < whole.first || whole.last < loop.first;
      const bool inside = whole.first <= loop.first && loop.last <= whole.last;
      if (apart || inside || !leads[loop.first]) continue;
      const Loop joined{std::min(whole.first, loop.first), std::max(whole.last, loop.last)};
      if (!next || joined.last - joined.first < next->last - next->first) next = joined;
    }
    if (next) {
      whole = *next;
      around.push_back(whole);
      grown = true;
    }
  }
  return around;
}

struct Written {
  std::uint32_t general = 0, vectors = 0, masks = 0;
  void add(const Instruction& instruction) {
    if (instruction.flow == Flow::call || instruction.flow == Flow::kernel) {
      general |= k_caller_saved;
      vectors = masks = ~0u;
    }
    general |= instruction.general_written;
    vectors |= instruction.vectors_written;
    masks |= instruction.masks_written;
  }
  void add(const Written& other) {
    general |= other.general;
    vectors |= other.vectors;
    masks |= other.masks;
  }
  void add(const Function& function, const Loop& loop) {
    for (std::uint32_t i = loop.first; i <= loop.last; ++i)
      add(function.instructions[i]);
  }
};

void forget(MachineState& state, const Written& written) {
  state.forget(written.general, written.vectors);
  state.masks_known = static_cast<std::uint8_t>(state.masks_known & ~written.masks);
}

// The instructions of the path, with the general registers written by loops entered along it.
class Places {
public:
  Places(const Function& function, const WayIn& way) : function_(function), way_(way) {}
  std::size_t count() const { return way_.instructions.size(); }
  const Instruction& instruction(std::size_t i) const {
    return function_.instructions[static_cast<std::size_t>(way_.instructions[i])];
  }
  Written written_by_loops_entered_at(std::size_t i) const {
    Written all;
    for (const WayIn::Entry& entry : way_.entries)
      if (entry.at == i) all.add(function_, entry.loop);
    return all;
  }
  Written written_by_loop_ending_at(std::size_t i) const {
    Written all;
    const Instruction& here = instruction(i);
    const bool back = here.flow != Flow::next && here.target != 0 && here.target <= here.address;
    const int head = back ? function_.at(here.target) : -1;
    if (head >= 0)
      all.add(function_,
              {static_cast<std::uint32_t>(head), static_cast<std::uint32_t>(way_.instructions[i])});
    return all;
  }

private:
  const Function& function_;
  const WayIn& way_;
};

// General registers before every place of the path, if their values in the loop determine them.
std::vector<MachineState> values_on_the_way(const Function& function, const Loop& loop,
                                            const Places& places, const MachineState& at_head) {
  std::vector<MachineState> before(places.count() + 1);
  Written in_loop;
  in_loop.add(function, loop);
  MachineState state = at_head;
  state.vectors_known = 0;
  state.masks_known = 0;
  forget(state, in_loop);
  before[places.count()] = state;
  for (std::size_t i = places.count(); i-- > 0;) {
    forget(state, places.written_by_loops_entered_at(i + 1));
    forget(state, places.written_by_loop_ending_at(i));
    if (places.instruction(i).flow == Flow::next) undo(function, places.instruction(i), state);
    before[i] = state;
  }
  return before;
}

// If the path computes another value than the sample has, it has read memory that changed since:
// the sample's value counts. Nothing in that case if the stack was readable.
std::optional<MachineState> state_on_entry(const Function& function, const Places& places,
                                           std::span<const MachineState> before,
                                           MachineState state) {
  for (std::size_t i = 0; i <= places.count(); ++i) {
    forget(state, places.written_by_loops_entered_at(i));
    for (unsigned g = 0; g < k_general_registers; ++g) {
      const auto number = static_cast<std::int8_t>(g);
      if (!before[i].knows(number)) continue;
      const bool other = state.knows(number) && state.general[g] != before[i].general[g];
      if (other && state.hidden_end == 0) return {};
      state.set(g, before[i].general[g]);
    }
    if (i == places.count()) break;
    if (places.instruction(i).flow == Flow::next) step(function, places.instruction(i), state);
    forget(state, places.written_by_loop_ending_at(i));
  }
  return state;
}

bool iterate(const Function& function, const Loop& loop, const std::vector<bool>& needed,
             MachineState& state) {
  int at = static_cast<int>(loop.first);
  const std::uint64_t head = function.instructions[loop.first].address;
  for (unsigned steps = 0; steps < k_longest_iteration; ++steps) {
    const Instruction& here = function.instructions[static_cast<std::size_t>(at)];
    int next = at + 1;
    if (here.flow == Flow::end) return false;
    if (here.flow == Flow::jump) {
      next = function.at(here.target);
    } else if (here.flow == Flow::conditional) {
      const auto taken = branch_taken(function, here, state);
      if (taken.value_or(here.target == head)) next = function.at(here.target);
    } else {
      state.skips_reads = !needed[static_cast<std::size_t>(at) - loop.first];
      step(function, here, state);
    }
    if (next == static_cast<int>(loop.first)) return true;
    if (next < 0 || !holds(loop, next)) return false;
    at = next;
  }
  return false;
}

// From all registers that count; nothing if they disagree.
std::optional<std::uint64_t> iterations_passed(const MachineState (&states)[3],
                                               const MachineState& now) {
  std::optional<std::uint64_t> passed;
  for (unsigned g = 0; g < k_general_registers; ++g) {
    const auto number = static_cast<std::int8_t>(g);
    if (!states[0].knows(number) || !states[1].knows(number) || !states[2].knows(number) ||
        !now.knows(number))
      continue;
    const std::uint64_t step = states[1].general[g] - states[0].general[g];
    if (states[2].general[g] - states[1].general[g] != step) continue;
    const std::uint64_t moved = now.general[g] - states[0].general[g];
    if (step == 0) {
      if (moved != 0) return {};
      continue;
    }
    const auto by = static_cast<std::int64_t>(step), way = static_cast<std::int64_t>(moved);
    if (by == -1 && way == INT64_MIN) return {};
    const auto count = static_cast<std::uint64_t>(way / by);
    if (way % by != 0 || count >= k_most_iterations || (passed && *passed != count)) return {};
    passed = count;
  }
  return passed;
}

using Vector = std::array<std::uint8_t, 64>;

template <typename Lane>
bool extrapolate(const Vector& first, const Vector& second, const Vector& third,
                 std::uint64_t count, Vector& to) {
  for (std::size_t at = 0; at < first.size(); at += sizeof(Lane)) {
    Lane a, b, c;
    std::memcpy(&a, &first[at], sizeof a);
    std::memcpy(&b, &second[at], sizeof b);
    std::memcpy(&c, &third[at], sizeof c);
    if (static_cast<Lane>(b - a) != static_cast<Lane>(c - b)) return false;
    const auto value = static_cast<Lane>(a + static_cast<Lane>(b - a) * static_cast<Lane>(count));
    std::memcpy(&to[at], &value, sizeof value);
  }
  return true;
}

} // namespace

const Loop* loop_beginning_at(const Function& function, int instruction) {
  const Loop* found = nullptr;
  for (const Loop& loop : function.loops)
    if (static_cast<int>(loop.first) == instruction &&
        (found == nullptr || loop.last < found->last))
      found = &loop;
  return found;
}

WayIn way_into(const Function& function, const Loop& loop) {
  WayIn way;
  const std::vector<Loop> around = loops_around(function, loop);
  const auto depth = [&](int instruction) { // number of these loops that contain it
    return std::ranges::count_if(around, [&](const Loop& l) { return holds(l, instruction); });
  };
  std::vector<std::pair<int, Loop>> entered; // a loop and the instruction before its entry
  std::vector<int> backwards;
  for (int at = static_cast<int>(loop.first); backwards.size() < k_longest_way;) {
    int before = -1;
    for (const int candidate : function.all_before(at)) {
      if (holds(loop, candidate)) continue;
      // The predecessor inside the fewest loops is the way in.
      if (before < 0 || depth(candidate) < depth(before)) before = candidate;
    }
    if (before < 0 || std::ranges::find(backwards, before) != backwards.end()) break;
    const Flow flow = function.instructions[static_cast<std::size_t>(before)].flow;
    if (flow == Flow::call || flow == Flow::kernel) break;
    for (const Loop& l : around)
      if (holds(l, at) && !holds(l, before)) entered.emplace_back(at, l);
    backwards.push_back(before);
    at = before;
  }
  way.instructions.assign(backwards.rbegin(), backwards.rend());
  for (auto one = entered.rbegin(); one != entered.rend(); ++one) {
    const auto place = std::ranges::find(way.instructions, one->first);
    way.entries.push_back(
        {static_cast<std::size_t>(place - way.instructions.begin()), one->second});
  }
  std::ranges::stable_sort(way.entries, {}, &WayIn::Entry::at);
  return way;
}

namespace {

bool recover(const Function& function, const Loop& loop, const std::vector<bool>& needed,
             const Places& places, const MachineState& begin, MachineState& at_head) {
  MachineState states[3];
  const auto entry =
      state_on_entry(function, places, values_on_the_way(function, loop, places, at_head), begin);
  if (!entry) return false;
  states[0] = *entry;
  for (unsigned i = 1; i < 3; ++i) {
    states[i] = states[i - 1];
    if (!iterate(function, loop, needed, states[i])) return false;
  }
  const auto passed = iterations_passed(states, at_head);
  if (!passed) return false;
  const std::uint32_t known = states[0].vectors_known & states[1].vectors_known &
                              states[2].vectors_known & ~at_head.vectors_known;
  bool any = false;
  for (unsigned v = 0; v < at_head.vectors.size(); ++v) {
    if ((known >> v & 1) == 0) continue;
    const Vector &a = states[0].vectors[v], &b = states[1].vectors[v], &c = states[2].vectors[v];
    Vector value;
    if (!extrapolate<std::uint64_t>(a, b, c, *passed, value) &&
        !extrapolate<std::uint32_t>(a, b, c, *passed, value))
      continue;
    at_head.vectors[v] = value;
    at_head.vectors_known |= 1u << v;
    any = true;
  }
  for (unsigned m = 0; m < 8; ++m) {
    if (at_head.knows_mask(m) || !states[0].knows_mask(m) || !states[1].knows_mask(m) ||
        states[0].masks[m] != states[1].masks[m])
      continue;
    at_head.set_mask(m, states[0].masks[m]);
  }
  return any;
}

} // namespace

bool recover_vectors(const Function& function, const Loop& loop, const std::vector<bool>& needed,
                     MachineState& at_head) {
  const WayIn way = way_into(function, loop);
  const Places places(function, way);
  MachineState begin; // nothing known
  // The thread may have changed its stack: first without it, then with the sample's part of it.
  if (at_head.knows(k_rsp)) {
    begin.hidden_begin = at_head.general[k_rsp] - k_stack_below;
    begin.hidden_end = at_head.general[k_rsp] + k_stack_above;
  }
  if (recover(function, loop, needed, places, begin, at_head)) return true;
  begin.hidden_begin = begin.hidden_end = 0;
  begin.stack_begin = at_head.stack_begin;
  begin.stack = at_head.stack;
  return recover(function, loop, needed, places, begin, at_head);
}

} // namespace omptier
