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

const std::vector<bool>& leading_to(const Function& function, std::uint32_t to) {
  const std::size_t count = function.instructions.size();
  constexpr std::size_t k_kept = 64;
  if (function.leading.size() >= k_kept) function.leading.clear();
  std::vector<bool>& leads = function.leading[to];
  if (!leads.empty()) return leads;
  leads.resize(count + 1); // one past the end leads nowhere
  leads[to] = true;
  for (bool grown = true; grown;) {
    grown = false;
    for (std::size_t i = count; i-- > 0;) {
      if (leads[i]) continue;
      const Instruction& here = function.instructions[i];
      const bool branches = here.flow == Flow::conditional || here.flow == Flow::jump;
      const bool goes_on = here.flow != Flow::jump && here.flow != Flow::end;
      const int target = branches ? function.at(here.target) : -1;
      if ((goes_on && leads[i + 1]) || (target >= 0 && leads[static_cast<std::size_t>(target)]))
        leads[i] = grown = true;
    }
  }
  return leads;
}

namespace {

bool calls(const Function& function, const Loop& loop) {
  for (std::uint32_t i = loop.first; i <= loop.last; ++i)
    if (const Flow flow = function.instructions[i].flow; flow == Flow::call || flow == Flow::kernel)
      return true;
  return false;
}

const Loop* this_or_around(const Function& function, const Loop* loop, int instruction) {
  while (loop != nullptr &&
         !leading_to(function, loop->last)[static_cast<std::size_t>(instruction)])
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
