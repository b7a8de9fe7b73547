// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What Linux itself knows of its memory and hwloc does not tell: where a node's memory comes from
// (NVDIMM, CXL region), which processors are really its own, and what the firmware calls the modules.
#pragma once

#include "platform/facts.hpp"

#include <string>

namespace omptier {

// Completes the facts of this machine. root is "/sys" but in tests, which lay out a tree of their
// own. What is absent or unreadable (the firmware's tables are, but for root) stays as it was.
void read_sysfs(MachineFacts& facts, const std::string& root = "/sys");

} // namespace omptier
