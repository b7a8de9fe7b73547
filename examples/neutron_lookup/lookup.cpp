// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// See lookup.hpp. Memory accesses of a lookup: the binary search reads log2(points) energies, the
// first of which are always the same and so cached. The material's range of the index row is read
// as a stream. Then two neighbouring points per nuclide, anywhere in its grid, are read from memory
// at unpredictable places, which takes most of the time.

#include "lookup.hpp"

#include <bit>

namespace neutron {
namespace {

constexpr std::uint64_t k_energy_stream = 0xe0;
constexpr std::uint64_t k_material_stream = 0xa0;

struct Neutron {
  const Material* material;
  double energy;
};

Neutron make_neutron(const std::vector<Material>& materials, std::uint64_t number,
                     std::uint64_t seed) {
  return {&pick_material(materials, random_bits(seed ^ k_material_stream, number)),
          unit_interval(random_bits(seed ^ k_energy_stream, number))};
}

// Row of the last unionized energy that is at most `energy`; unionized[0] == 0 <= energy.
std::size_t find_row(const double* unionized, std::size_t points, double energy) {
  std::size_t row = 0;
  for (std::size_t length = points; length > 1;) {
    const std::size_t half = length / 2;
    if (unionized[row + half] <= energy) row += half;
    length -= half;
  }
  return row;
}

// Weight of the lower point, rounded down to a multiple of 2^-16, so that the rest is exact.
double weight_of_lower(double lower, double upper, double energy) {
  const auto steps = static_cast<std::int32_t>((upper - energy) / (upper - lower) * 0x1p16);
  return steps * 0x1p-16;
}

void add_interpolated(CrossSections& sum, const GridPoint& lower, const GridPoint& upper,
                      double energy, double density) {
  const double weight = weight_of_lower(lower.energy, upper.energy, energy);
  for (int c = 0; c < k_channels; ++c)
    sum[c] += density * (upper.xs[c] - weight * (upper.xs[c] - lower.xs[c]));
}

// Checksum of one lookup. Those of all lookups are added modulo 2^64, in any order.
std::uint64_t checksum_of(const CrossSections& sums, std::uint64_t number) {
  std::uint64_t hash = number;
  for (double sum : sums)
    hash = mix(hash + std::bit_cast<std::uint64_t>(sum));
  return hash;
}

// As macroscopic_cross_sections, but from the definitions: the cell of `energy` in each nuclide's
// grid is known up to one point, because each cell of width 1 / gridpoints has one point.
CrossSections computed_cross_sections(const Shape& shape, const Material& material, double energy,
                                      std::uint64_t seed) {
  CrossSections sums{};
  for (const Component& component : material.components) {
    auto k = static_cast<std::uint32_t>(energy * shape.gridpoints);
    if (k + 1 >= shape.gridpoints) k = shape.gridpoints - 2;
    while (k > 0 && make_grid_point(shape, component.nuclide, k, seed).energy > energy)
      --k;
    while (k + 2 < shape.gridpoints &&
           make_grid_point(shape, component.nuclide, k + 1, seed).energy <= energy)
      ++k;
    add_interpolated(sums, make_grid_point(shape, component.nuclide, k, seed),
                     make_grid_point(shape, component.nuclide, k + 1, seed), energy,
                     component.density);
  }
  return sums;
}

} // namespace

CrossSections macroscopic_cross_sections(const Grids& grids, const Material& material,
                                         double energy) {
  const std::size_t nuclides = grids.shape.nuclides;
  const std::size_t gridpoints = grids.shape.gridpoints;
  const std::uint32_t* row =
      grids.index + find_row(grids.unionized, grids.shape.points(), energy) * nuclides;

  // First all places, then the points: the row is read in one go, not between random reads.
  std::array<std::uint32_t, k_max_nuclides> point;
  const std::size_t count = material.components.size();
  for (std::size_t i = 0; i < count; ++i)
    point[i] = row[material.components[i].nuclide];

  CrossSections sums{};
  for (std::size_t i = 0; i < count; ++i) {
    const Component& component = material.components[i];
    const GridPoint* lower = grids.nuclide + component.nuclide * gridpoints + point[i];
    add_interpolated(sums, lower[0], lower[1], energy, component.density);
  }
  return sums;
}

std::uint64_t run_lookups(const Grids& grids, const std::vector<Material>& materials,
                          std::uint64_t count, std::uint64_t seed) {
  std::uint64_t checksum = 0;
#pragma omp parallel for schedule(runtime) reduction(+ : checksum)
  for (std::uint64_t number = 0; number < count; ++number) {
    const Neutron neutron = make_neutron(materials, number, seed);
    checksum +=
        checksum_of(macroscopic_cross_sections(grids, *neutron.material, neutron.energy), number);
  }
  return checksum;
}

std::uint64_t expected_checksum(const Shape& shape, const std::vector<Material>& materials,
                                std::uint64_t count, std::uint64_t seed) {
  std::uint64_t checksum = 0;
#pragma omp parallel for schedule(runtime) reduction(+ : checksum)
  for (std::uint64_t number = 0; number < count; ++number) {
    const Neutron neutron = make_neutron(materials, number, seed);
    checksum += checksum_of(computed_cross_sections(shape, *neutron.material, neutron.energy, seed),
                            number);
  }
  return checksum;
}

} // namespace neutron
