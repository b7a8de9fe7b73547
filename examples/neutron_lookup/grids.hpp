// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The three arrays of the lookup, and how they are filled.
//
//   nuclide    nuclides × gridpoints            cross sections tabulated at each nuclide's energies
//   unionized  nuclides × gridpoints            all those energies, sorted
//   index      (nuclides × gridpoints) × nuclides
//              per unionized energy and nuclide, the grid point at or below; by far the largest
//
// One binary search in the unionized grid replaces one per nuclide. Energies are scaled to [0, 1]
// (like lethargy); every nuclide's grid starts at 0 and ends at 1, so no lookup is outside.
//
// Exactness: cross sections are multiples of 2^-5 below 2^9, interpolation weights multiples of
// 2^-16, densities multiples of 2^-10. Every product and sum of a lookup then fits the 53 bits of a
// double for up to 2^12 nuclides: nothing is rounded, and the checksum does not depend on the order
// in which a compiler adds, nor on fused multiplications. The data is a function of (nuclide,
// point) alone.
#pragma once

#include "random.hpp"

#include <array>
#include <cstddef>
#include <cstdint>

namespace neutron {

inline constexpr int k_channels = 5;
inline constexpr std::uint32_t k_max_nuclides = 4096;
enum Channel { total, elastic, absorption, fission, nu_fission };
using CrossSections = std::array<double, k_channels>;

struct GridPoint {
  double energy;
  CrossSections xs;
};
static_assert(sizeof(GridPoint) == 48);

struct Shape {
  std::uint32_t nuclides = 0;   // k_light_nuclides + 1 … k_max_nuclides
  std::uint32_t gridpoints = 0; // per nuclide, at least 2

  std::size_t points() const { return static_cast<std::size_t>(nuclides) * gridpoints; }
  std::size_t nuclide_bytes() const { return points() * sizeof(GridPoint); }
  std::size_t unionized_bytes() const { return points() * sizeof(double); }
  std::size_t index_bytes() const { return points() * nuclides * sizeof(std::uint32_t); }
  std::size_t total_bytes() const { return nuclide_bytes() + unionized_bytes() + index_bytes(); }
};

struct Grids {
  Shape shape;
  std::uint32_t* index = nullptr; // row i at index + i * nuclides
  double* unionized = nullptr;    // ascending
  GridPoint* nuclide = nullptr;   // nuclide n at nuclide + n * gridpoints, energies ascending
};

// Point k of nuclide n in the nuclide grid.
GridPoint make_grid_point(const Shape& shape, std::uint32_t n, std::uint32_t k, std::uint64_t seed);

// Fills all three arrays in parallel; the thread that fills a page touches it first.
void fill_grids(const Grids& grids, std::uint64_t seed);

// Whether the arrays agree with the description above (checks a sample of the index grid's rows).
bool check_grids(const Grids& grids);

} // namespace neutron
