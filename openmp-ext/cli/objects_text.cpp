// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// See objects_text.hpp. Whatever rows are asked for, their shares add up to all samples.
#include "cli/objects_text.hpp"

#include "base/text.hpp"
#include "cli/blocks_text.hpp"
#include "cli/share_cells.hpp"

#include <algorithm>
#include <functional>
#include <limits>

namespace omptier {
namespace {

void sort_by(const std::string& sort, const ReportContext& context,
             std::vector<std::size_t>& sites) {
  if (sort.empty() || sort == "share") return; // as they are
  if (sort == "object") {
    std::ranges::stable_sort(sites, {}, [&](std::size_t i) { return context.names.sites[i]; });
    return;
  }
  const auto column = std::ranges::find(object_columns(), sort, &ObjectColumn::name);
  std::ranges::stable_sort(sites, std::greater{}, [&](std::size_t i) {
    return column->figure(row_of_site(context, i), context)
        .value_or(-std::numeric_limits<double>::infinity());
  });
}

// Unless rows are chosen: rows with at least one sample in a thousand or a hundredth of the memory,
// and rows that are not of the program.
class WorthARow {
public:
  explicit WorthARow(const ReportContext& context)
      : all_(context.summary.samples == 0 || !context.options.sort.empty() ||
             !context.options.filter.empty() || context.options.minimum) {
    for (const SiteSummary& site : context.summary.sites)
      bytes_ += site.bytes_peak;
  }
  bool operator()(const SiteSummary& site) const {
    return all_ || site.kind == SiteKind::runtime || site.share.value >= 0.001 ||
           site.bytes_peak >= bytes_ / 100;
  }

private:
  bool all_;
  std::uint64_t bytes_ = 0;
};

class ObjectRows {
public:
  explicit ObjectRows(const ReportContext& context) : context_(context) {}

  std::vector<ObjectRow> rows() {
    const ProfileSummary& summary = context_.summary;
    const WorthARow is_worth_a_row(context_);
    std::vector<bool> shown(summary.sites.size());
    std::size_t count = 0;
    for (const std::size_t i : wanted_sites(context_))
      if (count < context_.options.most_sites && is_worth_a_row(summary.sites[i])) {
        shown[i] = true;
        ++count;
        add_site(i);
      }
    add_sum(shown);
    if (summary.small_objects.objects > 0) rows_.push_back(row_of_small_objects(context_));
    if (summary.samples > 0) rows_.push_back(row_of_the_rest(context_));
    return std::move(rows_);
  }
  const std::string& remarks() const { return remarks_; } // of the rows, a line each

private:
  void add_site(std::size_t number) {
    rows_.push_back(row_of_site(context_, number));
    const SiteSummary& site = context_.summary.sites[number];
    if (const std::string text = growth_text(site); !text.empty())
      remarks_ += "  " + rows_.back().name + ": " + text + "\n";
    for (const BlocksRow& blocks : block_rows(context_.summary, site, context_.options.blocks)) {
      ObjectRow& row = rows_.emplace_back();
      row.name = "  " + blocks.name;
      row.sampled = blocks.sampled;
      row.bytes = blocks.bytes;
      row.blocks = blocks.blocks;
    }
  }

  void add_sum(const std::vector<bool>& shown) {
    ObjectRow sum;
    std::size_t sites = 0;
    for (std::size_t i = 0; i < shown.size(); ++i) {
      if (shown[i]) continue;
      const SiteSummary& site = context_.summary.sites[i];
      ++sites;
      sum.sampled.share += site.share;
      sum.sampled.accesses += site.accesses;
      sum.bytes = sum.bytes.value_or(0) + site.bytes_peak;
      sum.blocks = sum.blocks.value_or(0) + site.objects;
    }
    if (sites == 0) return;
    sum.name = std::to_string(sites) + (sites == 1 ? " other" : " others");
    rows_.push_back(std::move(sum));
  }

  const ReportContext& context_;
  std::vector<ObjectRow> rows_;
  std::string remarks_;
};

std::string reasons(const std::vector<const ObjectColumn*>& columns,
                    const std::vector<TableRow>& rows) {
  std::string text;
  for (std::size_t i = 0; i < columns.size(); ++i)
    if (std::ranges::all_of(rows, [&](const TableRow& row) {
          return row[row.size() - columns.size() + i] == "-";
        }))
      text += std::string("  ") + columns[i]->title + " is not known: " + columns[i]->unknown +
              "\n";
  return text;
}

} // namespace

std::vector<std::size_t> wanted_sites(const ReportContext& context) {
  std::vector<std::size_t> sites;
  for (std::size_t i = 0; i < context.summary.sites.size(); ++i)
    if (context.summary.sites[i].share.value >= context.options.minimum.value_or(0) &&
        has_text(context.names.sites[i], context.options.filter))
      sites.push_back(i);
  sort_by(context.options.sort, context, sites);
  return sites;
}

ObjectRow row_of_site(const ReportContext& context, std::size_t number) {
  const SiteSummary& site = context.summary.sites[number];
  ObjectRow row;
  row.name = context.names.sites[number];
  row.sampled = static_cast<const Sampled&>(site);
  row.site = &site;
  row.accessed = &site.access_share;
  if (has_bytes(site.kind)) row.bytes = site.bytes_peak;
  if (has_bytes(site.kind) || site.kind == SiteKind::stacks) row.blocks = site.objects;
  return row;
}

ObjectRow row_of_small_objects(const ReportContext& context) {
  const ProfileSummary& summary = context.summary;
  ObjectRow row;
  row.name = "small objects (under 4 KiB" +
             (context.options.verbose ? ", " + with_separators(summary.small_sites) +
                                            " sites; one in 64 is looked at)"
                                      : ")");
  row.sampled = summary.small;
  row.blocks = summary.small_objects.objects;
  return row;
}

ObjectRow row_of_the_rest(const ReportContext& context) {
  const ProfileSummary& summary = context.summary;
  ObjectRow row;
  row.name = "everything else";
  if (context.options.verbose)
    row.name += " (" + with_separators(summary.outside_objects) +
                " samples in no recorded object, " + with_separators(summary.unknown_address) +
                " without address)";
  row.sampled = summary.other;
  row.accessed = &summary.other_access_share;
  return row;
}

std::string objects_text(const ReportContext& context) {
  ObjectRows objects(context);
  const std::vector<ObjectRow> rows = objects.rows();
  if (rows.empty()) return "";
  const std::vector<const ObjectColumn*> chosen = chosen_columns(context.options);
  const bool asked = !context.options.columns.empty(); // then they all stay
  std::vector<TableColumn> columns = share_columns(context.summary, "object");
  if (!context.options.region.empty()) columns[1].title += " there"; // in these regions
  for (const ObjectColumn* column : chosen)
    columns.push_back({column->title, column->align, asked ? 0 : column->rank, column->cut});
  std::vector<TableRow> cells;
  for (const ObjectRow& row : rows) {
    TableRow& line = cells.emplace_back(share_cells(context.summary, row.name, row.sampled.share,
                                                    context.options.look()));
    for (const ObjectColumn* column : chosen)
      line.push_back(column->text(row, context));
  }
  return whole_table(columns, cells, context.options.look()) + objects.remarks() +
         (asked || context.options.verbose ? reasons(chosen, cells) : "");
}

} // namespace omptier
