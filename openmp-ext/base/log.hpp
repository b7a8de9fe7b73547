// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What OMPTier says inside a stranger's process: lines on stderr in libomp's own form, each warning
// once per process. Numbers are ours from 5000, stable, listed in docs (grep for the number finds
// the place). Writes with one write(2), no stdio, no malloc; silent when KMP_WARNINGS is off or 0.
// Command-line tools print their own errors; this is for the libraries.
#pragma once

#include <cstdint>

namespace omptier {

enum class Notice : std::uint16_t {
  unknown_variable = 5000,
  bad_option_value,
  unknown_trait_key,
  bad_trait_value,
  contradicting_traits,
  unknown_memory_space,
  placement_refused,  // mbind or move_pages refused by the kernel or a container
  capacity_exhausted, // required memory not available, fallback taken
  bad_plan,
  plan_mismatch, // sites matched by their portable identity, or not at all
  missing_tier,
  address_space, // reserved range had to be smaller than asked
  profile_unwritable,
  sampling_unavailable,
  sampling_reduced,
  interrupted_move,
  plan_unused,             // entries of the plan that no allocation was made for
  job_ledger,              // memory of the other processes of the job cannot be counted
  unusable_node,           // a NUMA node whose number the tables do not hold
  library_unusable = 5100, // libomptier.so itself; said by libomp's side (libomp/kmp_omptier.inc)
};

// "OMP: Warning #5003: <text>\n" on stderr, once per notice number (first text wins). Thread-safe.
// format understands %s %zu %llu %d %x only; truncated at 1,000 characters.
void warn_once(Notice notice, const char* format, ...) __attribute__((format(printf, 2, 3)));

// The same, every time it is called (for texts that differ, such as each unknown variable).
void warn(Notice notice, const char* format, ...) __attribute__((format(printf, 2, 3)));

// "OMP: Info #N: …", only with OMPTIER_VERBOSE=1.
void inform(Notice notice, const char* format, ...) __attribute__((format(printf, 2, 3)));

} // namespace omptier
