// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The lookup itself: macroscopic cross sections of a material at one neutron energy, and the loop
// that does many. A neutron's energy and material are a function of its number, so the checksum
// depends on neither threads nor schedule nor on where the arrays lie.
#pragma once

#include "grids.hpp"
#include "materials.hpp"

#include <cstdint>
#include <vector>

namespace neutron {

// Sum over the material's nuclides of density × cross section, interpolated at `energy` in [0, 1).
CrossSections macroscopic_cross_sections(const Grids& grids, const Material& material,
                                         double energy);

// Lookups 0 … count - 1; schedule as OMP_SCHEDULE says. Returns the checksum.
std::uint64_t run_lookups(const Grids& grids, const std::vector<Material>& materials,
                          std::uint64_t count, std::uint64_t seed);

// The same checksum without reading any of the arrays: every datum is computed anew. Slow.
std::uint64_t expected_checksum(const Shape& shape, const std::vector<Material>& materials,
                                std::uint64_t count, std::uint64_t seed);

} // namespace neutron
