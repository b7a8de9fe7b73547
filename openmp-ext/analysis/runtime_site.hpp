// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What OMPTier and the OpenMP runtime have for themselves is not the program's memory: it is one
// row of a profile, which no plan places. It is told by modules: blocks and mappings that the
// runtime, or a library called by it, allocated without a frame of the program in between; code and
// data of these modules. hwloc, libnuma and memkind count as the runtime's where nobody of the
// program has called them. What the program allocates by omp_alloc, ompx_* or numa_alloc has the
// program's frames and is the program's.
#pragma once

#include "log/reader.hpp"

namespace omptier {

// The OpenMP runtime, OMPTier, or a library that they work with.
bool is_runtimes(const ModuleInfo& module);

// site: of the profile, one that add_areas made included.
bool is_runtimes(const Profile& profile, const SiteRecord& site);

// The site of all of these.
inline SiteRecord runtime_site() {
  return {0, {}, SiteKind::runtime};
}

} // namespace omptier
