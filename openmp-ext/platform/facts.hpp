// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What hwloc and sysfs report of a memory before its kind is decided.
#pragma once

#include "platform/platform.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace omptier {

// According to the operating system.
enum class MemoryOrigin : std::uint8_t {
  unknown,
  nvdimm,   // a DAX device of an NVDIMM (ACPI NFIT)
  cxl,      // a CXL region
  reserved, // specific-purpose memory that the firmware set aside; of any kind
};

struct NodeFacts {
  unsigned number = 0;
  std::uint64_t capacity = 0;
  std::vector<unsigned> cpus;       // its own; empty = CPU-less
  std::vector<InitiatorView> views; // nearest first as the firmware lists them
  MemoryOrigin origin = MemoryOrigin::unknown;
  std::string origin_name; // "dax0.0", "region0"
  std::string label;       // hwloc's or the firmware's name for it ("MCDRAM"): a hint only
  // By source, for rules that compare figures: processors may reach less than the firmware says.
  std::vector<InitiatorView> measured = {}; // by omptier calibrate, nothing else in them
  std::vector<InitiatorView> given = {}; // the firmware's, of a node with measured ones; else views
};

struct MachineFacts {
  std::vector<NodeFacts> nodes; // ascending by number
  std::string firmware_memory;  // "HBM" when the firmware lists memory of that type only
  LastLevel last_level;         // of an export
  const NodeFacts* node(unsigned number) const {
    for (const NodeFacts& n : nodes)
      if (n.number == number) return &n;
    return nullptr;
  }
};

} // namespace omptier
