// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The figure that a program prints: found across pieces of its output, in the forms that C and
// Fortran print.
#include "cli/tune_runs.hpp"

#include <gtest/gtest.h>

namespace omptier {
namespace {

MetricReader read_from(const std::string& regex, const std::vector<std::string>& pieces) {
  MetricReader metric(*metric_regex(regex));
  LineReader lines([&](const std::string& line) { metric.read_line(line); });
  for (const std::string& piece : pieces)
    lines.read(piece);
  lines.end();
  return metric;
}

TEST(Metric, IsFoundInPieces) {
  EXPECT_EQ(read_from("time: *([0-9.]+)", {"a\nti", "me:  1", "2.5\ntime: 3\n"}).value(), 12.5);
  EXPECT_EQ(read_from("time: *([0-9.]+)", {"time: 7"}).value(), 7);
  EXPECT_FALSE(read_from("time: *([0-9.]+)", {"time:\n7\n"}).found());
  std::string progress;
  for (int step = 0; step < 1000; ++step)
    progress += "\rstep " + std::to_string(step);
  EXPECT_EQ(read_from("time: *([0-9.]+)", {progress, "\ntime: 7\n"}).value(), 7);
}

TEST(Metric, FormsOfNumbers) {
  for (const char* text : {"150", " 1.5E+02", "1.5D+02", "0.15d3", "+150.0", "150.000\r"})
    EXPECT_EQ(read_from("T=(.*)", {"T=", text, "\n"}).value(), 150) << text;
  for (const char* text : {"", "fast", "0", "-1", "nan", "inf", "1.5x", "1e999"}) {
    const MetricReader metric = read_from("T=(.*)", {"T=", text, "\n"});
    EXPECT_TRUE(metric.found()) << text;
    EXPECT_FALSE(metric.value()) << text;
  }
}

TEST(Metric, AVeryLongLineIsSearchedInItsBeginning) {
  EXPECT_EQ(read_from("^T=([0-9]+)", {"T=5 " + std::string(1 << 20, 'x') + "\n"}).value(), 5);
  EXPECT_FALSE(read_from("T=([0-9]+)", {std::string(1 << 20, 'x') + "T=5\n"}).found());
}

TEST(Metric, NeedsARegularExpressionWithAGroup) {
  EXPECT_NE(metric_regex("time: .*").error().find("no group"), std::string::npos);
  EXPECT_NE(metric_regex("time: (").error().find("no regular expression"), std::string::npos);
}

} // namespace
} // namespace omptier
