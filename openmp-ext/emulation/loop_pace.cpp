// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// See loop_pace.hpp.
#include "emulation/loop_pace.hpp"

#include <algorithm>
#include <cmath>

namespace omptier {
namespace {

constexpr std::uint64_t k_least_gap = 100'000; // ns: an interrupt takes some thousands
constexpr double k_least_iterations = 8;       // limits the error of one iteration to 1/8
constexpr std::size_t k_leading_kept = 64;
constexpr double k_most_a_nanosecond = 8;      // no processor iterates faster

bool leaves_or_closes(const Function& function, const Loop& loop, const Instruction& branch) {
  if (branch.flow != Flow::conditional) return false;
  const int target = function.at(branch.target);
  const bool inside =
      target > static_cast<int>(loop.first) && target <= static_cast<int>(loop.last);
  return !inside;
}

} // namespace

const Loop* innermost_loop(const Function& function, int instruction) {
  const auto number = static_cast<std::uint32_t>(instruction);
  const Loop* best = nullptr;
  for (const Loop& loop : function.loops)
    if (instruction >= 0 && loop.first <= number && number <= loop.last &&
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
  if (function.leading.size() >= k_leading_kept) function.leading.clear();
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

LoopRegisters registers_of(const Function& function, const Loop& loop) {
  LoopRegisters registers;
  registers.head = function.instructions[loop.first].address;
  std::uint32_t once = 0, more = 0;
  for (std::uint32_t i = loop.first; i <= loop.last; ++i) {
    const Instruction& here = function.instructions[i];
    more |= once & here.general_written;
    once |= here.general_written;
    if (here.flow == Flow::call || here.flow == Flow::kernel) more |= k_caller_saved;
    // The comparison is the instruction right before the branch.
    if (i > loop.first && leaves_or_closes(function, loop, here) &&
        function.instructions[i - 1].has_memory && function.instructions[i - 1].memory.reads)
      registers.ends_by_memory = true;
  }
  const std::uint32_t stack = 1u << k_rsp;
  registers.fixed = static_cast<std::uint16_t>(~(once | more) | stack);
  registers.counting = static_cast<std::uint16_t>(once & ~more & ~stack);
  return registers;
}

std::optional<double> iterations_between(const LoopRegisters& loop, const RegisterSample& from,
                                         const RegisterSample& to, double nanoseconds) {
  if (loop.head == 0 || loop.counting == 0 || loop.ends_by_memory) return {};
  std::optional<std::int64_t> least, most;
  for (unsigned g = 0; g < k_general_registers; ++g) {
    const auto moved = static_cast<std::int64_t>(to.general[g] - from.general[g]);
    if ((loop.fixed >> g & 1) != 0 && moved != 0) return -1;
    if ((loop.counting >> g & 1) == 0) continue;
    const std::int64_t step = loop.step[g];
    if (step == 0 || (step == -1 && moved == INT64_MIN)) return {};
    if (moved % step != 0) return -1;
    const std::int64_t count = moved / step;
    least = std::min(count, least.value_or(count));
    most = std::max(count, most.value_or(count));
  }
  if (!least || !most) return {};
  // A counter that is advanced after the sample's instruction does not include this iteration yet.
  if (*least < 0 || *most - *least > 1) return -1;
  const double iterations = (static_cast<double>(*least) + static_cast<double>(*most)) / 2;
  if (iterations > nanoseconds * k_most_a_nanosecond) return -1;
  if (iterations < k_least_iterations) return {};
  return iterations;
}

const RegisterSample* SamplesBefore::before(const RegisterSample& sample) const {
  const auto at = threads_.find(sample.thread);
  if (at == threads_.end()) return nullptr;
  const RegisterSample& last = at->second;
  const bool in_order = sample.ran > last.ran && sample.time > last.time;
  return in_order && sample.ran - last.ran >= k_least_gap ? &last : nullptr;
}

void SamplesBefore::keep(const RegisterSample& sample) {
  if (sample.ran == 0) return;
  if (threads_.size() >= k_threads_kept && !threads_.contains(sample.thread)) threads_.clear();
  threads_[sample.thread] = sample;
}

} // namespace omptier
