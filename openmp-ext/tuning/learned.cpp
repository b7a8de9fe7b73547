// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// See learned.hpp.
#include "tuning/learned.hpp"

#include "advisor/together.hpp"
#include "tuning/statistics.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

namespace omptier {
namespace {

constexpr double k_model_error = 0.005; // no run tells more, as a part of its figure
constexpr double k_sure = 2;            // times the noise
constexpr double k_much_better = 0.7;   // of the error before
constexpr int k_fits = 4, k_rounds = 12, k_halvings = 6;
constexpr std::size_t k_most_sites = 24; // that are learned of

using Vector = std::vector<double>;

struct Measured {
  double logarithm = 0; // mean of the figures'
  double variance = 0;  // of that, by the runs' noise
};

// Of largest share first.
std::vector<std::size_t> sites_that_moved(const Workload& workload,
                                          std::span<const MeasuredPlacement> measured) {
  std::map<std::size_t, double> shares;
  for (std::size_t at = 0; at < workload.sites.size(); ++at) {
    const auto tier = [&](const MeasuredPlacement& one) { return one.tier_of_site[at]; };
    if (std::ranges::any_of(measured,
                            [&](const auto& one) { return tier(one) != tier(measured[0]); }))
      shares[workload.sites[at].site] = 0;
  }
  for (const SiteDemand& demand : workload.sites)
    if (const auto moved = shares.find(demand.site); moved != shares.end())
      moved->second += demand.share;
  std::vector<std::size_t> sites;
  for (const auto& [site, share] : shares)
    sites.push_back(site);
  std::ranges::stable_sort(sites, std::greater{}, [&](std::size_t site) { return shares[site]; });
  if (sites.size() > k_most_sites) sites.resize(k_most_sites);
  return sites;
}

// The model with any factors: of sites, then of work; logarithms.
class Model {
public:
  Model(const Workload& workload, const std::vector<TierChoice>& tiers,
        std::span<const MeasuredPlacement> measured)
      : whole_(workload), scaled_(workload), tiers_(tiers), measured_(measured),
        sites_(sites_that_moved(workload, measured)), factor_of_(workload.sites.size(), k_none) {
    for (std::size_t at = 0; at < workload.sites.size(); ++at) {
      const auto found = std::ranges::find(sites_, workload.sites[at].site);
      if (found != sites_.end()) factor_of_[at] = static_cast<std::size_t>(found - sites_.begin());
    }
  }
  std::size_t factors() const { return sites_.size() + 1; }
  const std::vector<std::size_t>& sites() const { return sites_; }

  // Logarithms of the times under the placements, and their slopes by the factors.
  struct Times {
    Vector logarithms;
    std::vector<Vector> slopes; // by placement
  };
  Times times(const Vector& factors) {
    scale(factors);
    Times made;
    for (const MeasuredPlacement& one : measured_) {
      const PlacementTimes placed(scaled_, tiers_, one.tier_of_site);
      const double time = placed.times.time() + scaled_.rest;
      Vector slopes(factors.size());
      for (std::size_t at = 0; at < factor_of_.size(); ++at)
        if (factor_of_[at] != k_none)
          slopes[factor_of_[at]] += placed.times.slope(at, tier_of(one, at)) / time;
      slopes.back() = (placed.times.slope_of_work() + scaled_.rest) / time;
      made.logarithms.push_back(std::log(time));
      made.slopes.push_back(std::move(slopes));
    }
    return made;
  }

private:
  static constexpr std::size_t k_none = ~std::size_t{0};

  std::size_t tier_of(const MeasuredPlacement& one, std::size_t at) const {
    return std::min(one.tier_of_site[at], tiers_.size() - 1); // nowhere counts as the slowest
  }
  void scale(const Vector& factors) {
    Learned learned;
    for (std::size_t at = 0; at < sites_.size(); ++at)
      learned.accesses[sites_[at]] = std::exp(factors[at]);
    learned.work = std::exp(factors.back());
    scaled_ = whole_;
    correct(scaled_, learned);
  }

  const Workload& whole_;
  Workload scaled_;
  const std::vector<TierChoice>& tiers_;
  std::span<const MeasuredPlacement> measured_;
  std::vector<std::size_t> sites_;
  std::vector<std::size_t> factor_of_; // by the workload's sites
};

// Solves a x = b by Cholesky's method; a is symmetric and positive definite, by rows.
Vector solved(std::vector<Vector> a, Vector b) {
  const std::size_t n = b.size();
  for (std::size_t i = 0; i < n; ++i)
    for (std::size_t j = 0; j <= i; ++j) {
      double sum = a[i][j];
      for (std::size_t k = 0; k < j; ++k)
        sum -= a[i][k] * a[j][k];
      a[i][j] = i == j ? std::sqrt(sum) : sum / a[j][j];
    }
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t k = 0; k < i; ++k)
      b[i] -= a[i][k] * b[k];
    b[i] /= a[i][i];
  }
  for (std::size_t i = n; i-- > 0;) {
    for (std::size_t k = i + 1; k < n; ++k)
      b[i] -= a[k][i] * b[k];
    b[i] /= a[i][i];
  }
  return b;
}

class Fit {
public:
  Fit(Model model, std::vector<Measured> measured)
      : model_(std::move(model)), measured_(std::move(measured)), factors_(model_.factors()) {
    times_ = model_.times(factors_);
    first_ = times_;
    weigh(0);
    before_ = error();
  }

  // What the model cannot express must not become factors: it counts as noise once it is known.
  void run() {
    for (int fit = 0; fit < k_fits; ++fit) {
      for (int round = 0; round < k_rounds && improve(); ++round) {
      }
      weigh(error());
    }
  }
  double error_before() const { return before_; }
  double error() const {
    double squares = 0;
    for (const double one : differences(times_))
      squares += one * one;
    return std::sqrt(squares / static_cast<double>(measured_.size()));
  }
  double noise() const {
    double variance = 0;
    for (const Measured& one : measured_)
      variance += one.variance;
    return std::sqrt(variance / static_cast<double>(measured_.size()));
  }
  Learned learned() const {
    double grown = 0; // of the times' logarithms, on average
    for (std::size_t i = 0; i < measured_.size(); ++i)
      grown += times_.logarithms[i] - first_.logarithms[i];
    grown /= static_cast<double>(measured_.size());
    Learned learned;
    for (std::size_t at = 0; at < model_.sites().size(); ++at)
      learned.accesses[model_.sites()[at]] = std::exp(factors_[at] - grown);
    learned.work = std::exp(factors_.back() - grown);
    learned.others = std::exp(-grown);
    return learned;
  }

private:
  void weigh(double misfit) {
    weights_.clear();
    for (const Measured& one : measured_)
      weights_.push_back(1 /
                         (one.variance + std::max(k_model_error * k_model_error, misfit * misfit)));
  }
  // Measured less predicted, with the scale that fits best.
  Vector differences(const Model::Times& times) const {
    Vector differences;
    double sum = 0, weights = 0;
    for (std::size_t i = 0; i < measured_.size(); ++i) {
      differences.push_back(measured_[i].logarithm - times.logarithms[i]);
      sum += weights_[i] * differences[i];
      weights += weights_[i];
    }
    for (double& difference : differences)
      difference -= sum / weights;
    return differences;
  }
  double open(std::size_t factor) const {
    return factor + 1 < factors_.size() ? k_open_accesses : k_open_work;
  }
  // The less, the likelier.
  double cost(const Vector& factors, const Model::Times& times) const {
    double cost = 0;
    const Vector left = differences(times);
    for (std::size_t i = 0; i < left.size(); ++i)
      cost += weights_[i] * left[i] * left[i];
    for (std::size_t k = 0; k < factors.size(); ++k)
      cost += factors[k] * factors[k] / (open(k) * open(k));
    return cost;
  }
  Vector newton_step() const {
    const std::size_t n = factors_.size();
    const Vector left = differences(times_);
    Vector mean(n); // slope of the scale
    double weights = 0;
    for (std::size_t i = 0; i < left.size(); ++i) {
      weights += weights_[i];
      for (std::size_t k = 0; k < n; ++k)
        mean[k] += weights_[i] * times_.slopes[i][k];
    }
    std::vector<Vector> a(n, Vector(n));
    Vector b(n);
    const auto slope = [&](std::size_t i, std::size_t k) {
      return times_.slopes[i][k] - mean[k] / weights;
    };
    for (std::size_t k = 0; k < n; ++k) {
      for (std::size_t i = 0; i < left.size(); ++i) {
        b[k] += weights_[i] * slope(i, k) * left[i];
        for (std::size_t l = 0; l < n; ++l)
          a[k][l] += weights_[i] * slope(i, k) * slope(i, l);
      }
      b[k] -= factors_[k] / (open(k) * open(k));
      a[k][k] += 1 / (open(k) * open(k));
    }
    return solved(std::move(a), std::move(b));
  }
  // False: it is as good as it gets.
  bool improve() {
    constexpr double k_least_gain = 1e-4;
    const double most = std::log(k_most_learned);
    const Vector step = newton_step();
    const double before = cost(factors_, times_);
    double part = 1;
    for (int halving = 0; halving < k_halvings; ++halving, part /= 2) {
      Vector next = factors_;
      for (std::size_t k = 0; k < next.size(); ++k)
        next[k] = std::clamp(next[k] + part * step[k], -most, most);
      Model::Times there = model_.times(next);
      const double after = cost(next, there);
      if (!(after < before)) continue;
      factors_ = std::move(next);
      times_ = std::move(there);
      return after < (1 - k_least_gain) * before;
    }
    return false;
  }

  Model model_;
  const std::vector<Measured> measured_;
  Vector factors_, weights_;
  Model::Times times_, first_;
  double before_ = 0;
};

std::vector<Measured> measured_figures(std::span<const MeasuredPlacement> placements) {
  std::vector<Vector> logarithms;
  for (const MeasuredPlacement& one : placements) {
    Vector& of = logarithms.emplace_back();
    for (const double figure : one.figures)
      of.push_back(std::log(figure));
  }
  for (std::size_t placement = 0; placement < logarithms.size(); ++placement) {
    unsigned left_out = 0;
    while (const auto at = held_up_run(logarithms, placement, left_out)) {
      logarithms[placement].erase(logarithms[placement].begin() + static_cast<std::ptrdiff_t>(*at));
      ++left_out;
    }
  }
  const double deviation = noise_of(logarithms).deviation;
  std::vector<Measured> measured;
  for (const Vector& of : logarithms) {
    Measured& one = measured.emplace_back();
    for (const double logarithm : of)
      one.logarithm += logarithm / static_cast<double>(of.size());
    one.variance = deviation * deviation / static_cast<double>(of.size());
  }
  return measured;
}

} // namespace

bool is_usable(const Learned& learned) {
  constexpr double k_most = k_most_learned * k_most_learned;
  const auto is_factor = [](double factor) { return factor >= 1 / k_most && factor <= k_most; };
  return is_factor(learned.others) && is_factor(learned.work) && learned.error_before >= 0 &&
         learned.error_after >= 0 && std::ranges::all_of(learned.accesses, [&](const auto& site) {
           return is_factor(site.second);
         });
}

Learned learn(const Workload& workload, const std::vector<TierChoice>& tiers,
              std::span<const MeasuredPlacement> measured) {
  Learned learned;
  learned.placements = measured.size();
  for (const MeasuredPlacement& one : measured)
    learned.runs += one.figures.size();
  if (measured.size() < 2) return learned;
  Fit fit(Model(workload, tiers, measured), measured_figures(measured));
  learned.error_before = learned.error_after = std::expm1(fit.error_before());
  if (!(fit.error_before() > k_sure * std::max(fit.noise(), k_model_error))) return learned;
  fit.run();
  if (!(fit.error() < k_much_better * fit.error_before())) return learned;
  Learned changed = fit.learned();
  learned.accesses = std::move(changed.accesses);
  learned.others = changed.others;
  learned.work = changed.work;
  learned.error_after = std::expm1(fit.error());
  return learned;
}

void correct(Workload& workload, const Learned& learned) {
  for (SiteDemand& demand : workload.sites) {
    const auto known = learned.accesses.find(demand.site);
    const double factor = known != learned.accesses.end() ? known->second : learned.others;
    demand.demand *= factor;
    for (RegionDemand& in : demand.by_region)
      in.demand *= factor;
    demand.new_pages.always *= factor;
    demand.new_pages.reused *= factor;
  }
  for (double& work : workload.loop_work)
    work *= learned.work;
  workload.rest *= learned.work;
}

} // namespace omptier
