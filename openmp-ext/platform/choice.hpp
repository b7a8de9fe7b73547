// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Which memory "highest bandwidth", "lowest latency", "largest capacity" or "HBM" means for a
// thread on a given processor. The first half are pure functions on a Platform: they allocate, and
// are for start-up, reports and tests. The second half is a table of the same answers for every
// processor, so that an allocation looks its nodes up without malloc, lock or arithmetic.
//
// Figures are those seen from the processor. Where the firmware gives none from there (Linux shows
// a node's figures from its nearest processors only), the node's best view is used, scaled by the
// ratio of the firmware's distances. Figures that the firmware gives from nowhere are estimated by
// kind (usual_figures.hpp): if all are missing, the order is HBM, DRAM, CXL, NVM by bandwidth and
// DRAM, HBM, CXL, NVM by latency. Equal memories are ordered by distance.
#pragma once

#include "platform/platform.hpp"

#include <array>
#include <cstdint>
#include <span>
#include <vector>

namespace omptier {

enum class Preference : std::uint8_t {
  bandwidth, // omp_high_bw_mem_space: mean of read and write; within 10 % the lower latency wins
  latency,   // omp_low_lat_mem_space: lowest read latency
  capacity,  // omp_large_cap_mem_space: largest capacity of a tier, all its nodes together
  read_only, // omp_const_mem_space: highest read bandwidth; within 10 % the lower read latency wins
};
inline constexpr std::size_t k_preferences = 4;
inline constexpr double k_bandwidth_tie = 0.10; // share of the better bandwidth

// Figures of a node as seen from a processor, estimated as above where the firmware gives none.
Figures estimated_view(const Platform& platform, unsigned node_number, unsigned cpu);

// Best first, as indices into Platform::tiers.
std::vector<std::size_t> tiers_by(const Platform& platform, Preference preference, unsigned cpu);

// A processor that the node is nearest to.
unsigned processor_near(const Node& node);

// Nearest to the processor first: by latency, distance, number.
std::vector<unsigned> nodes_of(const Platform& platform, const Tier& tier, unsigned cpu);

// Nearest first; empty only when there are no nodes.
std::vector<unsigned> best_nodes_for(const Platform& platform, Preference preference, unsigned cpu);

// Best bandwidth class first, then nearest; may be empty.
std::vector<unsigned> best_nodes_for(const Platform& platform, MemoryKind kind, unsigned cpu);

// The answers above for every processor, computed once. Look-ups are thread-safe, without malloc or
// lock; processor numbers beyond the table count as 0. Spans point into the table.
class ChoiceTable {
public:
  explicit ChoiceTable(const Platform& platform);

  std::span<const std::size_t> tiers(Preference preference, unsigned cpu) const {
    return at(cpu).tiers[static_cast<std::size_t>(preference)];
  }
  std::span<const unsigned> nodes(Preference preference, unsigned cpu) const {
    return at(cpu).by_preference[static_cast<std::size_t>(preference)];
  }
  std::span<const unsigned> nodes(MemoryKind kind, unsigned cpu) const {
    const auto k = static_cast<std::size_t>(kind);
    return k < k_memory_kinds ? std::span<const unsigned>(at(cpu).by_kind[k])
                              : std::span<const unsigned>();
  }
  std::span<const unsigned> nodes_of_tier(std::size_t tier, unsigned cpu) const {
    return at(cpu).by_tier[tier];
  }

  // Places: groups of processors that see all memory alike; at least one.
  std::size_t places() const { return places_.size(); }
  std::uint32_t place_of(unsigned cpu) const { return cpu < of_cpu_.size() ? of_cpu_[cpu] : 0; }

private:
  struct Place { // processors from which everything looks alike
    std::array<std::vector<std::size_t>, k_preferences> tiers;
    std::array<std::vector<unsigned>, k_preferences> by_preference;
    std::array<std::vector<unsigned>, k_memory_kinds> by_kind;
    std::vector<std::vector<unsigned>> by_tier;
  };
  const Place& at(unsigned cpu) const { return places_[place_of(cpu)]; }

  std::vector<Place> places_; // never empty
  std::vector<std::uint32_t> of_cpu_;
};

} // namespace omptier
