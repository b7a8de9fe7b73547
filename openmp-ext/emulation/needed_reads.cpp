// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// See needed_reads.hpp.
#include "emulation/needed_reads.hpp"

#include "emulation/loops.hpp"

#include <algorithm>
#if defined(__x86_64__)
#include "emulation/effects.hpp"
#endif

namespace omptier {

#if defined(__x86_64__)

namespace {

constexpr std::uint32_t k_largest_scope = 2000; // instructions; an emulation completes no more

} // namespace

std::vector<bool> needed_reads(const Function& function, const Loop& loop) {
  const std::size_t count = loop.last - loop.first + 1;
  if (count > k_largest_scope) return std::vector<bool>(count, true);
  std::vector<Effect> effects(count);
  std::vector<std::size_t> targets(count, count); // of branches within the loop; count: none
  for (std::size_t i = 0; i < count; ++i) {
    const Instruction& here = function.instructions[loop.first + i];
    effects[i] = effect_of(function, here);
    const bool branches = here.flow == Flow::conditional || here.flow == Flow::jump;
    const int target = branches ? function.at(here.target) : -1;
    if (target >= static_cast<int>(loop.first) && target <= static_cast<int>(loop.last))
      targets[i] = static_cast<std::size_t>(target) - loop.first;
  }
  std::vector<Parts> before(count + 1, 0), after(count, 0);
  for (bool changed = true; changed;) {
    changed = false;
    for (std::size_t i = count; i-- > 0;) {
      const Flow flow = function.instructions[loop.first + i].flow;
      after[i] = before[targets[i]];
      if (flow != Flow::jump && flow != Flow::end) after[i] |= before[i + 1];
      const Parts now = effects[i].needed_before(after[i]);
      changed |= now != before[i];
      before[i] = now;
    }
  }
  std::vector<bool> needed(count);
  for (std::size_t i = 0; i < count; ++i)
    needed[i] = effects[i].asks == k_all_parts || (after[i] & effects[i].loaded) != 0;
  return needed;
}

#else

std::vector<bool> needed_reads(const Function&, const Loop& loop) {
  return std::vector<bool>(loop.last - loop.first + 1, true);
}

#endif

NeededReads::Scope* NeededReads::scope_of(const Function& function, const Loop& loop) {
  const std::uint64_t end = function.instructions[loop.last].end();
  const auto [at, fresh] = scopes_.try_emplace(end);
  Scope& scope = at->second;
  if (fresh)
    scope = {loop, function.instructions[loop.first].address, end, needed_reads(function, loop)};
  return &scope;
}

void NeededReads::begin(const Function& function, int instruction, std::uint64_t generation) {
  if (generation != generation_ || scopes_.size() >= k_scopes_kept) scopes_.clear();
  generation_ = generation;
  scope_ = nullptr;
  for (const Loop* loop = innermost_loop(function, instruction); loop != nullptr;
       loop = loop_around(function, *loop)) {
    scope_ = scope_of(function, *loop);
    ++scope_->begun;
    if (scope_->begun < k_enough || scope_->left * 4 < scope_->begun) return;
  }
  scope_ = nullptr;
}

void NeededReads::widen(const Function& function) {
  ++scope_->left;
  const Loop* around = loop_around(function, scope_->loop);
  scope_ = around != nullptr ? scope_of(function, *around) : nullptr;
}

} // namespace omptier
