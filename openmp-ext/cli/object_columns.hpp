// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The columns of the table of objects: for each its name in --columns and --sort, its title, what
// its cells say and by which figure rows are sorted.
#pragma once

#include "cli/report_text.hpp"
#include "cli/table.hpp"

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace omptier {

struct ObjectRow {
  std::string name;
  Sampled sampled;
  const SiteSummary* site = nullptr;                // null: of several sites, or of some blocks
  const Share* accessed = nullptr;                  // null: not known
  std::optional<std::uint64_t> bytes = {}, blocks = {}; // none: nobody knows
};

// What cells are made from, beside their row.
struct ReportContext {
  const ProfileSummary& summary;
  const ProfileNames& names;
  const ProfileTextOptions& options;
};

struct ObjectColumn {
  std::string_view name;
  const char* title;
  TableColumn::Align align;
  unsigned rank; // this and what follows: as TableColumn's
  TableColumn::Cut cut;
  std::string (*text)(const ObjectRow&, const ReportContext&);
  // Larger goes first; none goes last. Of a site's row.
  std::optional<double> (*figure)(const ObjectRow&, const ReportContext&);
  const char* unknown; // why all of it may be "-", and what helps
};

// Beside the name, the share and its interval, which every table begins with; in order.
std::span<const ObjectColumn> object_columns();

// Those that are shown: of options.columns, or all.
std::vector<const ObjectColumn*> chosen_columns(const ProfileTextOptions& options);

// One line about a wrong options.columns or options.sort that names what is valid, or "".
std::string problem_with_columns(const ProfileTextOptions& options);

} // namespace omptier
