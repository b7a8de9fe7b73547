// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The calls that a function makes, in order of address, and the target of each: the basis for "the
// n-th call of omp_alloc in its function".
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace omptier {

struct Call {
  enum class Goes : std::uint8_t {
    to_address,   // call f
    through_slot, // call *slot(%rip): the target's address lies in the slot
    elsewhere,    // by a register or other memory: not known before it runs
  };
  std::uint64_t behind = 0; // return address
  Goes goes = Goes::elsewhere;
  std::uint64_t target = 0; // the address or the slot
  // Addresses passed as first and third argument, if the code shows them: what OpenMP's runtimes
  // are to run (GOMP_parallel, __kmpc_fork_call). 0 = unknown.
  std::uint64_t first = 0, third = 0;
};

// In the code that begins at start. Empty if instructions cannot be decoded (another architecture).
std::vector<Call> calls_in(std::span<const std::uint8_t> code, std::uint64_t start);

// The slot that a linkage stub (.plt, .plt.sec, .plt.got) jumps through; nothing for other code.
std::optional<std::uint64_t> slot_of_stub(std::span<const std::uint8_t> code, std::uint64_t start);

} // namespace omptier
