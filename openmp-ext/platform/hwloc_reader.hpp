// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// hwloc's NUMA nodes, their processors, and the HMAT figures that it exports.
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
