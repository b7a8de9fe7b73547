// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What Linux itself knows of its memory and hwloc does not tell: where a node's memory comes from
// (NVDIMM, CXL region), which processors are really its own, what the firmware calls the modules,
// and how much memory a node has at this moment.
#pragma once

#include "platform/facts.hpp"

#include <cstdint>
#include <string>

namespace omptier {

// Completes the facts of this machine. root is "/sys" but in tests, which lay out a tree of their
// own. What is absent or unreadable (the firmware's tables are, but for root) stays as it was.
void read_sysfs(MachineFacts& facts, const std::string& root = "/sys");

// MemTotal of a node now. It grows while a kernel initialises memory lazily, so whoever needs more
// than Node::capacity says may ask again. Takes no malloc. False when the node does not exist.
bool node_capacity_now(unsigned node, std::uint64_t& bytes, const char* root = "/sys");

} // namespace omptier
