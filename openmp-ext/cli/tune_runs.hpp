// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Runs of the user's program for `omptier tune`, each under a plan, timed from start to end. The
// program has its own process group: an interrupt typed at the terminal ends the search behind the
// run, not the run. Standard input that is a file is read from where it stood at each run's start;
// any other is empty, since only the first run could read it.
#pragma once

#include "base/text.hpp"
#include "cli/launch.hpp"

#include <array>
#include <csignal>
#include <optional>
#include <regex>
#include <string>
#include <string_view>

namespace omptier {

// Cuts an output into lines. Of a very long line, only the beginning is seen.
class LineReader {
public:
  explicit LineReader(std::function<void(const std::string& line)> look) : look_(std::move(look)) {}
  void read(std::string_view text); // the next piece of the output, of any length
  void end();                       // the last line may have no line end

private:
  const std::function<void(const std::string&)> look_;
  std::string line_;
};

// The first number that a program prints in the wanted place.
class MetricReader {
public:
  explicit MetricReader(std::regex wanted) : wanted_(std::move(wanted)) {}

  void read_line(const std::string& line);
  // Fortran's 1.5D+02 is a number, too. Nothing: not found, or not above 0.
  std::optional<double> value() const { return value_; }
  bool found() const { return found_; }

private:
  std::regex wanted_;
  bool found_ = false;
  std::optional<double> value_;
};

// A failure is one line: no regular expression, or it has no group.
Parsed<std::regex> metric_regex(const std::string& text);

struct ProgramRun {
  double seconds = 0;           // wall clock
  std::optional<double> metric; // if one was asked for
  std::string failure;          // why it does not count; "" if it does
  std::string not_placed; // the runtime's first warning that the plan does not hold; "" = none
};

// One at a time; not thread-safe. Handles SIGINT, SIGTERM and SIGHUP while it exists: the first
// SIGINT ends the search behind the run, others also end the run.
class ProgramRuns {
public:
  // what: libraries, preload and variables of all runs. output: descriptor where the program's
  // standard output goes.
  ProgramRuns(Launch what, std::optional<std::regex> metric, int output);
  ~ProgramRuns();
  ProgramRuns(const ProgramRuns&) = delete;
  ProgramRuns& operator=(const ProgramRuns&) = delete;

  // limit: seconds after which it is killed; 0: none. Nothing if the user ended the run.
  std::optional<ProgramRun> run(const std::string& plan, double limit);
  static int interrupted_by(); // the first such signal; 0: none

private:
  Launch what_;
  std::optional<std::regex> metric_;
  int output_, input_ = -1; // input_: where the program's input comes from
  off_t input_begin_ = 0;
  static constexpr std::array k_ending_signals = {SIGINT, SIGTERM, SIGHUP};
  std::array<struct sigaction, k_ending_signals.size()> before_{};
};

} // namespace omptier
