// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// See arrays.hpp. The extended part needs ompx_memory.h at compile time and the OMPTier runtime at
// run time; if either is missing, it fails with a message.

#include "arrays.hpp"

#if __has_include("ompx_memory.h")
#include "ompx_memory.h"
#define NEUTRON_EXTENDED 1
#endif

#include "../array_memory.h"
#include "../extended_runtime.h"

#include <cerrno>
#include <cstring>
#include <string>
#include <unistd.h>

namespace neutron {
namespace {

std::string cannot_allocate(Array which, std::size_t bytes) {
  return std::string("cannot allocate ") + std::to_string(bytes) + " bytes for the " +
         k_array_names[which] + " grid; ask for a smaller --bytes";
}

// Checked before allocating: most kernels overcommit, and kill a process that then touches its
// memory.
std::string too_big_for_machine(std::size_t bytes) {
  const std::size_t memory = static_cast<std::size_t>(sysconf(_SC_PHYS_PAGES)) *
                             static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  if (bytes <= memory) return "";
  return "the arrays need " + std::to_string(bytes) + " bytes, this machine has " +
         std::to_string(memory) + "; ask for a smaller --bytes";
}

// A function, and so an allocating call, for each array: its call stack identifies the array in
// profiles and plans. The loop in Arrays::allocate keeps the outer frames the same in both orders.
using AllocateFunction = std::string (*)(Grids&, omp_allocator_handle_t);

[[gnu::noinline]] std::string allocate_index_grid(Grids& grids, omp_allocator_handle_t allocator) {
  grids.index = static_cast<std::uint32_t*>(ARRAY_ALLOC(grids.shape.index_bytes(), allocator));
  return grids.index ? "" : cannot_allocate(index_grid, grids.shape.index_bytes());
}

[[gnu::noinline]] std::string allocate_unionized_grid(Grids& grids,
                                                      omp_allocator_handle_t allocator) {
  grids.unionized = static_cast<double*>(ARRAY_ALLOC(grids.shape.unionized_bytes(), allocator));
  return grids.unionized ? "" : cannot_allocate(unionized_grid, grids.shape.unionized_bytes());
}

[[gnu::noinline]] std::string allocate_nuclide_grid(Grids& grids,
                                                    omp_allocator_handle_t allocator) {
  grids.nuclide = static_cast<GridPoint*>(ARRAY_ALLOC(grids.shape.nuclide_bytes(), allocator));
  return grids.nuclide ? "" : cannot_allocate(nuclide_grid, grids.shape.nuclide_bytes());
}

constexpr std::array<AllocateFunction, k_arrays> k_allocate{
    allocate_index_grid, allocate_unionized_grid, allocate_nuclide_grid};

#ifdef NEUTRON_EXTENDED

constexpr bool k_built_extended = true;

// The predefined allocator of a memory kind.
omp_allocator_handle_t allocator_of_kind(const std::string& kind) {
  if (kind == "auto") return ompx_auto_mem_alloc;
  if (kind == "dram") return ompx_dram_mem_alloc;
  if (kind == "hbm") return ompx_hbm_mem_alloc;
  if (kind == "nvm") return ompx_nvm_mem_alloc;
  if (kind == "cxl") return ompx_cxl_mem_alloc;
  return omp_default_mem_alloc;
}

// The traits of each array. Importance: per mille of the time spent on memory.
omp_allocator_handle_t allocator_with_traits(Array which) {
  const auto name = reinterpret_cast<decltype(&ompx_name)>(extended_runtime_function("ompx_name"));
  const bool random = which != index_grid; // the rows of the index grid are read as short streams
  const omp_uintptr_t importance = which == nuclide_grid ? 850 : which == unionized_grid ? 100 : 50;
  omp_alloctrait_t traits[] = {
      {ompx_atk_access_mode, ompx_atv_access_mode_read_only},
      {ompx_atk_access_pattern,
       random ? ompx_atv_access_pattern_random : ompx_atv_access_pattern_sequential},
      {ompx_atk_access_origin, ompx_atv_access_origin_multiple_threads},
      {ompx_atk_importance, importance},
      {ompx_atk_sensitivity,
       random ? ompx_atv_sensitivity_latency : ompx_atv_sensitivity_bandwidth},
      {ompx_atk_lifetime, ompx_atv_lifetime_program},
      {ompx_atk_label, name(k_array_names[which])},
  };
  return omp_init_allocator(ompx_auto_mem_space, sizeof traits / sizeof traits[0], traits);
}

#else

constexpr bool k_built_extended = false;
omp_allocator_handle_t allocator_of_kind(const std::string&) {
  return omp_null_allocator;
}
omp_allocator_handle_t allocator_with_traits(Array) {
  return omp_null_allocator;
}

#endif

} // namespace

bool runtime_is_extended() {
  return extended_runtime_function("ompx_name") != nullptr;
}

bool is_memory_kind(const std::string& kind) {
  for (const char* known : {"default", "auto", "dram", "hbm", "nvm", "cxl"})
    if (kind == known) return true;
  return false;
}

Arrays::Arrays(const Shape& shape, const Placement& placement, bool reverse_order) {
  grids_.shape = shape;
  allocators_.fill(omp_default_mem_alloc);
  error_ = too_big_for_machine(shape.total_bytes());
  if (ok() && choose_allocators(placement)) allocate(reverse_order);
}

Arrays::~Arrays() {
  ARRAY_FREE(grids_.nuclide, allocators_[nuclide_grid]);
  ARRAY_FREE(grids_.unionized, allocators_[unionized_grid]);
  ARRAY_FREE(grids_.index, allocators_[index_grid]);
  if (!own_allocators_) return;
  for (omp_allocator_handle_t allocator : allocators_)
    if (allocator != omp_null_allocator) omp_destroy_allocator(allocator);
}

std::optional<std::array<std::size_t, 4>> bytes_by_kind(const void* first, std::size_t bytes) {
#ifdef NEUTRON_EXTENDED
  const auto ask = reinterpret_cast<decltype(&ompx_get_placement)>(
      extended_runtime_function("ompx_get_placement"));
  ompx_placement_t found{};
  found.struct_size = sizeof found;
  if (ask && ask(first, bytes, &found) == 0)
    return std::array{found.bytes[ompx_kind_dram], found.bytes[ompx_kind_hbm],
                      found.bytes[ompx_kind_nvm], found.bytes[ompx_kind_cxl]};
#else
  (void)first, (void)bytes;
#endif
  return std::nullopt;
}

bool Arrays::move(const Placement& placement) {
#ifdef NEUTRON_EXTENDED
  const auto place = reinterpret_cast<decltype(&ompx_place_range)>(
      extended_runtime_function("ompx_place_range"));
  const std::array<void*, k_arrays> begins{grids_.index, grids_.unionized, grids_.nuclide};
  const Shape& shape = grids_.shape;
  const std::array<std::size_t, k_arrays> sizes{shape.index_bytes(), shape.unionized_bytes(),
                                                shape.nuclide_bytes()};
  for (int a = 0; a < k_arrays && ok(); ++a) {
    const std::string& kind = placement.kinds[a];
    if (kind.empty() || kind == "default") continue;
    if (!place)
      error_ = "this OpenMP runtime moves no arrays; run with OMPTier's (LD_LIBRARY_PATH)";
    else if (place(begins[a], sizes[a], allocator_of_kind(kind)) != 0)
      error_ = std::string("the ") + k_array_names[a] + " grid did not move to " + kind + ": " +
               (errno == ENOENT   ? "this machine has none"
                : errno == ENOSPC ? "it has no room"
                                  : std::strerror(errno));
  }
#else
  (void)placement;
  error_ = "built without ompx_memory.h, arrays cannot be moved";
#endif
  return ok();
}

bool Arrays::choose_allocators(const Placement& placement) {
  if (placement.choice == AllocatorChoice::plain) return true;
#ifdef PLAIN_MALLOC
  error_ = "built with -DPLAIN_MALLOC, only --allocator plain is possible";
  return false;
#endif
  if (!k_built_extended) {
    error_ = "built without ompx_memory.h, only --allocator plain is possible; compile with "
             "-I and OMPTier's include folder";
    return false;
  }
  if (!runtime_is_extended()) {
    error_ = "this OpenMP runtime has no extended allocators; run with OMPTier's (LD_LIBRARY_PATH) "
             "or with --allocator plain";
    return false;
  }
  own_allocators_ = placement.choice == AllocatorChoice::extended;
  for (int a = 0; a < k_arrays; ++a) {
    const auto which = static_cast<Array>(a);
    allocators_[a] =
        own_allocators_ ? allocator_with_traits(which) : allocator_of_kind(placement.kinds[a]);
    if (allocators_[a] == omp_null_allocator)
      error_ = std::string("the runtime refused the allocator of the ") + k_array_names[a] +
               " grid; its warning names the trait";
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
