// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// See loops.hpp.
#include "emulation/loops.hpp"

namespace omptier {

bool holds(const Loop& loop, int instruction) {
  return instruction >= 0 && loop.first <= static_cast<std::uint32_t>(instruction) &&
         static_cast<std::uint32_t>(instruction) <= loop.last;
}

const Loop* innermost_loop(const Function& function, int instruction) {
  const Loop* best = nullptr;
  for (const Loop& loop : function.loops)
    if (holds(loop, instruction) &&
        (best == nullptr || loop.last - loop.first < best->last - best->first))
      best = &loop;
  return best;
}

const Loop* loop_around(const Function& function, const Loop& inner) {
  const Loop* best = nullptr;
  for (const Loop& loop : function.loops) {
    const std::uint32_t length = loop.last - loop.first;
    const bool holds = loop.first <= inner.first && inner.last <= loop.last;
    if (holds && length > inner.last - inner.first &&
        (best == nullptr || length < best->last - best->first))
      best = &loop;
  }
  return best;
}

namespace {

constexpr std::size_t k_kept = 64; // answers of each kind for a function

struct Next {
  bool on;    // to the instruction behind
  int target; // -1: no branch within the function
};

Next next_of(const Function& function, std::size_t number) {
  const Instruction& here = function.instructions[number];
  const bool branches = here.flow == Flow::conditional || here.flow == Flow::jump;
  return {here.flow != Flow::jump && here.flow != Flow::end,
          branches ? function.at(here.target) : -1};
}

// Empty: not known yet. Valid until the next call.
std::vector<bool>& kept_answer(std::unordered_map<std::uint32_t, std::vector<bool>>& answers,
                               std::uint32_t number) {
  if (const auto known = answers.find(number); known != answers.end()) return known->second;
  if (answers.size() >= k_kept) answers.clear();
  return answers[number];
}

} // namespace

const std::vector<bool>& leading_to(const Function& function, std::uint32_t to) {
  const std::size_t count = function.instructions.size();
  std::vector<bool>& leads = kept_answer(function.leading, to);
  if (!leads.empty()) return leads;
  leads.resize(count + 1); // one past the end leads nowhere
  leads[to] = true;
  for (bool grown = true; grown;) {
    grown = false;
    for (std::size_t i = count; i-- > 0;) {
      if (leads[i]) continue;
      const Next next = next_of(function, i);
      if ((next.on && leads[i + 1]) ||
          (next.target >= 0 && leads[static_cast<std::size_t>(next.target)]))
        leads[i] = grown = true;
    }
  }
  return leads;
}

const std::vector<bool>& reached_from(const Function& function, std::uint32_t from) {
  const std::size_t count = function.instructions.size();
  std::vector<bool>& reached = kept_answer(function.following, from);
  if (!reached.empty()) return reached;
  reached.resize(count);
  for (std::vector<std::size_t> left{from}; !left.empty();) {
    const std::size_t number = left.back();
    left.pop_back();
    if (number >= count || reached[number]) continue;
    reached[number] = true;
    const Next next = next_of(function, number);
    if (next.on) left.push_back(number + 1);
    if (next.target >= 0) left.push_back(static_cast<std::size_t>(next.target));
  }
  return reached;
}

namespace {

bool calls(const Function& function, const Loop& loop) {
  for (std::uint32_t i = loop.first; i <= loop.last; ++i)
    if (const Flow flow = function.instructions[i].flow; flow == Flow::call || flow == Flow::kernel)
      return true;
  return false;
}

const Loop* this_or_around(const Function& function, const Loop* loop, int instruction) {
  // A procedure linkage table is one function of a thousand such loops: one search for all of them.
  if (loop == nullptr) return nullptr;
  const auto& reached = reached_from(function, static_cast<std::uint32_t>(instruction));
  while (loop != nullptr && !reached[loop->last])
    loop = loop_around(function, *loop);
  return loop;
}

} // namespace

const Loop* loop_repeating(const Function& function, int instruction) {
  return this_or_around(function, innermost_loop(function, instruction), instruction);
}

const Loop* loop_repeating_around(const Function& function, const Loop& inner, int instruction) {
  return this_or_around(function, loop_around(function, inner), instruction);
}

const Loop& nest_around(const Function& function, const Loop& inner, int instruction) {
  const Loop* nest = &inner;
  const Loop* next = loop_repeating_around(function, inner, instruction);
  while (next != nullptr && !calls(function, *next)) {
    nest = next;
    next = loop_repeating_around(function, *next, instruction);
  }
  return *nest;
}

} // namespace omptier
