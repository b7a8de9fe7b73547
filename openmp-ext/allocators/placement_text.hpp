// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Where memory is and why, for ompx_get_placement and ompx_dump.
#pragma once

#include <cstddef>

namespace omptier {

// The same layout as ompx_placement_t of include/ompx_memory.h.
struct PlacementReport {
  std::size_t struct_size; // the program's
  std::size_t bytes[5];
  std::size_t untouched;
  std::size_t unqueried;
  std::size_t node_bytes[64];
  std::size_t block_bytes;
  int wanted_kind;
  int required;
  char reason[192];
};

// bytes 0 = the block of ours that contains address. False when there is none.
bool describe_placement(const void* address, std::size_t bytes, PlacementReport& report);

// Writes all live objects and the ledger as text. False and errno when writing failed.
bool write_dump(int fd);

// With OMPTIER_VERBOSE=1: the moves for regions, one line per plan entry.
void inform_about_moves();

} // namespace omptier
