// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The table of objects: which rows it has, and in which order.
#pragma once

#include "cli/object_columns.hpp"

#include <cstddef>
#include <vector>

namespace omptier {

// Numbers of the sites that pass options.filter and options.minimum, sorted by options.sort.
std::vector<std::size_t> wanted_sites(const ReportContext& context);

ObjectRow row_of_site(const ReportContext& context, std::size_t site);
ObjectRow row_of_small_objects(const ReportContext& context);
ObjectRow row_of_the_rest(const ReportContext& context);

// Sites without a row of their own are summed up in one. "" without rows.
std::string objects_text(const ReportContext& context);

} // namespace omptier
