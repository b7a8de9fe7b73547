// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The processor's events that sample memory accesses with their data address: Intel's PEBS (loads
// with latency, and stores), AMD's IBS of operations, ARM's SPE. Numbers of Intel's events differ
// by model: libpfm4 has them, and is loaded only where there is PEBS. IBS and SPE are devices of
// their own, whose numbers the kernel gives. Whether an event works is determined by opening it.
#pragma once

#include <linux/perf_event.h>
#include <string>
#include <vector>

namespace omptier {

struct HardwareUnit {
  const char* name = "";               // "PEBS", "IBS", "SPE"; "" = none
  std::vector<perf_event_attr> events; // with attributes that open here, without a period
  bool leader = false;  // events[0] leads the group of events[1] and is not sampled
  bool packets = false; // packets instead of perf samples (memory_event.hpp)
};

// The unit that works here for the calling thread, or none (no name) and the reason in `why`: "no
// such event" if the kernel has no such device, else what was refused.
HardwareUnit find_hardware_unit(std::string& why);

// libpfm4's encoding of an event ("MEM_INST_RETIRED:ALL_STORES") into type, config and config1.
// False with the reason in `why`.
bool encode_event(const char* name, perf_event_attr& attributes, std::string& why);

} // namespace omptier
