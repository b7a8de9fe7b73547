// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// hwloc's view of the memory here: NUMA nodes, their processors, and the HMAT figures it exports as
// memory attributes.
#pragma once

#include "platform/facts.hpp"

namespace omptier {

struct HwlocResult {
  MachineFacts facts;
  bool this_machine = true; // false: an XML export of some other machine (also by HWLOC_XMLFILE)
};

// xml: path of an hwloc XML export; "" = this machine.
Parsed<HwlocResult> read_hwloc(const std::string& xml);

} // namespace omptier
