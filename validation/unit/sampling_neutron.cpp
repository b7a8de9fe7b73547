// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The example neutron_lookup as a kernel with measurable truth. What is sampled is the example's
// own lookup.cpp; the other variants here do the same lookups with one or more of the three arrays
// confined to a piece that stays in the cache. A confined search or row must not steer where the
// other arrays are read, so its result is replaced by an estimate that cannot be computed before
// the confined reads are done.

#include "sampling_kernels.hpp"

#include "lookup.hpp"

#include <array>
#include <bit>
#include <cstdlib>
#include <memory>
#include <sys/mman.h>

namespace sampling_kernels {

namespace {

using namespace neutron;

template <bool Confined>
std::size_t find_row(const double* unionized, std::size_t points, double energy) {
  auto target = static_cast<std::size_t>(energy * static_cast<double>(points - 1));
  std::size_t row = 0;
  for (std::size_t length = points; length > 1;) {
    const std::size_t half = length / 2;
    if constexpr (Confined) {
      bool never = unionized[(row + half) & 255] > 2.0; // energies end at 1
      if (row + half <= target + never) row += half;
    } else {
      if (unionized[row + half] <= energy) row += half;
    }
    length -= half;
  }
  return row;
}

// What lookup.cpp does for one neutron; bits of Resident as the arrays are listed below.
template <unsigned Resident>
CrossSections cross_sections(const Grids& grids, const Material& material, double energy) {
  const std::size_t nuclides = grids.shape.nuclides, gridpoints = grids.shape.gridpoints;
  const std::size_t found =
      find_row < (Resident & 2) != 0 > (grids.unionized, grids.shape.points(), energy);
  // Known no earlier than the row that the search ends with, as what stands in that row.
  const auto cell = static_cast<std::uint32_t>(mix(found) % (gridpoints - 1));
  const std::uint32_t* row = grids.index + (Resident & 1 ? found & 7 : found) * nuclides;
  std::array<std::uint32_t, k_max_nuclides> point;
  const std::size_t count = material.components.size();
  for (std::size_t i = 0; i < count; ++i) {
    std::uint32_t read = row[material.components[i].nuclide];
    point[i] = Resident & 1 ? cell + (read >> 31) : read;
  }
  CrossSections sums{};
  for (std::size_t i = 0; i < count; ++i) {
    const Component& component = material.components[i];
    const GridPoint* lower = Resident & 4
                                 ? grids.nuclide + component.nuclide * 4 + (point[i] & 1)
                                 : grids.nuclide + component.nuclide * gridpoints + point[i];
    const GridPoint &low = lower[0], &high = lower[1];
    const auto steps =
        static_cast<std::int32_t>((high.energy - energy) / (high.energy - low.energy) * 0x1p16);
    const double weight = steps * 0x1p-16;
    for (int c = 0; c < k_channels; ++c)
      sums[c] += component.density * (high.xs[c] - weight * (high.xs[c] - low.xs[c]));
  }
  return sums;
}

template <unsigned Resident>
std::uint64_t confined_lookups(const Grids& grids, const std::vector<Material>& materials,
                               std::uint64_t count, std::uint64_t seed) {
  std::uint64_t checksum = 0;
  for (std::uint64_t number = 0; number < count; ++number) {
    const Material& material = pick_material(materials, random_bits(seed ^ 0xa0, number));
    const double energy = unit_interval(random_bits(seed ^ 0xe0, number));
    std::uint64_t hash = number;
    for (double sum : cross_sections<Resident>(grids, material, energy))
      hash = mix(hash + std::bit_cast<std::uint64_t>(sum));
    checksum += hash;
  }
  return checksum;
}

template <typename T> T* allocate(std::size_t bytes) {
  void* memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) std::abort();
  madvise(memory, bytes, MADV_HUGEPAGE);
  return static_cast<T*>(memory);
}

} // namespace

Kernel make_neutron() {
  Grids grids;
  grids.shape = {68, 60'000}; // 1.3 GB: no array fits a cache (33 MB, 196 MB, 1.1 GB)
  grids.index = allocate<std::uint32_t>(grids.shape.index_bytes());
  grids.unionized = allocate<double>(grids.shape.unionized_bytes());
  grids.nuclide = allocate<GridPoint>(grids.shape.nuclide_bytes());
  fill_grids(grids, 1);
  auto materials = std::make_shared<std::vector<Material>>(make_materials(grids.shape.nuclides));
  auto seed = std::make_shared<std::uint64_t>(1);
  return {"neutron",
          {{"index", grids.index, grids.shape.index_bytes()},
           {"unionized", grids.unionized, grids.shape.unionized_bytes()},
           {"nuclide", grids.nuclide, grids.shape.nuclide_bytes()}},
          [=](unsigned resident) {
            using Lookups = std::uint64_t (*)(const Grids&, const std::vector<Material>&,
                                              std::uint64_t, std::uint64_t);
            static constexpr Lookups variants[8] = {
                run_lookups,         confined_lookups<1>, confined_lookups<2>, confined_lookups<3>,
                confined_lookups<4>, confined_lookups<5>, confined_lookups<6>, confined_lookups<7>};
            [[maybe_unused]] volatile std::uint64_t kept =
                variants[resident](grids, *materials, 2000, ++*seed);
          }};
}

} // namespace sampling_kernels
