// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// See report_head.hpp.
#include "cli/report_head.hpp"

#include "base/text.hpp"
#include "cli/loops_text.hpp"

#include <algorithm>
#include <cmath>
#include <ctime>

namespace omptier {
namespace {

std::string when(std::uint64_t seconds) {
  const auto time = static_cast<std::time_t>(seconds);
  std::tm parts{};
  char text[64] = "";
  if (localtime_r(&time, &parts) != nullptr)
    std::strftime(text, sizeof text, "%Y-%m-%d %H:%M:%S", &parts);
  return text;
}

std::string counted(std::size_t number, const char* what) {
  return with_separators(number) + " " + what + (number == 1 ? "" : "s");
}

// Of a hundred; a share of 40 % that is off by 25 points is between 15 and 65 %.
std::string points(double share) { return std::to_string(std::lround(100 * share)) + " points"; }

std::string run_line(const ProfileSummary& summary) {
  const RunRecord& run = summary.runs.front();
  std::string text = summary.running > 0 ? "still running, so far " : "";
  text += format_duration(double(summary.nanoseconds)) + ", up to " +
          counted(summary.threads, "thread") + "; " + when(run.wall_clock_start) + " on " +
          run.host + ", process " + std::to_string(run.process);
  if (summary.runs.size() > 1)
    text += "; " + counted(summary.runs.size(), "profile") + " joined, figures of one process";
  return text;
}

std::string samples_line(const ProfileSummary& summary, bool verbose) {
  const RunRecord& run = summary.runs.front();
  std::string text = counted(summary.samples, "sample") + " of " + title_of(summary.measure) +
                     " by " + run.source;
  if (summary.samples_lost > 0 || verbose)
    text += ", " + with_separators(summary.samples_lost) + " lost";
  if (summary.samples == 0 && !run.source_description.empty() && !verbose)
    text += ": " + run.source_description;
  if (summary.samples_waiting > 0)
    text += " (" + with_separators(summary.samples_waiting) +
            " more waiting in the OpenMP runtime, or recording)";
  if (summary.samples > 0 && summary.worst_error > 0)
    text += "; shares may be off by " + points(summary.worst_error);
  return text;
}

std::string details(const ProfileSummary& summary) {
  std::string text;
  const RunRecord& run = summary.runs.front();
  if (!run.source_description.empty())
    text += "  " + run.source + ": " + run.source_description + "\n";
  if (summary.samples_waiting > 0)
    text += "  waiting in the OpenMP runtime, or recording: " +
            format_percent(summary.waiting_share) + " of all samples; they count for no object\n";
  if (summary.samples > 0 && summary.worst_error > 0)
    text += std::string("  95 %: the interval of the sampling error") +
            (summary.measure == Measure::time ? " and of the source's usual one" : "") +
            "; at worst the source itself is off by " + points(summary.worst_error) + "\n";
  if (summary.patterns > 0 && summary.measure == Measure::time)
    text += "  accessed: by bytes; the pace was measured of loops that take " +
            format_percent(summary.paced) +
            " of the time, that of others is estimated\n";
  text += loops_text(summary.loops);
  return text;
}

} // namespace

std::string report_head(const ProfileSummary& summary, const ProfileTextOptions& options) {
  const RunRecord& run = summary.runs.front();
  std::string command = run.command_line.empty() ? run.program : run.command_line;
  std::ranges::replace_if(command, [](char c) { return (c & 0xe0) == 0 || c == 0x7f; }, ' ');
  const auto line = [&](const std::string& text, bool cut) {
    return (cut ? cut_text(text, options.width, TableColumn::Cut::end, options.utf8) : text) + "\n";
  };
  const bool cut = options.width > 0 && !options.verbose;
  return line(command, cut) + line("  " + run_line(summary), cut) +
         line("  " + samples_line(summary, options.verbose), cut && summary.samples > 0) +
         (options.verbose ? details(summary) : "");
}

} // namespace omptier
