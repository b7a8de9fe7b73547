// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Accesses to a memory: how many, in what manner, by how many threads at once. From profiles
// (advisor/evidence.hpp) and from traits (allocators/declared_demand.hpp).
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <numeric>

namespace omptier {

// Manners of access that memories serve at different speed. Streamed = part of a sequential run
// that hardware prefetch follows; scattered = everything else.
enum class Manner : std::uint8_t { scattered_load, streamed_load, scattered_store, streamed_store };
inline constexpr std::size_t k_manners = 4;

// Bytes. No stride prefetcher follows longer strides: such accesses are scattered.
inline constexpr std::int64_t k_prefetched_stride = 2048;

// Scattered loads that a core has on the way at once where none needs another: of 10 to 48
// line-fill buffers, what the instructions around them leave. 4 were measured on AMD EPYC.
inline constexpr double k_gathered_at_once = 5;

inline constexpr double k_line_bytes = 64;
// A memory that moves blocks of several lines moves a whole one for a line whose neighbours are not
// asked for. Part of a stream's lines that count as such, where so many lines of each 256 bytes are:
// so many alone and the rest together move as many bytes. 256: the only such block there is, Optane's.
inline constexpr double k_block_lines = 4;
constexpr double alone_part(double lines_of_block) {
  return (k_block_lines / std::clamp(lines_of_block, 1.0, k_block_lines) - 1) / (k_block_lines - 1);
}

// Accesses that reach memory (not those that a cache serves), by manner.
struct Demand {
  std::array<double, k_manners> accesses{};
  // Scattered loads that a core waits for at once: 1 where each needs the one before.
  double at_once = 1;
  // Part of the streamed loads that are alone in their block. Such stores count as scattered.
  double alone = 0;
  // Part of the streamed stores that each thread deals to many places in turn; and to how many.
  double dealt = 0, places = 1;
  // Part of the scattered loads that are not: others of their block come at about the same time.
  double clustered = 0;
  // Part of the loads whose lines are stored to while they are cached: memory writes them, too.
  double stored_back = 0;

  double& of(Manner manner) { return accesses[static_cast<std::size_t>(manner)]; }
  double of(Manner manner) const { return accesses[static_cast<std::size_t>(manner)]; }
  // The same on a core that has so many gathered loads on the way instead of k_gathered_at_once.
  double at_once_on(double gathers) const {
    const double gathered = std::min(1.0, (1 - 1 / at_once) / (1 - 1 / k_gathered_at_once));
    return 1 / (gathered / gathers + 1 - gathered);
  }
  double loads() const { return of(Manner::scattered_load) + of(Manner::streamed_load); }
  double total() const { return std::accumulate(accesses.begin(), accesses.end(), 0.0); }
  Demand& operator+=(const Demand& other) {
    const double waits =
        of(Manner::scattered_load) / at_once + other.of(Manner::scattered_load) / other.at_once;
    alone = mean(alone, of(Manner::streamed_load), other.alone, other.of(Manner::streamed_load));
    places = mean(places, dealt * of(Manner::streamed_store), other.places,
                  other.dealt * other.of(Manner::streamed_store));
    dealt = mean(dealt, of(Manner::streamed_store), other.dealt, other.of(Manner::streamed_store));
    clustered = mean(clustered, of(Manner::scattered_load), other.clustered,
                     other.of(Manner::scattered_load));
    stored_back = mean(stored_back, loads(), other.stored_back, other.loads());
    for (std::size_t i = 0; i < accesses.size(); ++i)
      accesses[i] += other.accesses[i];
    if (waits > 0) at_once = of(Manner::scattered_load) / waits;
    return *this;
  }
  Demand& operator*=(double factor) {
    for (double& count : accesses)
      count *= factor;
    return *this;
  }

private:
  static double mean(double one, double weight, double other, double others_weight) {
    const double weights = weight + others_weight;
    return weights > 0 ? (one * weight + other * others_weight) / weights : one;
  }
};

struct Threads {
  unsigned scattered, streamed;
  double gathers = k_gathered_at_once; // of each one's core

  Threads(unsigned all = 1) : scattered(all), streamed(all) {}
  unsigned of(Manner manner) const {
    const bool stream = manner == Manner::streamed_load || manner == Manner::streamed_store;
    return stream ? streamed : scattered;
  }
  unsigned most() const { return std::max(scattered, streamed); }
};

} // namespace omptier
