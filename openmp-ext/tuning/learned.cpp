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
constexpr double k_step = 0.02;         // for derivatives, of a logarithm
constexpr int k_rounds = 12, k_halvings = 6;
constexpr std::size_t k_most_sites = 24; // that are learned of

using Vector = std::vector<double>;

// A placement, its time with any factors, and what was measured.
class Fitted {
public:
  Fitted(const MeasuredPlacement& from, const std::vector<TierChoice>& tiers, const Noise& noise)
      : workload_(from.workload), tier_of_site_(from.tier_of_site), tiers_(tiers),
        work_(workload_.loop_work), rest_(workload_.rest) {
    for (const SiteDemand& site : workload_.sites)
      demands_.push_back(site.demand);
    for (const double figure : from.figures)
      measured_ += std::log(figure) / static_cast<double>(from.figures.size());
    weight_ = 1 / (noise.deviation * noise.deviation / static_cast<double>(from.figures.size()) +
                   k_model_error * k_model_error);
  }
  double measured() const { return measured_; } // logarithm
  double weight() const { return weight_; }

  // Logarithm. factors: of the sites, then of work; logarithms.
  double predicted(const std::vector<std::size_t>& sites, const Vector& factors) {
    for (std::size_t at = 0; at < workload_.sites.size(); ++at) {
      SiteDemand& demand = workload_.sites[at];
      const auto found = std::ranges::find(sites, demand.site);
      if (found == sites.end()) continue;
      demand.demand = demands_[at];
      demand.demand *= std::exp(factors[static_cast<std::size_t>(found - sites.begin())]);
    }
    const double work = std::exp(factors.back());
    for (std::size_t loop = 0; loop < work_.size(); ++loop)
      workload_.loop_work[loop] = work_[loop] * work;
    return std::log(predicted_time(workload_, tiers_, tier_of_site_) + rest_ * work);
  }

private:
  Workload workload_;
  const std::vector<std::size_t>& tier_of_site_;
  const std::vector<TierChoice>& tiers_;
  std::vector<Demand> demands_;
  Vector work_;
  double rest_, measured_ = 0, weight_ = 1;
};

// Where each site lies: bytes by tier.
std::map<std::size_t, Vector> places(const MeasuredPlacement& placement, std::size_t tiers) {
  std::map<std::size_t, Vector> places;
  for (std::size_t at = 0; at < placement.workload.sites.size(); ++at) {
    const SiteDemand& demand = placement.workload.sites[at];
    Vector& bytes = places.try_emplace(demand.site, Vector(tiers + 1)).first->second;
    bytes[std::min(placement.tier_of_site[at], tiers)] += static_cast<double>(demand.peak_bytes());
  }
  return places;
}

// Of largest share first.
std::vector<std::size_t> sites_that_moved(std::span<const MeasuredPlacement> measured,
                                          std::size_t tiers) {
  const auto first = places(measured[0], tiers);
  std::map<std::size_t, double> share;
  for (const SiteDemand& demand : measured[0].workload.sites)
    share[demand.site] += demand.share;
  std::vector<std::size_t> sites;
  for (const MeasuredPlacement& other : measured.subspan(1))
    for (const auto& [site, bytes] : places(other, tiers)) {
      const auto before = first.find(site);
      if (before != first.end() && before->second != bytes) sites.push_back(site);
    }
  std::ranges::sort(sites);
  sites.erase(std::unique(sites.begin(), sites.end()), sites.end());
  std::ranges::stable_sort(sites, std::greater{}, [&](std::size_t site) { return share[site]; });
  if (sites.size() > k_most_sites) sites.resize(k_most_sites);
  return sites;
}

// Measured less predicted, by placement, with the scale that fits best.
Vector differences(std::vector<Fitted>& fitted, const std::vector<std::size_t>& sites,
                   const Vector& factors) {
  Vector differences;
  double sum = 0, weights = 0;
  for (Fitted& one : fitted) {
    differences.push_back(one.measured() - one.predicted(sites, factors));
    sum += one.weight() * differences.back();
    weights += one.weight();
  }
  for (double& difference : differences)
    difference -= sum / weights;
  return differences;
}

double error_of(const Vector& differences) {
  double squares = 0;
  for (const double difference : differences)
    squares += difference * difference;
  return std::sqrt(squares / static_cast<double>(differences.size()));
}

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
  Fit(std::vector<Fitted> fitted, std::vector<std::size_t> sites)
      : fitted_(std::move(fitted)), sites_(std::move(sites)), factors_(sites_.size() + 1),
        differences_(differences(fitted_, sites_, factors_)), before_(error_of(differences_)) {}

  void run() {
    for (int round = 0; round < k_rounds; ++round)
      if (!improve()) return;
  }
  Learned learned() const {
    Learned learned;
    for (std::size_t at = 0; at < sites_.size(); ++at)
      learned.accesses[sites_[at]] = std::exp(factors_[at]);
    learned.work = std::exp(factors_.back());
    learned.error_before = before_;
    learned.error_after = error_of(differences_);
    return learned;
  }

private:
  double open(std::size_t factor) const {
    return factor + 1 < factors_.size() ? k_open_accesses : k_open_work;
  }
  // The less, the likelier.
  double cost(const Vector& factors, const Vector& differences) const {
    double cost = 0;
    for (std::size_t i = 0; i < fitted_.size(); ++i)
      cost += fitted_[i].weight() * differences[i] * differences[i];
    for (std::size_t k = 0; k < factors.size(); ++k)
      cost += factors[k] * factors[k] / (open(k) * open(k));
    return cost;
  }
  // Of the differences, by factor; the scale goes along.
  std::vector<Vector> slopes() {
    std::vector<Vector> slopes;
    for (std::size_t k = 0; k < factors_.size(); ++k) {
      Vector moved = factors_;
      moved[k] += k_step;
      Vector& slope = slopes.emplace_back(differences(fitted_, sites_, moved));
      for (std::size_t i = 0; i < slope.size(); ++i)
        slope[i] = (slope[i] - differences_[i]) / k_step;
    }
    return slopes;
  }
  Vector newton_step() {
    const std::vector<Vector> slope = slopes();
    const std::size_t n = factors_.size();
    std::vector<Vector> a(n, Vector(n));
    Vector b(n);
    for (std::size_t k = 0; k < n; ++k) {
      for (std::size_t i = 0; i < fitted_.size(); ++i) {
        const double weighted = fitted_[i].weight() * slope[k][i];
        b[k] -= weighted * differences_[i];
        for (std::size_t l = 0; l < n; ++l)
          a[k][l] += weighted * slope[l][i];
      }
      b[k] -= factors_[k] / (open(k) * open(k));
      a[k][k] += 1 / (open(k) * open(k));
    }
    return solved(std::move(a), std::move(b));
  }
  // False: it is as good as it gets.
  bool improve() {
    constexpr double k_least_gain = 1e-6;
    const Vector step = newton_step();
    const double before = cost(factors_, differences_);
    double part = 1;
    for (int halving = 0; halving < k_halvings; ++halving, part /= 2) {
      Vector next = factors_;
      for (std::size_t k = 0; k < next.size(); ++k)
        next[k] += part * step[k];
      Vector left = differences(fitted_, sites_, next);
      const double after = cost(next, left);
      if (!(after < before)) continue;
      factors_ = std::move(next);
      differences_ = std::move(left);
      return after < (1 - k_least_gain) * before;
    }
    return false;
  }

  std::vector<Fitted> fitted_;
  std::vector<std::size_t> sites_;
  Vector factors_, differences_;
  double before_;
};

Noise noise_of_runs(std::span<const MeasuredPlacement> measured) {
  std::vector<Vector> runs;
  for (const MeasuredPlacement& one : measured) {
    Vector& logarithms = runs.emplace_back();
    for (const double figure : one.figures)
      logarithms.push_back(std::log(figure));
  }
  return noise_of(runs);
}

} // namespace

Learned learn(std::span<const MeasuredPlacement> measured, const std::vector<TierChoice>& tiers) {
  Learned learned;
  if (measured.size() > 1) {
    const Noise noise = noise_of_runs(measured);
    std::vector<Fitted> fitted;
    for (const MeasuredPlacement& one : measured)
      fitted.emplace_back(one, tiers, noise);
    Fit fit(std::move(fitted), sites_that_moved(measured, tiers.size()));
    fit.run();
    learned = fit.learned();
  }
  learned.placements = measured.size();
  for (const MeasuredPlacement& one : measured)
    learned.runs += one.figures.size();
  return learned;
}

void correct(Workload& workload, const Learned& learned) {
  for (SiteDemand& demand : workload.sites) {
    const auto factor = learned.accesses.find(demand.site);
    if (factor == learned.accesses.end()) continue;
    demand.demand *= factor->second;
    for (RegionDemand& in : demand.by_region)
      in.demand *= factor->second;
  }
  for (double& work : workload.loop_work)
    work *= learned.work;
  workload.rest *= learned.work;
}

} // namespace omptier
