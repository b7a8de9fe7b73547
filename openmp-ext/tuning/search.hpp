// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The best placement of a few groups of data, by running the program. The search starts from the
// advised placement and moves one group at a time to another kind of memory (where that is full, in
// exchange with the group there that matters least). Each change is compared with the best so far,
// their runs in turn, until it is better by what the user finds worth a change, or can no longer
// be. Changes that were made are kept; the search ends when no further one helps.
//
// Nothing here runs anything: the caller measures, and may answer from a file.
#pragma once

#include "base/text.hpp"
#include "tuning/statistics.hpp"

#include <compare>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace omptier {

// Where a group lies: the number of a kind, or this.
inline constexpr std::size_t k_as_advised = static_cast<std::size_t>(-1); // divided, or nowhere

struct Trial {                    // a placement of everything
  std::vector<std::size_t> kinds; // by group
  bool rest_is_slow = false;      // what is in no group: in the slowest kind, else as advised
  auto operator<=>(const Trial&) const = default;
};

struct TuningGroup {
  std::string label;
  std::size_t advised = 0; // a kind, or k_as_advised
  bool is_unsure = false;  // the samples leave open where it belongs
};

struct TuningProblem {
  std::vector<TuningGroup> groups;
  std::vector<std::string> kinds; // "DRAM", fastest first; at least two
  bool has_rest = false;          // there is data in no group that a plan places
  std::function<bool(const Trial&)> has_room;
  std::function<double(const Trial&)> predicted; // time under the model, any unit

  Trial advised() const;
  Trial all_slow() const;
};

struct TuningOptions {
  unsigned repeats = 5; // runs of a placement before it is left undecided; the best so far has more
  double worth = 0.01;  // part of the time that a change must gain
};

struct Measured {
  double figure = 0;   // smaller is better, above 0
  std::string failure; // why it does not count, in words; "" if it does
};

// Measures once. trial: where everything lies; what: the same in words, against the advised one. A
// failure ends the search: it is the reason, in words ("the time is up").
using MeasureTrial = std::function<Parsed<Measured>(const Trial& trial, const std::string& what)>;

// What is known of a group in the best placement.
struct GroupEffect {
  std::size_t kind = 0;    // the other kind it was tried in, the best of them
  TimesAsLong times;       // with the group there, over the best
  double predicted = 1;    // the same under the model
  std::string failure;     // of the run there; then there are no times
  std::string in_exchange; // label of what left that kind for it, "" = nothing
};

struct TuningResult {
  Trial best;
  std::string ended;        // why, in words
  bool is_finished = false; // no change was left to try
  std::string refused; // why nothing can be told, in one line with what to do; "" = all is well
  unsigned undecided = 0; // changes of the best that --repeats runs neither took nor ruled out
  unsigned runs = 0;
  unsigned held_up = 0; // of these: left out, since something else made them longer
  Noise noise;
  std::vector<std::optional<GroupEffect>> effects;      // by group; none was tried
  std::optional<double> advised, all_slow, best_figure; // mean figures
  std::string all_slow_failure;                         // or why it was not run
  TimesAsLong best_over_advised, best_over_slow;
};

TuningResult tune(const TuningProblem& problem, const TuningOptions& options,
                  const MeasureTrial& measure);

// "grid in NVM, mesh in DRAM": what differs from the advised placement.
std::string in_words(const TuningProblem& problem, const Trial& trial);

} // namespace omptier
