// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The budget of emulation beside the program, with a made-up clock.
#include "sampling/emulation_budget.hpp"

#include <gtest/gtest.h>

namespace omptier {
namespace {

constexpr std::uint64_t k_second = 1'000'000'000, k_drain = k_second / 20;
constexpr double k_allowed = EmulationBudget::k_part * double{k_second}; // a second

struct Outcome {
  double offered = 0, weight = 0;
  std::uint64_t emulated = 0;
  double spent = 0; // nanoseconds
};

class Recording {
public:
  // Samples a second, each of whose emulations costs so many nanoseconds.
  Outcome go_on(double seconds, unsigned rate, std::uint64_t cost) {
    Outcome run;
    for (const std::uint64_t end = now_ + static_cast<std::uint64_t>(seconds * 1e9); now_ < end;) {
      for (unsigned i = 0; i < rate / 20; ++i) {
        run.offered += 1;
        const std::uint64_t stands_for = budget_.weight_of_next();
        if (stands_for == 0) continue;
        run.weight += double(stands_for);
        run.spent += double(cost);
        ++run.emulated;
        budget_.spend(cost, 1);
      }
      budget_.update(now_ += k_drain);
    }
    return run;
  }
  const EmulationBudget& budget() const { return budget_; }

private:
  std::uint64_t now_ = 7 * k_second;
  EmulationBudget budget_{now_};
};

TEST(EmulationBudget, CheapLoopsAreAllEmulated) {
  const Outcome run = Recording().go_on(10, 200, 8'000);
  EXPECT_EQ(run.emulated, 2000u);
  EXPECT_EQ(run.weight, 2000);
}

TEST(EmulationBudget, KeepsItsPartOfAProcessorAndTheWeights) {
  for (const std::uint64_t cost : {50'000, 350'000, 3'000'000}) {
    Recording recording;
    const Outcome run = recording.go_on(60, 400, cost);
    EXPECT_LT(run.spent, 10e6 + 60 * k_allowed + 20.0 * double(cost)) << cost;
    EXPECT_GT(run.spent, 60 * k_allowed * 0.8) << cost; // and it is used
    EXPECT_NEAR(run.weight / run.offered, 1, 0.25) << cost;
  }
}

TEST(EmulationBudget, AShortRunMayUseWhatIsFreeAtFirst) {
  const Outcome run = Recording().go_on(2, 200, 350'000);
  EXPECT_GT(run.emulated, 30u);
  EXPECT_LT(run.spent, 20e6);
}

TEST(EmulationBudget, EmulatesAllAgainWhenLoopsHaveBecomeCheap) {
  Recording recording;
  EXPECT_LT(recording.go_on(30, 400, 1'000'000).weight, 2 * 30 * 400.0);
  EXPECT_GT(recording.budget().kept_of(), 100u);
  recording.go_on(60, 20, 10'000);
  EXPECT_LE(recording.budget().kept_of(), 2u);
}

} // namespace
} // namespace omptier
