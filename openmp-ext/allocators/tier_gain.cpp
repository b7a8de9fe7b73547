// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The formulas of tier_gain.hpp.
#include "allocators/tier_gain.hpp"

#include "base/os.hpp"

namespace omptier {
namespace {

constexpr double k_line = 64; // bytes an access brings from memory

// Figures over those of DRAM by kind, in the order of MemoryKind (DRAM, HBM, NVM, CXL, unknown):
// KNL and Xeon Max for HBM, Ice Lake with Optane for NVM, x8 expanders for CXL.
struct UsualRatios {
  double read_latency, write_latency, read_bandwidth, write_bandwidth;
};
constexpr UsualRatios k_usual[] = {{1, 1, 1, 1},
                                   {1.2, 1.2, 3.5, 3.5},
                                   {3, 3, 0.25, 0.08},
                                   {2.2, 2.2, 0.25, 0.25},
                                   {2, 2, 0.5, 0.5}};
constexpr Figures k_usual_dram = {100, 100, 100e9, 100e9}; // ns, bytes per second

std::size_t reference_tier(std::span<const Tier> tiers) {
  for (std::size_t i = 0; i < tiers.size(); ++i)
    if (tiers[i].kind == MemoryKind::dram) return i;
  return 0;
}

double known(double figure, double otherwise) {
  return figure > 0 ? figure : otherwise;
}

Figures figures_of(std::span<const Tier> tiers, std::size_t tier) {
  const Tier& reference = tiers[reference_tier(tiers)];
  const UsualRatios& own = k_usual[static_cast<std::size_t>(tiers[tier].kind)];
  const UsualRatios& base = k_usual[static_cast<std::size_t>(reference.kind)];
  const Figures &f = tiers[tier].figures, &r = reference.figures;
  const auto guess = [](double of_reference, double usual, double own_ratio, double base_ratio) {
    return known(of_reference, usual * base_ratio) * own_ratio / base_ratio;
  };
  return {known(f.read_latency, guess(r.read_latency, k_usual_dram.read_latency, own.read_latency,
                                      base.read_latency)),
          known(f.write_latency, guess(r.write_latency, k_usual_dram.write_latency,
                                       own.write_latency, base.write_latency)),
          known(f.read_bandwidth, guess(r.read_bandwidth, k_usual_dram.read_bandwidth,
                                        own.read_bandwidth, base.read_bandwidth)),
          known(f.write_bandwidth, guess(r.write_bandwidth, k_usual_dram.write_bandwidth,
                                         own.write_bandwidth, base.write_bandwidth))};
}

double share_of_reads(const TraitSet& traits) {
  switch (static_cast<OmpValue>(traits.access_mode)) {
  case value::read_only:
    return 1;
  case value::read_mostly:
    return 0.9;
  case value::write_mostly:
    return 0.1;
  case value::write_only:
    return 0;
  default:
    return 0.5;
  }
}

// Nanoseconds of one access.
double scattered_cost(const Figures& f, double reads) {
  return reads * f.read_latency + (1 - reads) * f.write_latency;
}
double streamed_cost(const Figures& f, double reads) {
  return 1e9 * k_line * (1 / f.read_bandwidth + (1 - reads) / f.write_bandwidth);
}

enum class Manner : std::uint8_t { scattered, streamed, both };

Manner manner_of(const TraitSet& traits) {
  switch (static_cast<OmpValue>(traits.sensitivity)) {
  case value::latency:
    return Manner::scattered;
  case value::bandwidth:
    return Manner::streamed;
  case value::both:
    return Manner::both;
  default:
    break;
  }
  switch (static_cast<OmpValue>(traits.access_pattern)) {
  case value::random:
  case value::pointer_chase:
    return Manner::scattered;
  case value::strided:
    return traits.access_stride >= page_size() ? Manner::scattered : Manner::streamed;
  case value::sequential:
  case value::tiled:
    return Manner::streamed;
  default:
    return Manner::both;
  }
}

} // namespace

bool is_cold(const TraitSet& traits) {
  return traits.sensitivity == value::none || traits.importance == 0 ||
         traits.access_frequency == 0;
}

double weight_of(const TraitSet& traits, std::span<const Tier> tiers) {
  if (is_cold(traits)) return 0;
  if (traits.importance != k_default_value)
    return static_cast<double>(static_cast<OmpValue>(traits.importance));
  if (traits.access_frequency == k_default_value || tiers.empty()) return -1;
  const Figures reference = figures_of(tiers, reference_tier(tiers));
  const double reads = share_of_reads(traits);
  const double cost = manner_of(traits) == Manner::streamed ? streamed_cost(reference, reads)
                                                            : scattered_cost(reference, reads);
  return static_cast<double>(static_cast<OmpValue>(traits.access_frequency)) * cost * 1e-9 * 1000;
}

std::array<double, k_most_gain_tiers> relative_times(const TraitSet& traits,
                                                     std::span<const Tier> tiers) {
  std::array<double, k_most_gain_tiers> times{};
  if (tiers.empty()) return times;
  const double reads = share_of_reads(traits);
  const Manner manner = manner_of(traits);
  const Figures reference = figures_of(tiers, reference_tier(tiers));
  for (std::size_t i = 0; i < tiers.size() && i < times.size(); ++i) {
    const Figures figures = figures_of(tiers, i);
    const double scattered = scattered_cost(figures, reads) / scattered_cost(reference, reads);
    const double streamed = streamed_cost(figures, reads) / streamed_cost(reference, reads);
    times[i] = manner == Manner::scattered  ? scattered
               : manner == Manner::streamed ? streamed
                                            : (scattered + streamed) / 2;
  }
  return times;
}

} // namespace omptier
