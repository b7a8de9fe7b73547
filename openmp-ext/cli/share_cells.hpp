// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The first columns of every report table: a name, its share with a bar, the share's interval. And
// the line beneath a table whose columns did not all fit.
#pragma once

#include "cli/report_text.hpp"
#include "cli/table.hpp"

#include <string>
#include <vector>

namespace omptier {

// what: the title of the names.
std::vector<TableColumn> share_columns(const ProfileSummary& summary, const std::string& what);

// More cells may follow.
TableRow share_cells(const ProfileSummary& summary, const std::string& name, const Share& share,
                     const TextLook& look);

// Its interval is that of so many samples, none where every access was counted.
Share share_of_samples(const ProfileSummary& summary, double weight, double all,
                       std::uint64_t samples);

// Adds a line that names what was left out.
std::string whole_table(const std::vector<TableColumn>& columns, const std::vector<TableRow>& rows,
                        const TextLook& look);

} // namespace omptier
