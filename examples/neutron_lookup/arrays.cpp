// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// See arrays.hpp. The extended part needs ompx_memory.h at compile time and the OMPTier runtime at
// run time; without either it says so and never quietly does something else.

#include "arrays.hpp"

#if __has_include("ompx_memory.h")
#include "ompx_memory.h"
#define NEUTRON_EXTENDED 1
#endif

#include <dlfcn.h>

#include <string>

namespace neutron {
namespace {

std::string cannot_allocate(Array which, std::size_t bytes) {
  return std::string("cannot allocate ") + std::to_string(bytes) + " bytes for the " +
         k_array_names[which] + " grid; ask for a smaller --bytes";
}

// One function, and so one call of omp_alloc, for each array: its call stack names the array in a
// profile and in a plan. The loop in Arrays::allocate keeps the outer frames the same in both
// orders.
using AllocateFunction = std::string (*)(Grids&, omp_allocator_handle_t);

[[gnu::noinline]] std::string allocate_index_grid(Grids& grids, omp_allocator_handle_t allocator) {
  grids.index = static_cast<std::uint32_t*>(omp_alloc(grids.shape.index_bytes(), allocator));
  return grids.index ? "" : cannot_allocate(index_grid, grids.shape.index_bytes());
}

[[gnu::noinline]] std::string allocate_unionized_grid(Grids& grids,
                                                      omp_allocator_handle_t allocator) {
  grids.unionized = static_cast<double*>(omp_alloc(grids.shape.unionized_bytes(), allocator));
  return grids.unionized ? "" : cannot_allocate(unionized_grid, grids.shape.unionized_bytes());
}

[[gnu::noinline]] std::string allocate_nuclide_grid(Grids& grids,
                                                    omp_allocator_handle_t allocator) {
  grids.nuclide = static_cast<GridPoint*>(omp_alloc(grids.shape.nuclide_bytes(), allocator));
  return grids.nuclide ? "" : cannot_allocate(nuclide_grid, grids.shape.nuclide_bytes());
}

constexpr std::array<AllocateFunction, k_arrays> k_allocate{
    allocate_index_grid, allocate_unionized_grid, allocate_nuclide_grid};

#ifdef NEUTRON_EXTENDED

// What the programmer knows of each array. Importance: per mille of the time spent on memory.
omp_allocator_handle_t allocator_with_traits(Array which) {
  const bool random = which != index_grid; // the rows of the index grid are read as short streams
  const omp_uintptr_t importance = which == nuclide_grid ? 850 : which == unionized_grid ? 100 : 50;
  const omp_alloctrait_t traits[] = {
      {ompx_atk_access_mode, ompx_atv_access_mode_read_only},
      {ompx_atk_access_pattern,
       random ? ompx_atv_access_pattern_random : ompx_atv_access_pattern_sequential},
      {ompx_atk_access_origin, ompx_atv_access_origin_multiple_threads},
      {ompx_atk_importance, importance},
      {ompx_atk_sensitivity,
       random ? ompx_atv_sensitivity_latency : ompx_atv_sensitivity_bandwidth},
      {ompx_atk_lifetime, ompx_atv_lifetime_program},
      {ompx_atk_label, ompx_name(k_array_names[which])},
  };
  return omp_init_allocator(ompx_auto_mem_space, sizeof traits / sizeof traits[0], traits);
}

#endif

} // namespace

bool runtime_is_extended() {
  return dlsym(RTLD_DEFAULT, "ompx_name") != nullptr;
}

std::optional<omp_allocator_handle_t> allocator_of_kind(const std::string& kind) {
  if (kind.empty() || kind == "default") return omp_default_mem_alloc;
#ifdef NEUTRON_EXTENDED
  if (kind == "auto") return ompx_auto_mem_alloc;
  if (kind == "dram") return ompx_dram_mem_alloc;
  if (kind == "hbm") return ompx_hbm_mem_alloc;
  if (kind == "nvm") return ompx_nvm_mem_alloc;
  if (kind == "cxl") return ompx_cxl_mem_alloc;
#endif
  return std::nullopt;
}

Arrays::Arrays(const Shape& shape, const Placement& placement, bool reverse_order) {
  grids_.shape = shape;
  allocators_.fill(omp_default_mem_alloc);
  if (choose_allocators(placement)) allocate(reverse_order);
}

Arrays::~Arrays() {
  omp_free(grids_.nuclide, allocators_[nuclide_grid]);
  omp_free(grids_.unionized, allocators_[unionized_grid]);
  omp_free(grids_.index, allocators_[index_grid]);
  if (!own_allocators_) return;
  for (omp_allocator_handle_t allocator : allocators_)
    if (allocator != omp_null_allocator) omp_destroy_allocator(allocator);
}

bool Arrays::choose_allocators(const Placement& placement) {
  if (placement.choice == AllocatorChoice::plain) return true;
  if (!runtime_is_extended()) {
    error_ = "this OpenMP runtime has no extended allocators; run with OMPTier's (LD_LIBRARY_PATH) "
             "or with --allocator plain";
    return false;
  }
  for (int a = 0; a < k_arrays; ++a) {
    const auto which = static_cast<Array>(a);
    if (placement.choice == AllocatorChoice::by_hand) {
      allocators_[which] = *allocator_of_kind(placement.kinds[which]);
      continue;
    }
#ifdef NEUTRON_EXTENDED
    own_allocators_ = true;
    allocators_[which] = allocator_with_traits(which);
    if (allocators_[which] == omp_null_allocator)
      error_ = std::string("no allocator for the ") + k_array_names[which] +
               " grid: the runtime refused its traits";
#endif
  }
  return ok();
}

bool Arrays::allocate(bool reverse_order) {
  for (int step = 0; step < k_arrays && ok(); ++step) {
    const int which = reverse_order ? k_arrays - 1 - step : step;
    error_ = k_allocate[which](grids_, allocators_[which]);
  }
  return ok();
}

} // namespace neutron
