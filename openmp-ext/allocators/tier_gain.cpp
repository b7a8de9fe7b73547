// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The formulas of tier_gain.hpp.
#include "allocators/tier_gain.hpp"

#include "base/os.hpp"
#include "platform/usual_figures.hpp"

namespace omptier {
namespace {

constexpr double k_line = 64; // bytes an access brings from memory

// What times are over: the first DRAM, else the first tier.
Figures reference_figures(std::span<const Tier> tiers, const FigureEstimates& estimates) {
  const Tier* reference = tiers.data();
  for (const Tier& tier : tiers)
    if (reference->kind != MemoryKind::dram && tier.kind == MemoryKind::dram) reference = &tier;
  return estimates.estimate(reference->kind, reference->figures);
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
  const Figures reference = reference_figures(tiers, FigureEstimates(tiers));
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
  const FigureEstimates estimates(tiers);
  const Figures reference = reference_figures(tiers, estimates);
  for (std::size_t i = 0; i < tiers.size() && i < times.size(); ++i) {
    const Figures figures = estimates.estimate(tiers[i].kind, tiers[i].figures);
    const double scattered = scattered_cost(figures, reads) / scattered_cost(reference, reads);
    const double streamed = streamed_cost(figures, reads) / streamed_cost(reference, reads);
    times[i] = manner == Manner::scattered  ? scattered
               : manner == Manner::streamed ? streamed
                                            : (scattered + streamed) / 2;
  }
  return times;
}

} // namespace omptier
