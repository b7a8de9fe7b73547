// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Macroscopic cross sections of a material at one neutron energy, and the loop over many. A
// neutron's energy and material are a function of its number, so the checksum depends on neither
// threads nor schedule nor placement.
#pragma once

#include "grids.hpp"
#include "materials.hpp"

#include <cstdint>
#include <vector>

namespace neutron {

// Sum over the material's nuclides of density × cross section, interpolated at `energy` in [0, 1).
CrossSections macroscopic_cross_sections(const Grids& grids, const Material& material,
                                         double energy);

// Lookups 0 … count - 1, scheduled by OMP_SCHEDULE. Returns the checksum.
std::uint64_t run_lookups(const Grids& grids, const std::vector<Material>& materials,
                          std::uint64_t count, std::uint64_t seed);

// The same checksum without reading the arrays: computes every datum again. Slow.
std::uint64_t expected_checksum(const Shape& shape, const std::vector<Material>& materials,
                                std::uint64_t count, std::uint64_t seed);

} // namespace neutron
