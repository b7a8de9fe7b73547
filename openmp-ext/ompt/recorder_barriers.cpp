// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The helper thread's part of barriers (barriers.hpp): counts of all, records of those that end a
// stretch with samples. A barrier that was passed after the drain began may still get samples: it
// waits for the next drain.
#include "ompt/recorder.hpp"

namespace omptier {

std::uint32_t Recorder::barrier_number(const BarrierPassed& passed) {
  const std::lock_guard<std::mutex> guard(mutex_);
  const ReturnAddress key[] = {passed.region, passed.place};
  bool fresh = false;
  const std::uint32_t number = barrier_places_.number_of(key, 2, fresh);
  if (number == StackTable::k_full) return number;
  if (number >= barrier_counts_.size() && !barrier_counts_.resize(2 * std::size_t{number} + 16, {}))
    return StackTable::k_full;
  if (!fresh) return number;
  const LoadedModule* module = nullptr;
  Frame frame;
  frame.offset = passed.place;
  identify(passed.place, module, frame.offset);
  frame.module = module_number(module);
  log_.barrier_definition(number, passed.region, frame);
  return number;
}

void Recorder::write_barriers(std::uint64_t until) {
  sample_times_.sort();
  barriers_.drain(until, [this](const BarrierPassed& passed) {
    const bool sampled = sample_times_.any(passed.since, passed.time);
    if (passed.place == 0)
      return void(sampled ? log_.barrier(passed.time, 0, passed.thread) : void());
    const std::uint32_t number = barrier_number(passed);
    if (number == StackTable::k_full) return;
    BarrierCount& count = barrier_counts_[number];
    ++count.passed;
    count.nanoseconds += passed.time - passed.since;
    if (sampled) log_.barrier(passed.time, number + 1, passed.thread);
  });
  sample_times_.settle(until);
}

void Recorder::write_barrier_counts() {
  for (std::uint32_t number = 0; number < barrier_counts_.size(); ++number) {
    BarrierCount& count = barrier_counts_[number];
    if (count.passed == count.written) continue;
    log_.barrier_count(number, count.passed, count.nanoseconds);
    count.written = count.passed;
  }
}

} // namespace omptier
