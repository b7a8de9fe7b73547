// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// See grids.hpp. The unionized grid is sorted in place by tasks. Each row of the index grid is
// computed from the row before, in blocks of rows, so that no memory besides the three arrays is
// needed.

#include "grids.hpp"

#include "materials.hpp"

#include <algorithm>
#include <limits>
#include <vector>

namespace neutron {
namespace {

constexpr std::size_t k_rows_per_block = 256;
constexpr std::ptrdiff_t k_sort_cutoff = 16384;

// Number of energies of nuclide n that are at most `energy`, less one.
std::uint32_t point_at_or_below(const Grids& grids, std::uint32_t n, double energy) {
  const GridPoint* first = grids.nuclide + static_cast<std::size_t>(n) * grids.shape.gridpoints;
  const GridPoint* above =
      std::upper_bound(first, first + grids.shape.gridpoints, energy,
                       [](double value, const GridPoint& point) { return value < point.energy; });
  return static_cast<std::uint32_t>(above - first) - 1;
}

void fill_nuclide_grid(const Grids& grids, std::uint64_t seed) {
  const Shape shape = grids.shape;
#pragma omp parallel for schedule(static)
  for (std::uint32_t n = 0; n < shape.nuclides; ++n)
    for (std::uint32_t k = 0; k < shape.gridpoints; ++k)
      grids.nuclide[static_cast<std::size_t>(n) * shape.gridpoints + k] =
          make_grid_point(shape, n, k, seed);
}

void sort_range(double* first, double* last) {
  if (last - first <= k_sort_cutoff) {
    std::sort(first, last);
    return;
  }
  double* middle = first + (last - first) / 2;
  std::nth_element(first, middle, last);
#pragma omp task firstprivate(first, middle)
  sort_range(first, middle);
  sort_range(middle, last);
}

void fill_unionized_grid(const Grids& grids) {
  const auto points = static_cast<std::ptrdiff_t>(grids.shape.points());
#pragma omp parallel
  {
#pragma omp for schedule(static)
    for (std::ptrdiff_t i = 0; i < points; ++i)
      grids.unionized[i] = grids.nuclide[i].energy;
#pragma omp single
    sort_range(grids.unionized, grids.unionized + points);
  }
}

void fill_index_rows(const Grids& grids, std::size_t first_row, std::size_t last_row) {
  const std::uint32_t nuclides = grids.shape.nuclides;
  const std::uint32_t gridpoints = grids.shape.gridpoints;
  std::vector<std::uint32_t> point(nuclides);
  std::vector<double> next_energy(nuclides);
  auto advance_to = [&](std::uint32_t n, std::uint32_t k) {
    point[n] = k;
    next_energy[n] = k + 1 < gridpoints
                         ? grids.nuclide[static_cast<std::size_t>(n) * gridpoints + k + 1].energy
                         : std::numeric_limits<double>::infinity();
  };
  for (std::uint32_t n = 0; n < nuclides; ++n)
    advance_to(n, point_at_or_below(grids, n, grids.unionized[first_row]));
  for (std::size_t i = first_row; i < last_row; ++i) {
    const double energy = grids.unionized[i];
    for (std::uint32_t n = 0; n < nuclides; ++n)
      while (next_energy[n] <= energy)
        advance_to(n, point[n] + 1);
    std::copy(point.begin(), point.end(), grids.index + i * nuclides);
  }
}

void fill_index_grid(const Grids& grids) {
  const std::size_t rows = grids.shape.points();
  const std::size_t blocks = (rows + k_rows_per_block - 1) / k_rows_per_block;
#pragma omp parallel for schedule(static)
  for (std::size_t block = 0; block < blocks; ++block)
    fill_index_rows(grids, block * k_rows_per_block,
                    std::min(rows, (block + 1) * k_rows_per_block));
}

} // namespace

GridPoint make_grid_point(const Shape& shape, std::uint32_t n, std::uint32_t k,
                          std::uint64_t seed) {
  const std::uint64_t where = random_bits(seed ^ n, k);
  const std::uint64_t what = mix(where);
  GridPoint point;
  // One point per cell of width 1 / gridpoints; the 21-bit offset separates neighbours.
  point.energy = (k + static_cast<double>(where >> 43) * 0x1p-21) / shape.gridpoints;
  if (k == 0) point.energy = 0;
  if (k + 1 == shape.gridpoints) point.energy = 1;

  const bool fissile = n >= k_light_nuclides;
  const double scattered = static_cast<double>(what >> 52) * 0x1p-4;
  const double captured = static_cast<double>(what & 0x3ff) * 0x1p-4;
  const double split = fissile ? static_cast<double>((what >> 10) & 0x3ff) * 0x1p-4 : 0;
  point.xs[elastic] = scattered;
  point.xs[absorption] = captured + split;
  point.xs[fission] = split;
  point.xs[nu_fission] = 2.5 * split; // neutrons released
  point.xs[total] = scattered + captured + split;
  return point;
}

void fill_grids(const Grids& grids, std::uint64_t seed) {
  fill_nuclide_grid(grids, seed);
  fill_unionized_grid(grids);
  fill_index_grid(grids);
}

bool check_grids(const Grids& grids) {
  const std::size_t rows = grids.shape.points();
  if (!std::is_sorted(grids.unionized, grids.unionized + rows)) return false;
  if (grids.unionized[0] != 0 || grids.unionized[rows - 1] != 1) return false;
  const std::size_t step = std::max<std::size_t>(1, rows / 97);
  for (std::size_t i = 0; i < rows; i += step)
    for (std::uint32_t n = 0; n < grids.shape.nuclides; ++n)
      if (grids.index[i * grids.shape.nuclides + n] !=
          point_at_or_below(grids, n, grids.unionized[i]))
        return false;
  return true;
}

} // namespace neutron
