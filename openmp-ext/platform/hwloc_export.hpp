// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// This machine's topology as an hwloc XML file with measured figures in its memory attributes: for
// advice on another machine (omptier advise --xml), and for every program that uses hwloc.
#pragma once

#include "platform/platform_file.hpp"

#include <span>
#include <string>

namespace omptier {

// Returns why it cannot be written, in one line, or "". Whole ns and MiB/s, as hwloc counts; what
// hwloc has no attribute for (mixed bandwidth, block) is left out.
std::string export_hwloc_xml(const std::string& path, std::span<const MeasuredView> views);

} // namespace omptier
