// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The helper thread's part of stretches (stretches.hpp): counts of all, records of those with
// samples. One that ended after the drain began may still get samples: it waits for the next.
#include "recorder/recorder.hpp"

namespace omptier {

std::uint32_t Recorder::stretch_number(const EndedStretch& stretch) {
  const ReturnAddress key[] = {
      std::uint64_t{stretch.region} << 2 | static_cast<std::uint64_t>(stretch.kind), stretch.place};
  {
    const std::lock_guard<std::mutex> guard(mutex_);
    const std::uint32_t number = stretches_known_.known(key, 2);
    if (number != StackTable::k_full) return number;
  }
  const ReturnAddress place = stretch.place;
  if (stretch.kind == EndedStretch::Kind::barrier) identify_modules(&place, 1);
  const std::lock_guard<std::mutex> guard(mutex_);
  bool fresh = false;
  const std::uint32_t number = stretches_known_.number_of(key, 2, fresh);
  if (number == StackTable::k_full) return number;
  if (number >= stretch_counts_.size() && !stretch_counts_.resize(2 * std::size_t{number} + 16, {}))
    return StackTable::k_full;
  if (!fresh) return number;
  StretchDefinition definition;
  definition.kind = stretch.kind;
  definition.region = stretch.region;
  if (stretch.kind == EndedStretch::Kind::serial) {
    definition.next_region = static_cast<std::uint32_t>(stretch.place);
  } else if (stretch.kind == EndedStretch::Kind::barrier) {
    const LoadedModule* module = known_module_of(place);
    definition.frame.offset = place - (module != nullptr ? module->bias : 0);
    definition.frame.module = module_number(module);
  }
  log_.stretch_definition(number, definition);
  return number;
}

void Recorder::write_stretches(std::uint64_t until) {
  stretches_.drain(until, [this](const EndedStretch& stretch) {
    const std::uint32_t number = stretch_number(stretch);
    if (number == StackTable::k_full || stretch.end < stretch.begin) return; // ended by two at once
    StretchCount& count = stretch_counts_[number];
    ++count.entries;
    count.nanoseconds += stretch.end - stretch.begin;
    if (sample_times_.any(stretch.begin, stretch.end))
      log_.stretch({stretch.end, stretch.end - stretch.begin, number, stretch.thread});
  });
  sample_times_.settle(until);
}

void Recorder::write_stretch_counts() {
  for (std::uint32_t number = 0; number < stretch_counts_.size(); ++number) {
    StretchCount& count = stretch_counts_[number];
    if (count.entries == count.written) continue;
    log_.stretch_count(number, count.entries, count.nanoseconds);
    count.written = count.entries;
  }
}

} // namespace omptier
