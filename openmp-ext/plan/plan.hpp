// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A plan: which allocation sites go to which kind of memory, and why. Written by the advisor,
// edited by people, read by the runtime. JSON with a version; sizes in bytes, times in nanoseconds.
// Modules have identities, so that the runtime can recognise the same build.
#pragma once

#include "base/kind.hpp"
#include "base/text.hpp"
#include "borders/malloc_placement.h"
#include "objects/site.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace omptier {

struct PlanModule {
  std::string identity; // "build-id:…"
  std::string name;     // file name without folders
};

struct PlanFrame {
  std::uint32_t module = 0; // index into Plan::modules
  std::uint64_t offset = 0;
  PortableFrame portable;
};

// Of a region's innermost frame: whether the call is known to begin a region, as __kmpc_fork_call
// and GOMP_parallel_loop_dynamic do. Else it may be a barrier.
inline bool begins_a_region(const PlanFrame& innermost) {
  const std::string& callee = innermost.portable.callee;
  return callee.starts_with("__kmpc_fork_") || callee.starts_with("GOMP_parallel");
}

struct InstanceRange { // instances of a site, from 0, both ends included
  std::uint32_t first = 0, last = 0;
};

struct PlanPart { // bytes [begin, end) of an object
  std::uint64_t begin = 0, end = 0;
  MemoryKind kind = MemoryKind::unknown;
};

// Bytes of a block of malloc's that is large: plans place these only, unless they say otherwise.
inline constexpr std::uint64_t k_least_large = OMPTIER_MALLOC_LEAST_LARGE;

struct PlanEntry {
  std::string label;                    // for people: "nuclide_grid (grids.cpp:41)"
  std::vector<PlanFrame> frames;        // allocation site, innermost first; empty for a static
  std::vector<InstanceRange> instances; // empty = all
  std::vector<PlanFrame> region;        // empty = always; else from this region or barrier on
  std::vector<MemoryKind> kinds;        // wanted kind first, then the fallbacks when it is full
  std::uint64_t bytes = 0;              // largest sum alive at one time
  double benefit = 0;                   // predicted nanoseconds saved against the slowest kind used
  std::string reason = {};              // one line for people
  std::vector<PlanPart> parts = {};     // ranges with a kind of their own, hottest first
  std::uint64_t least_block = k_least_large; // bytes of the smallest block of malloc's to place
  double share = 1; // part of the small blocks that kinds[0] gets; the rest: kinds[1]
  std::string symbol = {};         // instead of frames: a static, by the linker's name; "" = a site
  std::uint32_t symbol_module = 0; // index into Plan::modules
};

struct Plan {
  static constexpr unsigned k_version = 1;
  static constexpr unsigned k_most_parts = 64; // of an entry
  std::string made_by;                         // "omptier 1.1.0"
  std::string program;                         // file name of the program
  std::string platform_fingerprint;
  CapacityByKind capacity;           // what the advisor was allowed
  std::vector<MemoryKind> estimated; // kinds whose speed the advisor had to estimate
  // The recorded run, and what it is expected to take with the plan; 0: the profile does not tell.
  double recorded_seconds = 0, predicted_seconds = 0;
  std::vector<PlanModule> modules;
  std::vector<PlanEntry> entries;
  std::vector<MemoryKind>
      rest; // kinds, best first, for allocations the plan does not name; empty = untouched
};

// An error is one line "<name>:<line>: what is wrong; what is accepted".
Parsed<Plan> parse_plan(std::string_view json, std::string_view name);
Parsed<Plan> read_plan(const std::string& path);
std::string write_plan(const Plan& plan);

// How an entry matched, for the runtime's warning: exact (same build) or portable (by names).
enum class Match : std::uint8_t { none, exact, portable };

} // namespace omptier
