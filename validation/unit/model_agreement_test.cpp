// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// ompx_commit and omptier advise on the same machine: arrays whose use is declared by traits, and
// the same use as the advisor knows it, accesses by manner, are placed alike. The accesses are
// worked out here from what the traits mean (include/ompx_memory.h), not by the code under test.
#include "advisor/advice.hpp"
#include "allocators/decide_together.hpp"
#include "allocators/declared_demand.hpp"
#include "base/os.hpp"
#include "platform/usual_figures.hpp"

#include <gtest/gtest.h>

#include <iterator>
#include <random>

namespace omptier {
namespace {

// One use as both sides say it.
struct Use {
  OmpValue sensitivity, mode;
  double streamed, loads; // parts: of the time, of the accesses
};
constexpr OmpValue k_read_write = 5142; // as if nothing were said
constexpr Use k_uses[] = {{value::latency, value::read_only, 0, 1},
                          {value::latency, value::read_mostly, 0, 0.9},
                          {value::latency, k_read_write, 0, 0.5},
                          {value::latency, value::write_mostly, 0, 0.1},
                          {value::latency, value::write_only, 0, 0},
                          {value::bandwidth, value::read_only, 1, 1},
                          {value::bandwidth, value::read_mostly, 1, 0.9},
                          {value::bandwidth, k_read_write, 1, 0.5},
                          {value::bandwidth, value::write_only, 1, 0},
                          {value::both, value::read_only, 0.5, 1},
                          {value::both, k_read_write, 0.5, 0.5},
                          {value::both, value::write_only, 0.5, 0}};

Tier tier(MemoryKind kind, double read_ns, double write_ns, double read_gb, double write_gb) {
  Tier made;
  made.kind = kind;
  made.figures = {read_ns, write_ns, read_gb * 1e9, write_gb * 1e9};
  return made;
}

// Fastest first, as platforms list them; capacities are each workload's own.
std::vector<std::vector<Tier>> machines() {
  const Tier dram = tier(MemoryKind::dram, 80, 80, 105, 105);
  return {{tier(MemoryKind::hbm, 130, 130, 400, 400), dram,
           tier(MemoryKind::nvm, 300, 900, 31.5, 10.5)},
          {tier(MemoryKind::hbm, 140, 140, 700, 500), tier(MemoryKind::dram, 110, 110, 250, 220)},
          {dram, tier(MemoryKind::nvm, 305, 94, 39, 14)},
          {dram, tier(MemoryKind::cxl, 250, 250, 45, 40)}};
}

struct Workloads {
  std::mt19937 random;
  std::uint64_t below(std::uint64_t n) { return random() % n; }

  struct Array {
    std::uint64_t bytes;
    Use use;
    unsigned importance; // per mille; of all together 1000
  };
  std::vector<Array> arrays;
  std::vector<Tier> tiers;

  void next() {
    static const auto all = machines();
    tiers = all[below(all.size())];
    arrays.resize(1 + below(30));
    std::vector<unsigned> shares{0, 1000};
    while (shares.size() <= arrays.size())
      shares.push_back(static_cast<unsigned>(below(1001)));
    std::ranges::sort(shares);
    std::uint64_t bytes = 0;
    for (std::size_t i = 0; i < arrays.size(); ++i) {
      arrays[i] = {(1 + below(100'000)) * page_size(), k_uses[below(std::size(k_uses))],
                   shares[i + 1] - shares[i]};
      bytes += arrays[i].bytes;
    }
    for (Tier& at : tiers)
      at.capacity = below(bytes); // together often less than all need
  }
};

// As ompx_commit decides.
std::vector<std::size_t> committed(const Workloads& given) {
  std::vector<TraitSet> traits(given.arrays.size());
  std::vector<Wish> wishes(given.arrays.size());
  for (std::size_t i = 0; i < wishes.size(); ++i) {
    traits[i].sensitivity = given.arrays[i].use.sensitivity;
    traits[i].access_mode = given.arrays[i].use.mode;
    traits[i].importance = given.arrays[i].importance;
    wishes[i].bytes = given.arrays[i].bytes;
    wishes[i].traits = &traits[i];
    wishes[i].allowed = (1u << given.tiers.size()) - 1;
  }
  TierRoom room{};
  for (std::size_t at = 0; at < given.tiers.size(); ++at)
    room[at] = given.tiers[at].capacity;
  EXPECT_TRUE(decide_together(given.tiers, wishes, room, DecisionOrder::density));
  std::vector<std::size_t> placed;
  for (const Wish& wish : wishes)
    placed.push_back(wish.decided == k_nowhere ? Placement::k_nowhere : wish.decided);
  return placed;
}

// Accesses that take so many nanoseconds on the memory they were made in.
Demand accesses(const Use& use, double time, const Figures& memory, Threads threads) {
  Demand made;
  const auto add = [&](Manner load, Manner store, unsigned n, double part) {
    const double one = use.loads * access_time(load, memory, n) +
                       (1 - use.loads) * access_time(store, memory, n);
    made.of(load) += use.loads * part * time / one;
    made.of(store) += (1 - use.loads) * part * time / one;
  };
  add(Manner::streamed_load, Manner::streamed_store, threads.streamed, use.streamed);
  add(Manner::scattered_load, Manner::scattered_store, threads.scattered, 1 - use.streamed);
  return made;
}

// As omptier advise does for a program that ran in DRAM.
Advice advised(const Workloads& given) {
  Platform platform;
  platform.tiers = given.tiers;
  Workload workload;
  workload.threads = DeclaredPrices(given.tiers).threads();
  for (const auto& array : given.arrays) {
    SiteDemand& site = workload.sites.emplace_back();
    site.live = {{0, 100, array.bytes}};
    site.demand = accesses(array.use, array.importance * 1e6, reference_figures(given.tiers),
                           workload.threads);
  }
  std::vector<TierChoice> choices;
  for (const Tier& at : given.tiers)
    choices.push_back(
        {at.kind, at.capacity, FigureEstimates(given.tiers).estimate(at.kind, at.figures)});
  return advise(std::move(workload), std::move(choices));
}

double time_of(const Advice& advice, const std::vector<std::size_t>& placed) {
  double time = 0;
  for (std::size_t i = 0; i < placed.size(); ++i) {
    const auto& row = advice.costs[i];
    time += placed[i] == Placement::k_nowhere ? *std::ranges::max_element(row) : row[placed[i]];
  }
  return time;
}

void expect_agreement(unsigned seed, int rounds) {
  Workloads given{std::mt19937(seed), {}, {}};
  for (int round = 0; round < rounds; ++round) {
    given.next();
    const std::vector<std::size_t> runtime = committed(given);
    const Advice advice = advised(given);
    if (runtime == advice.placement.tier_of_site) continue;
    // Two placements of one value are no contradiction. The search lets go of 1e-9 of what is at
    // stake, which may be several times the time of the best placement.
    const double ours = time_of(advice, runtime);
    ASSERT_NEAR(ours, time_of(advice, advice.placement.tier_of_site), 1e-8 * ours)
        << "seed " << seed << ", workload " << round << " of " << given.arrays.size() << " arrays";
  }
}

TEST(Agreement, CommitPlacesAsAdviseDoes) {
  expect_agreement(20260101, 400);
  std::random_device any;
  for (int i = 0; i < 4; ++i)
    expect_agreement(any(), 50);
}

// Both say for an array how much longer it takes there than in DRAM, and how long so many accesses
// a second take, which the threads share.
TEST(Agreement, PricesAreTheSame) {
  for (const auto& tiers : machines()) {
    const DeclaredPrices prices(tiers);
    const Threads threads = prices.threads();
    for (const Use& use : k_uses) {
      TraitSet traits;
      traits.sensitivity = use.sensitivity;
      traits.access_mode = use.mode;
      const auto times = prices.relative_times(traits);
      const Figures dram = reference_figures(tiers);
      const Demand demand = accesses(use, 1, dram, threads);
      for (std::size_t at = 0; at < tiers.size(); ++at)
        EXPECT_NEAR(times[at],
                    demand_time(demand,
                                FigureEstimates(tiers).estimate(tiers[at].kind, tiers[at].figures),
                                threads),
                    1e-9);
      traits.access_frequency = 1'000'000;
      const double of_one =
          (use.streamed / threads.streamed + (1 - use.streamed) / threads.scattered) /
          demand.total();
      EXPECT_NEAR(prices.weight_of(traits), 1e6 * of_one * 1e-9 * 1000, 1e-9);
    }
  }
}

} // namespace
} // namespace omptier
