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
constexpr double k_most_a_nanosecond = 8;      // no processor iterates faster

bool leaves_or_closes(const Function& function, const Loop& loop, const Instruction& branch) {
  if (branch.flow != Flow::conditional) return false;
  const int target = function.at(branch.target);
  const bool inside =
      target > static_cast<int>(loop.first) && target <= static_cast<int>(loop.last);
  return !inside;
}

bool have_fixed_alike(const LoopRegisters& loop, const RegisterSample& one,
                      const RegisterSample& other) {
  for (unsigned g = 0; g < k_general_registers; ++g)
    if ((loop.fixed >> g & 1) != 0 && one.general[g] != other.general[g]) return false;
  return true;
}

} // namespace

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

LoopRegisters registers_of_run(const Function& function, const Loop& innermost,
                               const RegisterSample& sample, const RegisterSample* earlier) {
  const int before = earlier != nullptr ? function.at(earlier->pc) : -1;
  for (const Loop* loop = &innermost; before >= 0 && loop != nullptr;
       loop = loop_around(function, *loop)) {
    if (!holds(*loop, before)) continue;
    const LoopRegisters registers = registers_of(function, *loop);
    if (have_fixed_alike(registers, sample, *earlier)) return registers;
  }
  return registers_of(function, innermost);
}

std::optional<double> iterations_between(const LoopRegisters& loop, const RegisterSample& from,
                                         const RegisterSample& to, double nanoseconds) {
  if (loop.head == 0 || loop.counting == 0 || loop.ends_by_memory) return {};
  if (!have_fixed_alike(loop, from, to)) return -1;
  std::optional<std::int64_t> least, most;
  for (unsigned g = 0; g < k_general_registers; ++g) {
    if ((loop.counting >> g & 1) == 0) continue;
    const auto moved = static_cast<std::int64_t>(to.general[g] - from.general[g]);
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
