// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Holds sampled shares of time against measured ones: sampling_accuracy SOURCE POINTS [KERNEL…]
//
// A round is the kernel as it is and with every subset of its arrays cache-resident, one after the
// other, so that truth and samples see the same disturbances; samples count only while the kernel
// is as it is. Truth of an array = its marginal time (what making it resident saves), averaged over
// the orders in which the arrays can be made resident: streams overlap, so what one of them saves
// depends on which others are left. Shares are taken round by round, for a machine whose speed
// changes in between weighs rounds differently in times and in samples. Rounds are drawn anew (a
// bootstrap) to see how sure the outcome is: a timer brings some 30 samples a round, and as long
// as twice the standard error decides, more rounds follow. Status 1 when an array of any
// kernel is off by more than POINTS percentage points, or when less than 90 % of the kernel's
// samples hit its arrays. Kernels of streams may be off by what the source admits, but their
// accesses must be known by array, loads and stores, to a twentieth; so may a kernel whose
// iterations overlap, but its arrays must come in their true order.

#include "sampling/source.hpp"
#include "sampling_kernels.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <numeric>
#include <random>
#include <string>
#include <unistd.h>
#include <utility>
#include <vector>

namespace {

double cpu_seconds() {
  timespec now;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values.empty() ? 0 : values[values.size() / 2];
}

std::vector<double> shares_of(std::vector<double> values) {
  const double sum = std::accumulate(values.begin(), values.end(), 0.0);
  if (sum > 0)
    for (double& value : values)
      value /= sum;
  return values;
}

struct Tally final : omptier::SampleSink {
  const sampling_kernels::Kernel* kernel;
  bool counting = false;
  std::vector<double> weight;         // by array, of a round
  std::vector<double> loaded, stored; // by array: bytes of the sampled loops' accesses
  double all = 0, attributed = 0;
  std::uint64_t samples = 0, dropped = 0, unknown = 0, elsewhere = 0;

  explicit Tally(const sampling_kernels::Kernel& of)
      : kernel(&of), weight(of.arrays.size(), 0), loaded(weight), stored(weight) {}
  // The array that an address lies in; their number = none.
  std::size_t array_of(std::uint64_t address) const {
    std::size_t i = 0;
    for (; i < kernel->arrays.size(); ++i) {
      const sampling_kernels::Array& array = kernel->arrays[i];
      if (address - reinterpret_cast<std::uintptr_t>(array.begin) < array.bytes) break;
    }
    return i;
  }
  void sample(const omptier::AccessSample& access) override {
    if (!counting) return;
    ++samples;
    all += static_cast<double>(access.weight);
    if (const std::size_t i = array_of(access.address); i < weight.size()) {
      weight[i] += static_cast<double>(access.weight);
      attributed += static_cast<double>(access.weight);
      return;
    }
    ++(access.address ? elsewhere : unknown);
    if (std::getenv("SAMPLING_ACCURACY_VERBOSE"))
      std::printf("    miss: pc %#llx address %#llx\n", static_cast<unsigned long long>(access.pc),
                  static_cast<unsigned long long>(access.address));
  }
  void pattern(const omptier::AccessPattern& pattern) override {
    const std::size_t i = array_of(pattern.address);
    if (!counting || i == weight.size()) return;
    (pattern.kind == omptier::AccessKind::store ? stored : loaded)[i] += double{pattern.bytes};
  }
  void lost(std::uint64_t count) override { dropped += count; }
};

// Time of `units` units of work, the source drained as the helper thread would.
double timed(const sampling_kernels::Kernel& kernel, unsigned resident, int units,
             omptier::SampleSource& source, Tally& tally) {
  kernel.run(resident); // brings the resident piece into the cache, and the samples of before
  tally.counting = false;
  source.drain(tally);
  double begin = cpu_seconds();
  for (int i = 0; i < units; ++i)
    kernel.run(resident);
  double spent = cpu_seconds() - begin;
  tally.counting = resident == 0;
  source.drain(tally);
  tally.counting = false;
  return spent;
}

struct Round {
  std::vector<double> times;  // by subset that is resident
  std::vector<double> weight; // of the samples, by array
};
using Rounds = std::vector<const Round*>;

// The kernel as it is comes between the others more than once: it is what is sampled.
Round one_round(const sampling_kernels::Kernel& kernel, int units, omptier::SampleSource& source,
                Tally& tally) {
  Round round{std::vector<double>(std::size_t{1} << kernel.arrays.size(), 0), {}};
  int whole = 0;
  for (unsigned resident = 1; resident < round.times.size(); ++resident) {
    if (resident & 1) round.times[0] += timed(kernel, 0, units, source, tally), ++whole;
    round.times[resident] = timed(kernel, resident, units, source, tally);
  }
  round.times[0] /= whole;
  round.weight = std::exchange(tally.weight, std::vector<double>(kernel.arrays.size(), 0));
  return round;
}

// Shares of what each array costs in a round, averaged over all orders of making arrays resident
// (Shapley's value).
std::vector<double> true_shares(const Round& round) {
  const std::size_t arrays = round.weight.size();
  std::vector<double> factorial(arrays + 1, 1), saved(arrays, 0);
  for (std::size_t i = 1; i <= arrays; ++i)
    factorial[i] = factorial[i - 1] * static_cast<double>(i);
  for (std::size_t i = 0; i < arrays; ++i) {
    for (unsigned others = 0; others < round.times.size(); ++others) {
      if (others >> i & 1) continue;
      auto before = static_cast<std::size_t>(std::popcount(others));
      double orders = factorial[before] * factorial[arrays - before - 1] / factorial[arrays];
      saved[i] += orders * (round.times[others] - round.times[others | 1u << i]);
    }
    saved[i] = std::max(0.0, saved[i]);
  }
  return shares_of(saved);
}

struct Outcome {
  std::vector<double> truth, sampled; // by array
  double worst = 0;                   // difference
};

// Medians of the truth; samples of rounds that took much longer or shorter than the others would be
// held against a truth that has left those out.
Outcome outcome_of(const Rounds& rounds) {
  constexpr double k_alike = 1.25;
  const std::size_t arrays = rounds.front()->weight.size();
  std::vector<double> usual;
  for (const Round* round : rounds)
    usual.push_back(round->times[0]);
  const double time = median(usual);
  std::vector<std::vector<double>> truths(arrays);
  std::vector<double> sampled(arrays, 0);
  for (const Round* round : rounds) {
    const std::vector<double> truth = true_shares(*round), share = shares_of(round->weight);
    const bool alike = round->times[0] < k_alike * time && k_alike * round->times[0] > time;
    for (std::size_t i = 0; i < arrays; ++i) {
      truths[i].push_back(truth[i]);
      if (alike) sampled[i] += share[i];
    }
  }
  Outcome outcome;
  for (const std::vector<double>& truth : truths)
    outcome.truth.push_back(median(truth));
  outcome.truth = shares_of(outcome.truth);
  outcome.sampled = shares_of(sampled);
  for (std::size_t i = 0; i < arrays; ++i)
    outcome.worst = std::max(outcome.worst, std::fabs(outcome.truth[i] - outcome.sampled[i]));
  return outcome;
}

// Standard error of the worst difference.
double unsure(const Rounds& rounds) {
  constexpr int k_draws = 200;
  std::mt19937 random(1);
  std::uniform_int_distribution<std::size_t> any(0, rounds.size() - 1);
  double sum = 0, squares = 0;
  for (int draw = 0; draw < k_draws; ++draw) {
    Rounds drawn;
    for (std::size_t i = 0; i < rounds.size(); ++i)
      drawn.push_back(rounds[any(random)]);
    const double worst = outcome_of(drawn).worst;
    sum += worst, squares += worst * worst;
  }
  const double mean = sum / k_draws;
  return std::sqrt(std::max(0.0, squares / k_draws - mean * mean));
}

// Of a kernel of streams: the accesses by array, loads and stores, as the source has them.
bool knows_accesses(const sampling_kernels::Kernel& kernel, const Tally& tally) {
  constexpr double k_off = 0.05;
  std::vector<double> expected, found;
  for (std::size_t i = 0; i < kernel.arrays.size(); ++i) {
    const sampling_kernels::Array& array = kernel.arrays[i];
    for (const bool written : {false, true}) {
      expected.push_back(written == array.written ? array.accessed : 0);
      found.push_back((written ? tally.stored : tally.loaded)[i]);
    }
  }
  expected = shares_of(std::move(expected));
  found = shares_of(std::move(found));
  bool good = true;
  std::printf(" accesses (loads, stores)");
  for (std::size_t i = 0; i < found.size(); ++i) {
    std::printf(" %.0f %%", 100 * found[i]);
    good = good && std::fabs(found[i] - expected[i]) <= k_off;
  }
  std::printf(";");
  return good;
}

// No array is sampled above one that truly costs clearly more.
bool keeps_order(const Outcome& outcome) {
  constexpr double k_clearly = 0.05;
  for (std::size_t i = 0; i < outcome.truth.size(); ++i)
    for (std::size_t j = 0; j < outcome.truth.size(); ++j)
      if (outcome.truth[i] > outcome.truth[j] + k_clearly &&
          outcome.sampled[i] <= outcome.sampled[j])
        return false;
  return true;
}

bool judge(const sampling_kernels::Kernel& kernel, omptier::SampleSource& source, double points) {
  constexpr std::size_t k_rounds = 10, k_most_rounds = 60;
  const std::size_t arrays = kernel.arrays.size();
  Tally tally(kernel);
  int units = 1;
  while (timed(kernel, 0, units, source, tally) < 0.06)
    units *= 2;
  tally = Tally(kernel);
  // Known to be blamed badly: as badly as the source admits, and no worse.
  const bool blamed_badly = kernel.streams || kernel.overlaps;
  const double allowed = blamed_badly ? source.worst_error() : points / 100;
  std::vector<Round> rounds;
  rounds.reserve(k_most_rounds);
  Rounds all;
  double standard_error = 0;
  Outcome outcome;
  do {
    for (std::size_t more = 0; more < k_rounds; ++more)
      all.push_back(&rounds.emplace_back(one_round(kernel, units, source, tally)));
    outcome = outcome_of(all);
    standard_error = unsure(all);
  } while (std::fabs(outcome.worst - allowed) < 2 * standard_error &&
           rounds.size() < k_most_rounds);
  const double found = tally.attributed / tally.all;
  std::printf("%-11s %5llu samples, %4.1f %% to its arrays, %llu unknown, %llu elsewhere |",
              kernel.name.c_str(), static_cast<unsigned long long>(tally.samples), 100 * found,
              static_cast<unsigned long long>(tally.unknown),
              static_cast<unsigned long long>(tally.elsewhere));
  for (std::size_t i = 0; i < arrays; ++i)
    std::printf(" %s: true %.0f %% sampled %.0f %%;", kernel.arrays[i].name.c_str(),
                100 * outcome.truth[i], 100 * outcome.sampled[i]);
  const bool known = !kernel.streams || knows_accesses(kernel, tally);
  const bool ordered = !kernel.overlaps || keeps_order(outcome);
  const bool good =
      outcome.worst <= allowed && known && ordered && found >= 0.9 && tally.dropped == 0;
  std::printf(" worst %.1f ± %.1f points%s\n", 100 * outcome.worst, 100 * standard_error,
              good ? "" : "  <- not good enough");
  std::fflush(stdout);
  return good;
}

} // namespace

int main(int count, char** arguments) {
  if (count < 3) {
    std::fprintf(stderr, "usage: sampling_accuracy perf|timer POINTS [KERNEL...]\n");
    return 2;
  }
  std::vector<std::string> wanted(arguments + 3, arguments + count);
  if (wanted.empty()) wanted = sampling_kernels::names();
  double points = std::atof(arguments[2]);
  std::string why;
  auto source = omptier::open_sample_source({arguments[1], 1000}, why);
  std::printf("%s\n", why.c_str());
  if (!source) return 1;
  std::printf("%s\n", source->description().c_str());
  if (source->worst_error() >= 1) return 1;
  source->thread_begin(gettid());
  bool good = true;
  for (const std::string& name : wanted) {
    // Other work on the machine comes between, or the arrays lie unluckily: then new ones.
    bool right = false;
    for (int attempt = 0; attempt < 2 && !right; ++attempt) {
      const sampling_kernels::Kernel kernel = sampling_kernels::make(name);
      right = judge(kernel, *source, points);
      sampling_kernels::give_back(kernel);
    }
    good = right && good;
  }
  source->thread_end(gettid());
  if (!good && wanted.size() == 1 && wanted[0] == "scatter" && __builtin_cpu_is("intel")) {
    std::printf("skipped: on Intel's cores the time of scattered stores falls on the load that feeds "
                "them (docs/known-issues.md)\n");
    return 77;
  }
  return good ? 0 : 1;
}
