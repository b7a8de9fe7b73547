// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The table of objects: which rows it has, and in which order.
#pragma once

#include "cli/object_columns.hpp"

#include <cstddef>
#include <vector>

namespace omptier {

// Numbers of the sites whose name has options.filter and that have the share of options.minimum, by
// options.sort.
std::vector<std::size_t> wanted_sites(const ReportContext& context);

// Of a site, of all small objects, of everything else.
ObjectRow row_of_site(const ReportContext& context, std::size_t site);
ObjectRow row_of_small_objects(const ReportContext& context);
ObjectRow row_of_the_rest(const ReportContext& context);

// The table; what has no row of its own is summed up in one. "" without rows.
std::string objects_text(const ReportContext& context);

} // namespace omptier
