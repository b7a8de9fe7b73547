// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A profile's objects as comma-separated values (RFC 4180, lines end in LF), declared in
// report_text.hpp: plain numbers (whole ones exactly), fractions of 1, empty where a figure is not
// known well enough for the table.
#include "base/text.hpp"
#include "cli/objects_text.hpp"
#include "cli/utf8.hpp"

#include <cmath>
#include <cstdio>

namespace omptier {
namespace {

std::string number(double value) {
  constexpr double k_exact = 9007199254740992; // 2^53
  const bool whole = std::abs(value) < k_exact && value == std::floor(value);
  char text[40];
  std::snprintf(text, sizeof text, whole ? "%.0f" : "%.9g", value);
  return text;
}

std::string csv_quoted(const std::string& name) {
  const std::string text = as_utf8(name);
  if (text.find_first_of(",\"\r\n") == std::string::npos) return text;
  std::string out = "\"";
  for (const char c : text)
    out += c == '"' ? std::string("\"\"") : std::string(1, c);
  return out + "\"";
}

std::string cell_of(const ObjectColumn& column, const ObjectRow& row,
                    const ReportContext& context) {
  if (column.name == "pattern")
    return context.summary.patterns > 0 && row.site != nullptr ? name_of(row.site->pattern.kind)
                                                               : "";
  const std::optional<double> figure = column.figure(row, context);
  return figure ? number(*figure) : "";
}

std::string line_of(const ObjectRow& row, const ReportContext& context) {
  const Share& share = row.sampled.share;
  std::string line = csv_quoted(row.name) + "," +
                     (row.site != nullptr ? name_of(row.site->kind) : "") + "," +
                     std::to_string(row.sampled.samples) + "," + number(share.value) + "," +
                     number(share.low) + "," + number(share.high);
  for (const ObjectColumn& column : object_columns())
    line += "," + cell_of(column, row, context);
  return line + "\n";
}

} // namespace

std::string profile_csv(const ProfileSummary& summary, const ProfileNames& names,
                        const ProfileTextOptions& options) {
  const ReportContext context{summary, names, options};
  std::string text = "object,kind,samples,share,low,high";
  for (const ObjectColumn& column : object_columns())
    text += "," + std::string(column.name);
  text += "\n";
  for (const std::size_t site : wanted_sites(context))
    text += line_of(row_of_site(context, site), context);
  if (!options.filter.empty() || options.minimum) return text;
  text += line_of(row_of_small_objects(context), context);
  return text + line_of(row_of_the_rest(context), context);
}

} // namespace omptier
