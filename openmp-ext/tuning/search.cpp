// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// See search.hpp.
#include "tuning/search.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <set>
#include <tuple>
#include <utility>

namespace omptier {
namespace {

constexpr double k_too_varied = 0.5;     // of the time, between two runs of one placement
constexpr double k_first_slower = 0.1;   // the first run reads files that later ones find in memory
constexpr std::size_t k_runs_before = 4; // of the best, that a newer placement is compared with

struct Runs {
  std::vector<double> logarithms;
  std::vector<unsigned> numbers; // of the search's runs, ascending
  unsigned left_out = 0;         // no longer among these: they were held up
  std::string failure;           // of the last one that failed

  void leave_out(std::size_t at) {
    logarithms.erase(logarithms.begin() + static_cast<std::ptrdiff_t>(at));
    numbers.erase(numbers.begin() + static_cast<std::ptrdiff_t>(at));
  }
};

double mean_figure(const Runs& runs) {
  return std::exp(std::accumulate(runs.logarithms.begin(), runs.logarithms.end(), 0.0) /
                  static_cast<double>(runs.logarithms.size()));
}

enum class Verdict { open, better, no_better, undecided, ended };

// One change of the best placement.
struct Step {
  std::size_t group = 0, kind = 0;
};

class Search {
public:
  Search(const TuningProblem& problem, const TuningOptions& options, const MeasureTrial& measure)
      : problem_(problem), options_(options), measure_(measure), advised_(problem.advised()),
        slow_(problem.all_slow()), best_(advised_),
        effects_(problem.groups.size(),
                 std::vector<std::optional<GroupEffect>>(problem.kinds.size() + 1)) {}

  TuningResult result() {
    if (measure_the_ends()) {
      improve();
      if (best_ != advised_) measure_the_gain();
    }
    return summary();
  }

private:
  // False: the search has to end.
  bool run(const Trial& trial) {
    const auto measured = measure_(trial, in_words(problem_, trial));
    if (!measured) {
      result_.ended = measured.error();
      return false;
    }
    ++result_.runs;
    Runs& runs = runs_[trial];
    since_best_ = trial == best_ ? 0 : since_best_ + 1;
    if (!measured->failure.empty()) {
      runs.failure = measured->failure;
      if (trial != best_) return true;
      result_.ended = "a run of the best placement failed: " + measured->failure;
      return false;
    }
    runs.logarithms.push_back(std::log(measured->figure));
    runs.numbers.push_back(result_.runs);
    leave_out_held_up(trial);
    return true;
  }

  // The last run may show that one before it was.
  void leave_out_held_up(const Trial& trial) {
    Runs& runs = runs_[trial];
    const auto placement =
        static_cast<std::size_t>(std::distance(runs_.begin(), runs_.find(trial)));
    const auto at = held_up_run(all_logarithms(), placement, runs.left_out);
    if (!at) return;
    runs.leave_out(*at);
    ++runs.left_out;
    ++result_.held_up;
  }

  // The advised placement, and everything in the slowest kind.
  bool measure_the_ends() {
    if (!run(advised_)) return refuse_failed_advice();
    if (slow_ == advised_)
      result_.all_slow_failure = "that is the advised placement";
    else if (!problem_.has_room(slow_))
      result_.all_slow_failure = problem_.kinds.back() + " has no room for all";
    else if (!run(slow_))
      return false;
    else
      result_.all_slow_failure = runs_[slow_].failure;
    if (!run(advised_)) return refuse_failed_advice();
    std::vector<double>& times = runs_[advised_].logarithms;
    if (spread_of(times) > k_first_slower) { // a cold start, or noise?
      if (!run(advised_)) return refuse_failed_advice();
      if (spread_of({times.data() + 1, 2}) < spread_of({times.data(), 2}) &&
          times[0] == std::ranges::max(times))
        runs_[advised_].leave_out(0);
      else if (spread_of(times) > k_too_varied && !run(advised_)) // or was one held up?
        return refuse_failed_advice();
    }
    return refuse_varied(times);
  }

  bool refuse_failed_advice() {
    if (!runs_[advised_].failure.empty())
      result_.refused = "the program fails under the advised placement (" +
                        runs_[advised_].failure + "); make it run by itself first";
    return false;
  }

  bool refuse_varied(const std::vector<double>& times) {
    const double spread = spread_of(times);
    if (spread < k_too_varied) return true;
    result_.refused = "the program's time varies by " + format_percent(spread, 0) +
                      " from run to run with one placement, so no difference can be told: let it "
                      "run longer, alone on the machine, with threads that stay where they are "
                      "(OMP_PROC_BIND=close)";
    return false;
  }

  std::vector<std::vector<double>> all_logarithms() const {
    std::vector<std::vector<double>> all;
    for (const auto& [trial, runs] : runs_)
      all.push_back(runs.logarithms);
    return all;
  }

  Noise noise() const { return noise_of(all_logarithms()); }

  // The best one's runs beside those of the other, and a few before.
  std::span<const double> runs_beside(const Runs& best, const Runs& other) const {
    const auto after = static_cast<std::size_t>(
        std::ranges::lower_bound(best.numbers, other.numbers.front()) - best.numbers.begin());
    const std::size_t begin =
        std::min(after - std::min(after, k_runs_before), best.logarithms.size() - 1);
    return std::span(best.logarithms).subspan(begin);
  }

  Difference against_best(const Trial& trial, const Noise& now) {
    const Runs& other = runs_[trial];
    return difference(other.logarithms, runs_beside(runs_[best_], other), now);
  }

  Verdict judge(const Trial& trial) {
    const Noise now = noise();
    const Difference than_best = against_best(trial, now);
    const double gain = -than_best.logarithm, worth = -std::log(1 - options_.worth);
    if (runs_[trial].logarithms.size() > 1 && gain >= worth &&
        gain > quantile_99(now.freedom) * than_best.error)
      return Verdict::better;
    if (gain + quantile_95(now.freedom) * than_best.error < worth) return Verdict::no_better;
    return Verdict::open;
  }

  // Runs the two in turn until one is known to be better. The best is run again behind every second
  // placement that one run rules out, and behind each run of one that stays open.
  Verdict compare(const Trial& trial) {
    while (true) {
      const Runs& runs = runs_[trial];
      if (!runs.failure.empty()) return Verdict::no_better;
      if (!runs.logarithms.empty()) {
        const Verdict verdict = judge(trial);
        if (verdict != Verdict::open) return verdict;
        if (runs.logarithms.size() >= options_.repeats) return Verdict::undecided;
      }
      const bool best_is_due = since_best_ >= (runs.logarithms.empty() ? 2u : 1u);
      if (!run(best_is_due ? best_ : trial)) return Verdict::ended;
    }
  }

  double predicted_change(const Trial& trial) const {
    return problem_.predicted(trial) / problem_.predicted(best_);
  }

  // How much longer the program takes with a group elsewhere: as measured, else by the model.
  double cost_of_leaving(std::size_t group, const Trial& without) const {
    const std::size_t kind = std::min(without.kinds[group], problem_.kinds.size());
    const auto& effect = effects_[group][kind];
    return effect && effect->times.runs > 0 ? effect->times.value : predicted_change(without);
  }

  // The best placement with one change; none if there is no room. exchanged: the group that left.
  std::optional<Trial> changed(const Step& step, std::optional<std::size_t>& exchanged) const {
    Trial trial = best_;
    const std::size_t from = std::exchange(trial.kinds[step.group], step.kind);
    exchanged.reset();
    if (problem_.has_room(trial)) return trial;
    const std::size_t to = from == k_as_advised ? problem_.kinds.size() - 1 : from;
    std::optional<Trial> found;
    double least = 0;
    for (std::size_t other = 0; other < trial.kinds.size(); ++other) {
      if (other == step.group || best_.kinds[other] != step.kind || step.kind == to) continue;
      Trial alone = best_, instead = trial;
      alone.kinds[other] = instead.kinds[other] = to;
      const double cost = cost_of_leaving(other, alone);
      if ((found && cost >= least) || !problem_.has_room(instead)) continue;
      found = std::move(instead);
      least = cost;
      exchanged = other;
    }
    return found;
  }

  // All changes of the best placement: first what the samples leave open. Exchanges come behind:
  // then it is known which groups matter least. Else those that the model likes best come first.
  std::vector<Step> steps() const {
    std::vector<std::pair<std::tuple<bool, bool, double>, Step>> ordered;
    std::optional<std::size_t> exchanged;
    const auto add = [&](const Step& step) {
      if (step.kind == best_.kinds[step.group]) return;
      if (const auto trial = changed(step, exchanged))
        ordered.push_back({{!problem_.groups[step.group].is_unsure, exchanged.has_value(),
                            predicted_change(*trial)},
                           step});
    };
    for (std::size_t group = 0; group < problem_.groups.size(); ++group) {
      for (std::size_t kind = 0; kind < problem_.kinds.size(); ++kind)
        add({group, kind});
      if (problem_.groups[group].advised == k_as_advised) add({group, k_as_advised});
    }
    std::ranges::stable_sort(ordered, {}, [](const auto& one) { return one.first; });
    std::vector<Step> all;
    for (const auto& one : ordered)
      all.push_back(one.second);
    return all;
  }

  void improve() {
    if (result_.all_slow_failure.empty() && !take_if_better(slow_, {})) return;
    for (bool again = true; again;) {
      again = false;
      for (const Step& step : steps()) {
        if (step.kind == best_.kinds[step.group]) continue;
        const Trial before = best_;
        if (!try_step(step)) return;
        again = again || best_ != before;
      }
    }
    result_.is_finished = true;
    describe_the_end();
  }

  void describe_the_end() {
    result_.undecided = static_cast<unsigned>(std::ranges::count(undecided_, best_));
    result_.ended = "no change gains more than ";
    if (result_.undecided > 0)
      result_.ended = std::to_string(result_.undecided) +
                      (result_.undecided == 1 ? " change stays" : " changes stay") +
                      " open (more --repeats may tell), no other gains more than ";
    result_.ended += format_percent(options_.worth) + " of the time";
  }

  bool try_step(const Step& step) {
    std::optional<std::size_t> exchanged;
    const auto trial = changed(step, exchanged);
    if (!trial || !compared_.insert({best_, *trial}).second) return true;
    return take_if_better(*trial, Change{step.group, step.kind, exchanged});
  }

  struct Change {
    std::size_t group = 0, kind = 0;
    std::optional<std::size_t> exchanged;
  };

  bool take_if_better(const Trial& trial, const std::optional<Change>& change) {
    const Trial before = best_;
    const Verdict verdict = compare(trial);
    if (verdict == Verdict::ended && runs_[trial].logarithms.empty()) return false;
    if (change) note_effect(trial, *change);
    if (verdict == Verdict::undecided) undecided_.push_back(best_);
    if (verdict != Verdict::better) return verdict != Verdict::ended;
    best_ = trial;
    since_best_ = 1;
    // What was known of the group holds the other way round.
    if (change)
      note_effect(before, {change->group, before.kinds[change->group], change->exchanged});
    return true;
  }

  // Of the trial against the best.
  void note_effect(const Trial& trial, const Change& change) {
    const Runs& runs = runs_[trial];
    GroupEffect effect{change.kind, {}, predicted_change(trial), runs.failure, {}};
    if (change.exchanged) effect.in_exchange = problem_.groups[*change.exchanged].label;
    if (runs.failure.empty()) {
      const Noise now = noise();
      effect.times = against_best(trial, now)
                         .times_as_long(now, static_cast<unsigned>(runs.logarithms.size()));
    }
    const std::size_t at = std::min(change.kind, problem_.kinds.size());
    effects_[change.group][at] = std::move(effect);
  }

  // A change is found where noise helps it: both are measured once more.
  void measure_the_gain() {
    if (!result_.is_finished) return;
    const std::string ended = result_.ended;
    if (run(advised_)) run(best_);
    if (runs_[best_].failure.empty()) result_.ended = ended;
  }

  // Tried in another kind than it has in the best; of several kinds, the best.
  std::optional<GroupEffect> effect_of(std::size_t group) const {
    std::optional<GroupEffect> found;
    for (const auto& effect : effects_[group]) {
      if (!effect || effect->kind == best_.kinds[group]) continue;
      const bool is_better = !found || !found->failure.empty() ||
                             (effect->failure.empty() && effect->times.value < found->times.value);
      if (is_better) found = effect;
    }
    return found;
  }

  TimesAsLong best_over(const Trial& other) {
    const Runs& best = runs_[best_];
    const Runs& than = runs_[other];
    if (best.logarithms.empty() || than.logarithms.empty()) return {};
    if (other == best_) return {1, 1, 1, static_cast<unsigned>(best.logarithms.size())};
    const Noise now = noise();
    return difference(best.logarithms, than.logarithms, now)
        .times_as_long(now, static_cast<unsigned>(best.logarithms.size()));
  }

  TuningResult summary() {
    if (!runs_[best_].failure.empty()) { // what failed once is not taken
      best_ = advised_;
      result_.is_finished = false;
    }
    const auto figure = [&](const Trial& trial) -> std::optional<double> {
      const auto at = runs_.find(trial);
      if (at == runs_.end() || at->second.logarithms.empty()) return {};
      return mean_figure(at->second);
    };
    result_.best = best_;
    result_.noise = noise();
    result_.advised = figure(advised_);
    result_.all_slow = figure(slow_);
    result_.best_figure = figure(best_);
    result_.best_over_advised = best_over(advised_);
    result_.best_over_slow = best_over(slow_);
    for (std::size_t group = 0; group < problem_.groups.size(); ++group)
      result_.effects.push_back(effect_of(group));
    return std::move(result_);
  }

  const TuningProblem& problem_;
  const TuningOptions options_;
  const MeasureTrial& measure_;
  const Trial advised_, slow_;
  Trial best_;
  unsigned since_best_ = 0; // runs of others since the best one's last
  std::map<Trial, Runs> runs_;
  std::set<std::pair<Trial, Trial>> compared_;                   // best, change
  std::vector<Trial> undecided_; // for each such change: the best at that time
  std::vector<std::vector<std::optional<GroupEffect>>> effects_; // by group and kind
  TuningResult result_;
};

} // namespace

Trial TuningProblem::advised() const {
  Trial trial;
  for (const TuningGroup& group : groups)
    trial.kinds.push_back(group.advised);
  return trial;
}

Trial TuningProblem::all_slow() const {
  return {std::vector<std::size_t>(groups.size(), kinds.size() - 1), has_rest};
}

TuningResult tune(const TuningProblem& problem, const TuningOptions& options,
                  const MeasureTrial& measure) {
  return Search(problem, options, measure).result();
}

std::string in_words(const TuningProblem& problem, const Trial& trial) {
  if (trial == problem.advised()) return "as advised";
  const std::size_t slowest = problem.kinds.size() - 1;
  if (trial == problem.all_slow()) return "all in " + problem.kinds[slowest];
  std::string text = trial.rest_is_slow ? "all in " + problem.kinds[slowest] : "";
  const std::string_view but = trial.rest_is_slow ? ", but " : ", ";
  for (std::size_t group = 0; group < trial.kinds.size(); ++group) {
    const std::size_t kind = trial.kinds[group];
    if (kind == (trial.rest_is_slow ? slowest : problem.groups[group].advised)) continue;
    text += (text.empty() ? "" : std::string(but)) + problem.groups[group].label +
            (kind == k_as_advised ? " as advised" : " in " + problem.kinds[kind]);
  }
  return text;
}

} // namespace omptier
