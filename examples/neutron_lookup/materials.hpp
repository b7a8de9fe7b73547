// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The twelve materials of a pressurised-water reactor, and how often a neutron is in each.
//
// The numbers of nuclides and the frequencies follow the published description of the full-core
// benchmark of Hoogenboom and Martin and of the mini-app made from it (Tramm and others, PHYSOR
// 2014). Fuel is hit by one lookup in seven, but has most of the nuclides and so most of the work.
// Nuclides are numbered by their pool (coolant, steel, zirconium, fuel), much as in libraries
// sorted by atomic number.
#pragma once

#include <cstdint>
#include <vector>

namespace neutron {

inline constexpr std::uint32_t k_coolant_nuclides = 4; // hydrogen, two borons, oxygen
inline constexpr std::uint32_t k_steel_nuclides = 27;  // carbon … iron … molybdenum
inline constexpr std::uint32_t k_zirconium_nuclides = 5;
inline constexpr std::uint32_t k_light_nuclides =
    k_coolant_nuclides + k_steel_nuclides + k_zirconium_nuclides;

struct Component {
  std::uint32_t nuclide;
  double density; // multiple of 2^-10, at most 1 (see grids.hpp on exactness)
};

struct Material {
  const char* name;
  std::uint32_t frequency; // lookups in it, per thousand
  std::vector<Component> components;
};

// nuclides: number of nuclides in the problem, at least k_light_nuclides + 1; those above the light
// ones are fuel.
std::vector<Material> make_materials(std::uint32_t nuclides);

// The material of the lookup with random number `bits` (uniform over all 64-bit values).
const Material& pick_material(const std::vector<Material>& materials, std::uint64_t bits);

} // namespace neutron
