// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Without a pool_size nothing is charged. A block that replaces another charges only the
// difference, and gives back only that if the allocation fails.
#include "allocators/charges.hpp"

#include "allocators/runtime.hpp"

#include <pthread.h>

namespace omptier {
namespace {

// Scope in which the calling thread counts for the allocator's pool_size; 0: the process.
std::uintptr_t pool_scope(const Allocator& allocator) {
  const OmpValue access = allocator.traits.access;
  if (access == 0 || access == value::all) return 0;
  const omptier_runtime* libomp = runtime().libomp.load(std::memory_order_acquire);
  if (libomp != nullptr) return libomp->scope(access);
  return access == value::thread ? ::pthread_self() : 0;
}

} // namespace

bool recharge_pool(Allocator& allocator, std::size_t from, std::size_t to) {
  if (!allocator.pooled()) return true;
  if (to > k_largest_block) return false;
  if (to > from)
    return allocator.pool.charge(pool_scope(allocator), to - from, allocator.traits.pool_size);
  allocator.pool.give_back(pool_scope(allocator), from - to);
  return true;
}

bool charge_pool(Allocator& allocator, std::size_t bytes, Replaced* replaced) {
  if (!allocator.pooled()) return true;
  if (bytes > k_largest_block) return false;
  if (replaced != nullptr && replaced->charged == &allocator)
    return replaced->taken_over = recharge_pool(allocator, replaced->bytes, bytes);
  return allocator.pool.charge(pool_scope(allocator), allocator.pool_charge(bytes),
                               allocator.traits.pool_size);
}

void uncharge_pool(Allocator& allocator, std::size_t bytes, Replaced* replaced) {
  if (replaced == nullptr || !replaced->taken_over) {
    if (allocator.pooled())
      allocator.pool.give_back(pool_scope(allocator), allocator.pool_charge(bytes));
    return;
  }
  replaced->taken_over = false;
  const std::size_t old = replaced->bytes;
  if (bytes > old)
    allocator.pool.give_back(pool_scope(allocator), bytes - old);
  else // whatever others charged meanwhile: the old block exists
    allocator.pool.charge(pool_scope(allocator), old - bytes, k_default_value);
}

void count_out(Allocator& allocator, std::size_t bytes, bool charged) {
  if (charged) uncharge_pool(allocator, bytes);
  if (allocator.of_one_block && allocator.blocks.fetch_sub(1, std::memory_order_relaxed) == 1)
    runtime().allocators.destroy(allocator.handle);
}

} // namespace omptier
