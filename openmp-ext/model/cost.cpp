// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// See cost.hpp.
#include "model/cost.hpp"

#include "model/first_touch.hpp"
#include "platform/usual_figures.hpp"

#include <algorithm>
#include <cmath>

namespace omptier {
namespace {

// Time of moving pages over that of copying (and clearing) them.
constexpr double k_move_over_copy = 4, k_huge_move_over_copy = 1.6;

// Optane modules keep 16 KiB of blocks each (Yang et al., "An Empirical Guide to the Behavior and
// Use of Scalable Persistent Memory", FAST 2020), four modules 256. Lines leave the CPU's caches in
// another order than they are stored in, as if half were kept: a hash join in the virtual machine.
constexpr double k_kept_blocks = 128;

// At the thread's share of the bandwidth; 0 when the bandwidth is unknown.
double line_time(double bandwidth, unsigned threads) {
  return bandwidth > 0 ? k_line_bytes * threads / bandwidth * 1e9 : 0;
}

// What writing a line back adds to having read it. Where reads and writes disturb each other
// (mixed_bandwidth), both together take longer than their sum.
double write_back_time(const Figures& figures, unsigned threads) {
  const double both = 2 * line_time(figures.mixed_bandwidth, threads);
  return std::max(line_time(figures.write_bandwidth, threads),
                  both - line_time(figures.read_bandwidth, threads));
}

// Until so many other blocks have come, in m lines each, a stream's next lines come at random: m is
// one and the mean of a Poisson variable of mean m · k_kept_blocks / places, of which three count
// at most.
double alone_when_dealt(double places) {
  constexpr int k_rounds = 20; // of m, from its largest
  double together = k_block_lines;
  for (int round = 0; round < k_rounds; ++round) {
    const double mean = together * k_kept_blocks / places, none = std::exp(-mean);
    together = 1 + 3 - none * (3 + 2 * mean + mean * mean / 2);
  }
  return alone_part(together);
}

} // namespace

AccessPrice access_price(Manner manner, const Figures& figures, unsigned threads) {
  const double read = line_time(figures.read_bandwidth, threads);
  const double write = write_back_time(figures, threads);
  const double lines = figures.block / k_line_bytes; // moved for one
  switch (manner) {
  case Manner::scattered_load:
    return {figures.read_latency, lines * read};
  case Manner::streamed_load:
    return {figures.read_latency / k_prefetch_lines, read};
  case Manner::scattered_store:
    return {figures.write_latency / k_store_lines, lines * (read + write)};
  case Manner::streamed_store:
    return {figures.write_latency / k_store_lines, read + write};
  }
  return {};
}

AccessPrice price_of(const Demand& demand, Manner manner, const Figures& figures, Threads threads) {
  AccessPrice price = access_price(manner, figures, threads.of(manner));
  const double lines = figures.block / k_line_bytes; // moved for one alone
  double moved = 1;
  if (manner == Manner::scattered_load) {
    price.wait /= demand.at_once_on(threads.gathers);
    moved = 1 + (1 - demand.clustered) * (lines - 1);
    price.transfer *= moved / lines;
  } else if (manner == Manner::streamed_load) {
    moved = 1 + demand.alone * (lines - 1);
    price.transfer *= moved;
  } else {
    if (manner == Manner::streamed_store && demand.dealt > 0 && lines > 1)
      price.transfer *=
          1 + demand.dealt * alone_when_dealt(demand.places * threads.of(manner)) * (lines - 1);
    return price;
  }
  price.transfer += demand.stored_back * moved * write_back_time(figures, threads.of(manner));
  return price;
}

double access_time(Manner manner, const Figures& figures, unsigned threads) {
  const AccessPrice price = access_price(manner, figures, threads);
  return std::max(price.wait, price.transfer);
}

double demand_time(const Demand& demand, const Figures& figures, Threads threads) {
  double time = 0;
  for (std::size_t i = 0; i < k_manners; ++i) {
    const auto manner = static_cast<Manner>(i);
    const AccessPrice price = price_of(demand, manner, figures, threads);
    time += demand.accesses[i] * std::max(price.wait, price.transfer);
  }
  return time;
}

unsigned threads_that_saturate(const Figures& figures) {
  const auto lines = [](double latency, double line) { return line > 0 ? latency / line : 1; };
  const double read = line_time(figures.read_bandwidth, 1);
  const double store = read + write_back_time(figures, 1);
  const double threads = std::max(lines(figures.read_latency / k_prefetch_lines, read),
                                  lines(figures.write_latency / k_store_lines, store));
  return static_cast<unsigned>(std::clamp(std::ceil(threads), 1.0, 1e6));
}

Figures reference_figures(std::span<const Tier> tiers) {
  if (tiers.empty()) return {};
  const Tier& reference = tiers[reference_tier(tiers)];
  return FigureEstimates(tiers).estimate(reference.kind, reference.figures);
}

double move_time(std::uint64_t bytes, const Figures& from, const Figures& to) {
  Figures written = to;
  written.mixed_bandwidth = 0; // the copy reads elsewhere
  const double load = access_time(Manner::streamed_load, from, 1);
  const double store = access_time(Manner::streamed_store, written, 1);
  const double line = bytes < k_huge_page_bytes ? k_move_over_copy * (load + store)
                                                : k_huge_move_over_copy * (load + 2 * store);
  return line * static_cast<double>(bytes) / k_line_bytes;
}

} // namespace omptier
