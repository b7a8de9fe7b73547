// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Which events of this processor sample memory accesses with their data address: Intel's PEBS
// (loads with latency, and stores), AMD's IBS of operations, ARM's SPE. Intel's events have another
// number on every model: libpfm4 knows them, and is loaded only where there is PEBS. The other two
// are devices of their own, whose number the kernel gives. Whether an event works is found by
// opening it.
#pragma once

#include <linux/perf_event.h>
#include <string>
#include <vector>

namespace omptier {

struct HardwareUnit {
  const char* name = "";               // "PEBS", "IBS", "SPE"; "" = none
  std::vector<perf_event_attr> events; // as they open here, without a period
  bool leader = false;  // events[0] only leads the group of events[1], without being sampled
  bool packets = false; // accesses arrive as packets (memory_event.hpp), else as samples
};

// The unit that works here for the calling thread; none (no name) with the reason in `why`: "no
// such event" where the kernel shows no such device, else what was refused.
HardwareUnit find_hardware_unit(std::string& why);

// libpfm4's encoding of an event ("MEM_INST_RETIRED:ALL_STORES") into type, config and config1.
// False with the reason in `why`.
bool encode_event(const char* name, perf_event_attr& attributes, std::string& why);

} // namespace omptier
