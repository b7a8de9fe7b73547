// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Frees and resizes blocks of ours, and blocks of the runtime that stand in for them. A resize ends
// in place, or in a new block that takes over the old one's charge.
#include "allocators/allocation.hpp"

#include <algorithm>
#include <cstring>

namespace omptier {
namespace {

bool resize_in_place(Placer& placer, Allocator* owner, void* block, const HeldBlock& held,
                     std::size_t bytes) {
  if (owner != nullptr && !recharge_pool(*owner, held.bytes, bytes)) return false;
  if (placer.resize_in_place(block, bytes)) return true;
  Replaced replaced{owner, held.bytes, true};
  if (owner != nullptr) uncharge_pool(*owner, bytes, &replaced);
  return false;
}

// For a block of libomp's that is in our tables. charged: see release_block.
void release_stock(void* block, bool charged) {
  if (block == nullptr) return;
  report_released(block);
  Runtime& state = runtime();
  if (state.stock_blocks.empty()) return;
  StockBlock removed;
  if (!state.stock_blocks.remove(block, removed)) return;
  if (Allocator* allocator = state.allocators.by_number(removed.allocator))
    count_out(*allocator, removed.bytes, charged && removed.reason == StockReason::default_space);
}

// charged: the block's bytes are still charged to its allocator's pool.
void release_block(Placer& placer, void* block, const HeldBlock& held, bool charged) {
  report_released(block);
  Allocator* allocator = runtime().allocators.by_number(held.allocator);
  // First, because the entry may belong to another allocator once its last block is gone.
  if (allocator != nullptr && allocator->wants_to_know())
    count_out(*allocator, held.bytes, charged);
  placer.release(held);
}

} // namespace

bool release(void* block) {
  Runtime& state = runtime();
  Placer* placer = state.placer_if_ready();
  if (block == nullptr || placer == nullptr || !placer->holds(block)) return false;
  const HeldBlock held = placer->held(block);
  if (held.bytes != 0) release_block(*placer, block, held, true); // else freed before
  return true;
}

OmpValue owner_of(const void* block) {
  Runtime& state = runtime();
  Placer* placer = state.placer_if_ready();
  const Allocator* owner = nullptr;
  StockBlock stock;
  if (placer != nullptr && placer->holds(block)) {
    owner = state.allocators.by_number(placer->held(block).allocator);
    // Placed by plan or strategy for an allocator of libomp's, which is not recorded.
    return owner != nullptr ? owner->handle : k_default_mem_alloc;
  }
  if (!state.stock_blocks.empty() && state.stock_blocks.find_exact(block, stock))
    owner = state.allocators.by_number(stock.allocator);
  if (owner != nullptr) return owner->handle;
  const omptier_runtime* libomp = state.libomp.load(std::memory_order_acquire);
  return libomp != nullptr ? libomp->stock_owner(block) : k_null_allocator;
}

OmpValue stock_handle(OmpValue handle) {
  AllocatorTable& allocators = runtime().allocators;
  const bool served_here = allocators.made_here(handle) || allocators.find(handle) != nullptr ||
                           AllocatorTable::is_no_handle(handle);
  return served_here ? k_null_allocator : handle;
}

bool reallocate(void* block, std::size_t bytes, OmpValue handle, const void* caller,
                void** result) {
  Runtime& state = runtime();
  *result = nullptr;
  if (block == nullptr) return allocate({bytes, 0, handle, false, caller}, result);
  Placer* placer = state.placer_if_ready();
  const bool ours = placer != nullptr && placer->holds(block);
  const HeldBlock held = ours ? placer->held(block) : HeldBlock{};
  if (ours && held.bytes == 0) return true;

  const bool handle_ours = state.allocators.find(handle) != nullptr;
  const omptier_runtime* libomp = state.libomp.load(std::memory_order_acquire);
  if (!ours) {
    if (!handle_ours && !state.places_everything.load(std::memory_order_relaxed) &&
        !state.allocators.made_here(handle) && !AllocatorTable::is_no_handle(handle))
      return false;
    StockBlock stock;
    Replaced replaced;
    if (!state.stock_blocks.empty() && state.stock_blocks.find_exact(block, stock) &&
        stock.reason == StockReason::default_space)
      replaced = {state.allocators.by_number(stock.allocator), stock.bytes};
    if (libomp == nullptr || !allocate({bytes, 0, handle, false, caller, &replaced}, result))
      return false;
    if (*result == nullptr) return true;
    std::memcpy(*result, block, std::min(bytes, libomp->stock_size(block)));
    release_stock(block, !replaced.taken_over);
    libomp->stock_free(block);
    return true;
  }

  Allocator* owner = state.allocators.by_number(held.allocator);
  const bool same = owner != nullptr ? owner->handle == handle : !handle_ours;
  if (same && resize_in_place(*placer, owner, block, held, bytes)) {
    report_released(block);
    report_allocated(block, bytes, handle, caller);
    *result = block;
    return true;
  }
  Replaced replaced{owner, held.bytes};
  if (!allocate({bytes, 0, handle, false, caller, &replaced}, result)) {
    *result = stock_allocate(bytes, k_least_alignment, handle != 0 ? handle : k_default_mem_alloc);
    if (*result != nullptr) report_allocated(*result, bytes, handle, caller);
  }
  if (*result == nullptr) return true; // the old block stays
  std::memcpy(*result, block, std::min(bytes, held.bytes));
  release_block(*placer, block, held, !replaced.taken_over);
  return true;
}

void report_resized(void* block, std::size_t bytes, const void* caller) {
  report_released(block);
  report_allocated(block, bytes, k_null_allocator, caller);
}

void stock_released(void* block) {
  release_stock(block, true);
}

} // namespace omptier
