// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What Linux knows of memory and hwloc does not report: where a node's memory comes from (NVDIMM,
// CXL region), which processors are its own, and the firmware's name for the modules.
#pragma once

#include "platform/facts.hpp"

#include <string>

namespace omptier {

// Completes the facts of this machine. root is "/sys", or a tree of the tests' own. What is absent
// or unreadable (the firmware's tables are readable by root only) stays as it was.
void read_sysfs(MachineFacts& facts, const std::string& root = "/sys");

} // namespace omptier
