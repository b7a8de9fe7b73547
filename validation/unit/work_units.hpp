// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Processor time in units of what sorting a million numbers takes: a bound in these units holds on
// slow and loaded machines, and with sanitizers, too. A unit is about 0.08 s at 3 GHz.
#pragma once

#include <algorithm>
#include <cstdint>
#include <ctime>
#include <random>
#include <vector>

namespace omptier {

template <typename Work> double processor_seconds(Work work) {
  const auto now = [] {
    std::timespec time{};
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
    return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
  };
  const double begin = now();
  work();
  return now() - begin;
}

// The longer of one before and one after: what else runs may slow the processor in between.
template <typename Work> double work_units(Work work) {
  const auto unit = [] {
    std::mt19937_64 random(1);
    std::vector<std::uint64_t> numbers(1'000'000);
    std::ranges::generate(numbers, random);
    return processor_seconds([&] { std::ranges::sort(numbers); });
  };
  const double before = unit();
  const double seconds = processor_seconds(work);
  return seconds / std::max(before, unit());
}

} // namespace omptier
