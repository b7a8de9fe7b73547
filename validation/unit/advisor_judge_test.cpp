// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The advisor against exact optima, by GLPK's branch and cut: random workloads without loops, so
// that the time is linear, with lifetimes, several tiers and kept sites.
#include "advisor/advice.hpp"
#include "advisor/needs.hpp"

#include <glpk.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <random>
#include <string>

namespace omptier {
namespace {

constexpr std::uint64_t MiB = 1 << 20;

// Least sum of costs with each site whole in one tier; never more in a tier than it holds. The
// last tier holds everything.
class Exact {
public:
  Exact(const Workload& workload, const std::vector<TierChoice>& tiers)
      : workload_(workload), tiers_(tiers), costs_(cost_table(workload, tiers)), needs_(workload),
        problem_(glp_create_prob()) {
    glp_set_obj_dir(problem_, GLP_MIN);
    glp_add_cols(problem_, static_cast<int>(workload.sites.size() * tiers.size()));
    for (std::size_t site = 0; site < workload.sites.size(); ++site)
      add_site(site);
    for (std::size_t tier = 0; tier + 1 < tiers.size(); ++tier)
      for (std::size_t piece = 0; piece < needs_.pieces(); ++piece)
        add_room(tier, piece);
  }
  Exact(const Exact&) = delete;
  Exact& operator=(const Exact&) = delete;
  ~Exact() { glp_delete_prob(problem_); }

  double optimum() {
    glp_term_out(GLP_OFF);
    glp_iocp options;
    glp_init_iocp(&options);
    options.presolve = GLP_ON;
    options.gmi_cuts = options.mir_cuts = options.cov_cuts = GLP_ON;
    options.msg_lev = GLP_MSG_OFF;
    EXPECT_EQ(glp_intopt(problem_, &options), 0);
    EXPECT_EQ(glp_mip_status(problem_), GLP_OPT);
    return glp_mip_obj_val(problem_) * k_scale;
  }

private:
  static constexpr double k_scale = 1e5; // of costs: GLPK's tolerances are meant for small numbers

  int column(std::size_t site, std::size_t tier) const {
    return static_cast<int>(site * tiers_.size() + tier) + 1;
  }
  void add_site(std::size_t site) {
    std::vector<int> columns(1);
    std::vector<double> ones(1 + tiers_.size(), 1);
    for (std::size_t tier = 0; tier < tiers_.size(); ++tier) {
      const int at = column(site, tier);
      columns.push_back(at);
      glp_set_col_kind(problem_, at, GLP_BV);
      glp_set_obj_coef(problem_, at, costs_[site][tier] / k_scale);
      if (workload_.sites[site].kept.value_or(tier) != tier)
        glp_set_col_bnds(problem_, at, GLP_FX, 0, 0);
    }
    const int row = glp_add_rows(problem_, 1);
    glp_set_row_bnds(problem_, row, GLP_FX, 1, 1);
    glp_set_mat_row(problem_, row, static_cast<int>(tiers_.size()), columns.data(), ones.data());
  }
  void add_room(std::size_t tier, std::size_t piece) {
    std::vector<int> columns(1);
    std::vector<double> mebibytes(1);
    for (std::size_t site = 0; site < workload_.sites.size(); ++site)
      for (const Stay& stay : needs_.of(site).stays)
        if (stay.begin <= piece && piece < stay.end) {
          columns.push_back(column(site, tier));
          mebibytes.push_back(static_cast<double>(stay.bytes) / MiB);
        }
    const int row = glp_add_rows(problem_, 1);
    glp_set_row_bnds(problem_, row, GLP_UP, 0, static_cast<double>(tiers_[tier].capacity) / MiB);
    glp_set_mat_row(problem_, row, static_cast<int>(columns.size()) - 1, columns.data(),
                    mebibytes.data());
  }

  const Workload& workload_;
  const std::vector<TierChoice>& tiers_;
  CostTable costs_;
  Needs needs_;
  glp_prob* problem_;
};

class Random {
public:
  explicit Random(unsigned seed) : random_(seed) {}
  std::uint64_t between(std::uint64_t low, std::uint64_t high) {
    return low + random_() % (high - low + 1);
  }

  Workload workload(std::size_t sites) {
    Workload made;
    made.threads = static_cast<unsigned>(between(1, 64));
    for (std::size_t i = 0; i < sites; ++i) {
      SiteDemand& site = made.sites.emplace_back();
      site.site = i;
      site.label = std::to_string(i);
      const std::uint64_t begin = between(0, 19);
      site.live = {{begin, begin + between(1, 10), between(1, 60) * MiB}};
      if (between(0, 3) == 0) site.live = {{0, 30, between(1, 60) * MiB}};
      for (double& accesses : site.demand.accesses)
        accesses = between(0, 1) == 0 ? 0 : static_cast<double>(between(1, 100'000));
    }
    if (between(0, 1) == 0) { // small enough to fit
      made.sites[0].kept = 0;
      made.sites[0].live = {{0, 30, 8 * MiB}};
    }
    return made;
  }
  std::vector<TierChoice> tiers() {
    std::vector<TierChoice> made = {
        {MemoryKind::hbm, between(20, 120) * MiB, {130, 130, 400e9, 400e9}},
        {MemoryKind::dram, between(60, 240) * MiB, {80, 80, 100e9, 100e9}},
        {MemoryKind::cxl, between(60, 240) * MiB, {200, 200, 40e9, 40e9}},
        {MemoryKind::nvm, 65536 * MiB, {300, 900, 30e9, 10e9}}};
    if (between(0, 1) == 0) made.erase(made.begin() + 2);
    return made;
  }

private:
  std::mt19937 random_;
};

struct Distances {
  int rounds = 0, equal = 0;
  double worst = 0, sum = 0;
};

Distances distances(std::size_t sites, int rounds) {
  Distances found;
  for (int round = 0; round < rounds; ++round) {
    Random random(static_cast<unsigned>(1000 * sites) + static_cast<unsigned>(round));
    const Workload workload = random.workload(sites);
    const std::vector<TierChoice> tiers = random.tiers();
    const double optimum = Exact(workload, tiers).optimum();
    const Advice advice = advise(workload, tiers);
    EXPECT_LE(advice.least_time, optimum * (1 + 1e-6)) << sites << " " << round;
    EXPECT_GE(advice.time, optimum * (1 - 1e-6)) << sites << " " << round;
    const double distance = advice.time / optimum - 1;
    ++found.rounds;
    found.equal += distance < 1e-6;
    found.worst = std::max(found.worst, distance);
    found.sum += distance;
  }
  std::printf("%zu sites: %d of %d optimal, worst %.3f %%, mean %.4f %%\n", sites, found.equal,
              found.rounds, 100 * found.worst, 100 * found.sum / found.rounds);
  return found;
}

// Few enough for the exhaustive search.
TEST(Judge, FewSitesAreOptimal) {
  const Distances found = distances(12, 40);
  EXPECT_EQ(found.equal, found.rounds);
}

TEST(Judge, ManySitesAreNearTheOptimum) {
  const Distances found = distances(30, 12);
  EXPECT_LT(found.worst, 0.01);
  EXPECT_LT(found.sum, 0.005 * found.rounds);
}

} // namespace
} // namespace omptier
