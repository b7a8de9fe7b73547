// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The columns of the table of objects: for each its name in --columns and --sort, its title, its
// cells, and the figure by which rows are sorted.
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
  std::optional<std::uint64_t> bytes = {}, blocks = {}; // none: unknown
};

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
  // For sorting a site's row: larger goes first, none goes last.
  std::optional<double> (*figure)(const ObjectRow&, const ReportContext&);
  const char* unknown; // why all of it may be "-", and what helps
};

// In order; without name, share and interval, with which every table begins.
std::span<const ObjectColumn> object_columns();

std::vector<const ObjectColumn*> chosen_columns(const ProfileTextOptions& options);

// "", or one line if options.columns or options.sort is wrong; it names what is valid.
std::string problem_with_columns(const ProfileTextOptions& options);

} // namespace omptier
