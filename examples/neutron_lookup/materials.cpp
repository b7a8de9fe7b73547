// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// See materials.hpp. Each material is one or two ranges of consecutive nuclides.

#include "materials.hpp"

#include "random.hpp"

#include <cassert>

namespace neutron {
namespace {

struct Range {
  std::uint32_t first, count;
};

constexpr Range k_coolant{0, k_coolant_nuclides};
constexpr Range k_steel{k_coolant_nuclides, k_steel_nuclides};
constexpr Range k_stainless{k_coolant_nuclides, 17};
constexpr Range k_zirconium{k_coolant_nuclides + k_steel_nuclides, k_zirconium_nuclides};
constexpr Range k_oxygen{k_coolant_nuclides - 1, 1};
constexpr std::uint64_t k_density_stream = 0xd0;

Material material(const char* name, std::uint32_t frequency, std::vector<Range> ranges) {
  Material result{name, frequency, {}};
  for (const Range& range : ranges)
    for (std::uint32_t n = range.first; n < range.first + range.count; ++n) {
      // The frequency identifies the material: all are different.
      const std::uint64_t bits = random_bits(k_density_stream + frequency, n);
      result.components.push_back({n, static_cast<double>((bits >> 54) + 1) * 0x1p-10});
    }
  return result;
}

} // namespace

std::vector<Material> make_materials(std::uint32_t nuclides) {
  assert(nuclides > k_light_nuclides);
  const Range heavy{k_light_nuclides, nuclides - k_light_nuclides};
  return {
      material("fuel", 140, {k_oxygen, heavy}),
      material("cladding", 52, {k_zirconium}),
      material("cold_water", 275, {k_coolant}),
      material("hot_water", 134, {k_coolant}),
      material("pressure_vessel", 153, {k_steel}),
      material("radial_reflector", 64, {k_coolant, k_stainless}),
      material("upper_reflector", 66, {k_coolant, k_stainless}),
      material("bottom_plate", 55, {k_coolant, k_stainless}),
      material("bottom_nozzle", 8, {k_coolant, k_stainless}),
      material("top_nozzle", 15, {k_coolant, k_stainless}),
      material("top_of_assembly", 25, {k_coolant, k_zirconium}),
      material("bottom_of_assembly", 13, {k_coolant, k_zirconium}),
  };
}

const Material& pick_material(const std::vector<Material>& materials, std::uint64_t bits) {
  auto draw = static_cast<std::uint32_t>(((bits >> 32) * 1000) >> 32);
  for (const Material& candidate : materials) {
    if (draw < candidate.frequency) return candidate;
    draw -= candidate.frequency;
  }
  assert(!"frequencies add up to less than 1000");
  return materials.front();
}

} // namespace neutron
