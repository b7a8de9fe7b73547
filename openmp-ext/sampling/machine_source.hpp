// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The reader of the virtual machine's memory-event unit, separate from finding the unit, so that
// tests can pass one in ordinary memory.
#pragma once

#include "sampling/source.hpp"

struct event_unit;

namespace omptier {

// A region with an event unit that event_unit_problem has accepted.
struct EventRegion {
  event_unit* unit = nullptr;
  std::uint64_t size = 0;
  int fd = -1;                   // closed with the source; -1 = none
  std::int64_t clock_offset = 0; // guest's counter − host's counter
  bool mapped = false;           // unmapped with the source
};

std::unique_ptr<SampleSource> make_machine_source(const EventRegion& region);

} // namespace omptier
