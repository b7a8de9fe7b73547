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
  bad_option_value = 5001,
  unknown_trait_key = 5002,
  bad_trait_value = 5003,
  contradicting_traits = 5004,
  unknown_memory_space = 5005,
  placement_refused = 5006,  // mbind or move_pages refused by the kernel or a container
  capacity_exhausted = 5007, // required memory not available, fallback taken
  bad_plan = 5008,
  plan_mismatch = 5009, // sites matched by their portable identity, or not at all
  missing_tier = 5010,
  address_space = 5011, // reserved range had to be smaller than asked
  profile_unwritable = 5012,
  sampling_unavailable = 5013,
  sampling_reduced = 5014,
  interrupted_move = 5015,
  plan_unused = 5016,      // entries of the plan that no allocation was made for
  job_ledger = 5017,       // memory of the other processes of the job cannot be counted
  unusable_node = 5018,    // a NUMA node whose number the tables do not hold
  sites_left_out = 5019,   // more call stacks than OMPTIER_SITES lists
  regions_unseen = 5020,   // the program has an OMPT tool of its own
  library_unusable = 5100, // libomptier.so itself; said by libomp's side (libomp/kmp_omptier.inc)
};

// "OMP: Warning #5003: <text>\n" on stderr, once per notice number (first text wins). Thread-safe.
// format as printf's; truncated at 1,000 characters.
void warn_once(Notice notice, const char* format, ...) __attribute__((format(printf, 2, 3)));

// The same, every time it is called (for texts that differ, such as each unknown variable).
void warn(Notice notice, const char* format, ...) __attribute__((format(printf, 2, 3)));

// "OMP: Info #N: …", only with OMPTIER_VERBOSE=1.
void inform(Notice notice, const char* format, ...) __attribute__((format(printf, 2, 3)));

} // namespace omptier
