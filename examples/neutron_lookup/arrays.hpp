// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Allocation of the three arrays, in the three ways that an OpenMP program can request memory.
//
//   plain     omp_alloc with the default allocator; a plan made from a profile may place them
//   extended  one allocator per array, whose traits describe how the array is used
//   by hand   the predefined allocator of a memory kind per array
//
// Each array has its own allocating function, and so its own allocation site.
#pragma once

#include "grids.hpp"

#include <omp.h>

#include <array>
#include <optional>
#include <string>

namespace neutron {

enum Array { index_grid, unionized_grid, nuclide_grid, k_arrays };
inline constexpr std::array<const char*, k_arrays> k_array_names{"index", "unionized", "nuclide"};

enum class AllocatorChoice { plain, extended, by_hand };

struct Placement {
  AllocatorChoice choice = AllocatorChoice::plain;
  std::array<std::string, k_arrays> kinds; // by hand: kind per array, empty for the default
};

// Whether --place accepts it: default, auto, dram, hbm, nvm or cxl.
bool is_memory_kind(const std::string& kind);

// Whether the OpenMP runtime supports the extended traits and the kinds' allocators.
bool runtime_is_extended();

// Bytes that the kernel has in DRAM, HBM, NVM, CXL. Nothing if the runtime is not OMPTier's.
std::optional<std::array<std::size_t, 4>> bytes_by_kind(const void* first, std::size_t bytes);

class Arrays {
public:
  // Allocates in the order index, unionized, nuclide, or the reverse. On failure ok() is false and
  // error() gives the reason in one line.
  Arrays(const Shape& shape, const Placement& placement, bool reverse_order);
  ~Arrays();
  Arrays(const Arrays&) = delete;
  Arrays& operator=(const Arrays&) = delete;

  bool ok() const { return error_.empty(); }
  const std::string& error() const { return error_; }
  const Grids& grids() const { return grids_; }

  // Moves the arrays to the kinds that are named; others stay. On failure returns false and sets
  // error().
  bool move(const Placement& placement);

private:
  bool choose_allocators(const Placement& placement);
  bool allocate(bool reverse_order);

  Grids grids_;
  std::array<omp_allocator_handle_t, k_arrays> allocators_;
  bool own_allocators_ = false;
  std::string error_;
};

} // namespace neutron
