// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Holds sampled shares of time against measured ones: sampling_accuracy SOURCE POINTS [KERNEL…]
//
// Rounds of the kernel as it is and with every subset of its arrays cache-resident alternate, so
// that truth and samples see the same disturbances; samples count only in the rounds of the kernel
// as it is. Truth of an array = its marginal time (what making it resident saves), averaged over
// the orders in which the arrays can be made resident: streams overlap, so what one of them saves
// depends on which others are left. Medians over the rounds; shares of the sum. Status 1 when an
// array of any kernel is off by more than POINTS percentage points (10 more for kernels of
// streams), or when less than 90 % of the kernel's samples hit its arrays.

#include "sampling/source.hpp"
#include "sampling_kernels.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <string>
#include <unistd.h>
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

struct Tally final : omptier::SampleSink {
  const sampling_kernels::Kernel* kernel = nullptr;
  bool counting = false;
  std::vector<double> weight;
  double all = 0;
  std::uint64_t samples = 0, dropped = 0, unknown = 0, elsewhere = 0;

  void sample(const omptier::AccessSample& access) override {
    if (!counting) return;
    ++samples;
    all += static_cast<double>(access.weight);
    for (std::size_t i = 0; i < kernel->arrays.size(); ++i) {
      auto begin = reinterpret_cast<std::uintptr_t>(kernel->arrays[i].begin);
      if (access.address < begin || access.address >= begin + kernel->arrays[i].bytes) continue;
      weight[i] += static_cast<double>(access.weight);
      return;
    }
    ++(access.address ? elsewhere : unknown);
    if (std::getenv("SAMPLING_ACCURACY_VERBOSE"))
      std::printf("    miss: pc %#llx address %#llx\n", static_cast<unsigned long long>(access.pc),
                  static_cast<unsigned long long>(access.address));
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

// What each array costs, averaged over all orders of making arrays resident (Shapley's value).
std::vector<double> marginal_times(const std::vector<std::vector<double>>& times,
                                   std::size_t arrays) {
  std::vector<double> factorial(arrays + 1, 1), saved(arrays, 0);
  for (std::size_t i = 1; i <= arrays; ++i)
    factorial[i] = factorial[i - 1] * static_cast<double>(i);
  for (std::size_t i = 0; i < arrays; ++i) {
    for (unsigned others = 0; others < times.size(); ++others) {
      if (others >> i & 1) continue;
      auto before = static_cast<std::size_t>(std::popcount(others));
      double orders = factorial[before] * factorial[arrays - before - 1] / factorial[arrays];
      saved[i] += orders * (median(times[others]) - median(times[others | 1u << i]));
    }
    saved[i] = std::max(0.0, saved[i]);
  }
  return saved;
}

bool judge(const sampling_kernels::Kernel& kernel, omptier::SampleSource& source, double points) {
  Tally tally;
  tally.kernel = &kernel;
  std::size_t arrays = kernel.arrays.size();
  tally.weight.assign(arrays, 0);
  int units = 1;
  while (timed(kernel, 0, units, source, tally) < 0.06)
    units *= 2;
  tally = {};
  tally.kernel = &kernel;
  tally.weight.assign(arrays, 0);
  std::vector<std::vector<double>> times(std::size_t{1} << arrays); // by subset that is resident
  for (int round = 0; round < 15; ++round)
    for (unsigned resident = 0; resident < times.size(); ++resident)
      times[resident].push_back(timed(kernel, resident, units, source, tally));
  std::vector<double> saved = marginal_times(times, arrays);
  double sum = 0, attributed = 0, worst = 0;
  for (std::size_t i = 0; i < arrays; ++i) {
    sum += saved[i];
    attributed += tally.weight[i];
  }
  std::printf("%-11s %5llu samples, %4.1f %% to its arrays, %llu unknown, %llu elsewhere |",
              kernel.name.c_str(), static_cast<unsigned long long>(tally.samples),
              100 * attributed / tally.all, static_cast<unsigned long long>(tally.unknown),
              static_cast<unsigned long long>(tally.elsewhere));
  for (std::size_t i = 0; i < arrays; ++i) {
    double truth = 100 * saved[i] / sum;
    double share = 100 * tally.weight[i] / attributed;
    worst = std::max(worst, std::fabs(truth - share));
    std::printf(" %s: true %.0f %% sampled %.0f %%;", kernel.arrays[i].name.c_str(), truth, share);
  }
  // Streams are known to be blamed badly: as badly as the source admits, and no worse.
  double allowed = kernel.streams ? 100 * source.worst_error() : points;
  bool good = worst <= allowed && attributed >= 0.9 * tally.all && tally.dropped == 0;
  std::printf(" worst %.0f points%s\n", worst, good ? "" : "  <- not good enough");
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
    auto kernel = sampling_kernels::make(name);
    bool right = judge(kernel, *source, points);
    if (!right) { // other work on the machine came between, or the arrays lie unluckily: new ones
      auto other = sampling_kernels::make(name);
      right = judge(other, *source, points);
    }
    good = right && good;
  }
  source->thread_end(gettid());
  return good ? 0 : 1;
}
