// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What one instruction did to one object over some time: how much it accessed, and in which
// strides. Exact counts and the emulation of a sampled loop produce these records; a profile keeps
// them beside its samples, because a share of accesses is not a share of time.
#pragma once

#include "objects/access.hpp"

#include <array>
#include <cstdint>

namespace omptier {

// As many lines are a usual core's cache, 1 MiB.
inline constexpr std::uint32_t k_indices_before = 1u << 14;
inline constexpr std::uint64_t k_index_array = 1u << 20; // bytes: of smaller ones it is not known

struct AccessPattern {
  static constexpr unsigned k_strides = 4;
  struct Stride {
    std::int64_t bytes = 0; // from one access of the instruction to its next
    float share = 0;        // of its steps; 0 = unused
  };

  std::uint64_t time = 0;    // CLOCK_MONOTONIC nanoseconds
  std::uint64_t pc = 0;      // of the instruction, or behind it
  std::uint64_t address = 0; // one that it accessed
  std::uint64_t through = 0; // an address whose content was the index of this access; 0 = none
  std::uint32_t thread = 0;
  AccessKind kind = AccessKind::unknown; // unknown: a load whose place may have been stored to
  float accesses = 0; // how many, or in which proportion
  float bytes = 0;    // in the same proportion; per access: bytes / accesses
  float chased = 0;   // share of accesses through a pointer that was itself loaded through one
  // Of those through an array of indices: the part that leads to a line to which none of
  // k_indices_before indices before led. 0: not known.
  float fresh = 0;
  // loop: address of the first instruction of the innermost loop around the sample; 0 = unknown.
  // run_bytes, run_nanoseconds: what it accessed, and in which time, since another sample of the
  // thread in the same run of the loop, or of one around it. 0 = no such sample; bytes < 0: the
  // other sample was of another run.
  std::uint64_t loop = 0;
  float run_nanoseconds = 0, run_bytes = 0;
  std::array<Stride, k_strides> strides{}; // the most frequent first

  // Not so where counters are the index: then it is a stream for each of them.
  bool is_indirect() const { return through != 0 && strides[0].share < 1; }
};

} // namespace omptier
