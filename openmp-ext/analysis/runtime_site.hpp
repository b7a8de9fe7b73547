// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Memory that OMPTier and the OpenMP runtime use for themselves is not the program's: it is one row
// of a profile, and no plan places it. Modules decide: blocks and mappings that the runtime, or a
// library called by it, allocated without a frame of the program in between; code and data of these
// modules. hwloc, libnuma and memkind count as the runtime's if the program does not call them.
// Allocations by omp_alloc, ompx_* or numa_alloc have frames of the program and are the program's.
#pragma once

#include "log/reader.hpp"

namespace omptier {

// The OpenMP runtime, OMPTier, or a library that they work with.
bool is_runtimes(const ModuleInfo& module);

// site: one of the profile, including those made by add_areas.
bool is_runtimes(const Profile& profile, const SiteRecord& site);

inline SiteRecord runtime_site() {
  return {0, {}, SiteKind::runtime};
}

} // namespace omptier
