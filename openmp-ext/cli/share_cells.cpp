// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// See share_cells.hpp.
#include "cli/share_cells.hpp"

#include "analysis/share_intervals.hpp"
#include "analysis/shares.hpp"
#include "base/text.hpp"

#include <algorithm>

namespace omptier {

std::vector<TableColumn> share_columns(const ProfileSummary& summary, const std::string& what) {
  using Align = TableColumn::Align;
  return {{what, Align::left, 0, TableColumn::Cut::middle},
          {std::string("share of ") + title_of(summary.measure), Align::left, 0,
           TableColumn::Cut::never, true},
          {"95 %", Align::right, 4}};
}

TableRow share_cells(const ProfileSummary& summary, const std::string& name, const Share& share,
                     const TextLook& look) {
  const std::string drawn = bar(share.value, k_bar, look.utf8);
  return {name,
          fitted(format_percent(share.value), 7, true) + (drawn.empty() ? "" : " " + drawn),
          summary.samples > 0 ? interval(share, look.utf8) : "-"};
}

Share share_of_samples(const ProfileSummary& summary, double weight, double all,
                       std::uint64_t samples) {
  const double share = std::min(share_of(weight, all), 1.0);
  const bool counted = std::ranges::all_of(
      summary.runs, [](const RunRecord& run) { return run.source == "exact"; });
  if (counted) return {share, share, share};
  return make_share(share, wilson_interval(share, double(samples)));
}

std::string whole_table(const std::vector<TableColumn>& columns, const std::vector<TableRow>& rows,
                        const TextLook& look) {
  const Table made = table(columns, rows, look);
  if (made.left_out.empty()) return made.text;
  std::string more = "(--width 0 also shows";
  for (std::size_t i = 0; i < made.left_out.size(); ++i)
    more += (i == 0 ? " " : ", ") + made.left_out[i];
  return made.text + cut_text(more + ")", look.width, TableColumn::Cut::end, look.utf8) + "\n";
}

} // namespace omptier
