// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A platform for placers under test: DRAM on node 0, with the processor, and HBM on node 1, of which HBM is
// the first tier; and blocks of it.
#pragma once

#include "placement/placer.hpp"

#include <gtest/gtest.h>

namespace omptier {

// bytes: of each node.
inline Platform dram_and_hbm(std::uint64_t bytes) {
  Platform platform;
  Node dram, hbm;
  dram.kind = MemoryKind::dram;
  dram.cpus = {0};
  hbm.number = 1;
  hbm.kind = MemoryKind::hbm;
  dram.capacity = hbm.capacity = bytes;
  platform.nodes = {dram, hbm};
  platform.tiers = {{MemoryKind::hbm, {1}, bytes, {}}, {MemoryKind::dram, {0}, bytes, {}}};
  return platform;
}

inline CapacityByKind only(MemoryKind kind, std::uint64_t bytes) {
  CapacityByKind capacity;
  capacity[static_cast<std::size_t>(kind)] = bytes;
  return capacity;
}

// A large block in DRAM; a failure of the test where there is none.
inline void* block_in_dram(Placer& placer, std::size_t bytes, bool required) {
  BlockRequest request;
  request.bytes = bytes;
  request.required = required;
  bool fresh = false;
  Refusal why = Refusal::none;
  void* block = placer.place(1, request, fresh, why);
  EXPECT_NE(block, nullptr) << describe(why);
  return block;
}

} // namespace omptier
