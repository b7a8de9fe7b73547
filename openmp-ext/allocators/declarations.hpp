// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// ompx_declare and ompx_commit: allocations that are first collected and then decided together;
// ompx_update_traits and ompx_apply: live blocks decided again after their traits changed. One lock
// covers all declarations of a process, and a commit holds it until every pointer is set: when
// ompx_commit returns, the caller's declarations are committed, by this thread or another.
#pragma once

#include "allocators/decide_together.hpp"

#include <mutex>

namespace omptier {

// The values of ompx_result in include/ompx_memory.h.
enum class Result : int {
  success = 0,
  incomplete = 1,
  see_errno = -1,
  invalid_argument = 2,
  bad_traits = 3,
  fixed_trait = 4,
  not_found = 5,
  no_runtime = 6,
  out_of_memory = 7,
  moves_refused = 8,
};

// The layout of ompx_outcome_t.
struct Outcome {
  std::size_t struct_size;
  std::size_t considered;
  std::size_t as_wished;
  std::size_t next_best;
  std::size_t fallback;
  std::size_t failed;
  std::size_t bytes_moved;
};

Result declare(void** pointer, std::size_t bytes, OmpValue space, std::span<const TraitPair> traits,
               const void* caller);
Result withdraw(void** pointer);
Result commit(DecisionOrder order, Outcome& outcome);

Result update_block(void* block, std::span<const TraitPair> traits);
Result update_allocator(OmpValue handle, std::span<const TraitPair> traits);
Result apply(DecisionOrder order, Outcome& outcome);

// Held by declare, withdraw, commit, apply and changes of traits, but not during a fork.
std::mutex& deciding_lock();
// In the child of a fork, with the declarations locked: what another thread was committing is still
// declared there.
void cut_off_commit();
// Held during a fork.
void lock_declarations();
void unlock_declarations();

} // namespace omptier
