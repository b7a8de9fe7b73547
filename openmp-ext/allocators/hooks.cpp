// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The table that the patched libomp calls: thin C functions around allocation.hpp. No exception
// leaves it; none of the allocation paths below throws or allocates.
#include "allocators/allocation.hpp"
#include "allocators/choices_text.hpp"
#include "allocators/fast_path.hpp"
#include "allocators/init_allocator.hpp"
#include "allocators/placement_text.hpp"
#include "allocators/region_hooks.hpp"
#include "base/notices.hpp"
#include "base/options.hpp"
#include "migration/region_moves.hpp"
#include "placement/block_list.hpp"
#include "placement/own_threads.hpp"
#include "traits/trait_text.hpp"

#include <cstddef>
#include <cstring>
#include <unistd.h>

#define OMPTIER_EXPORT extern "C" __attribute__((visibility("default")))

namespace omptier {
namespace {

static_assert(sizeof(TraitPair) == sizeof(omptier_trait) &&
              offsetof(TraitPair, value) == offsetof(omptier_trait, value));

// libomp uses a handle above this number as a pointer.
constexpr OmpValue k_first_pointer = 1024;

OmpValue resolved(OmpValue handle) {
  if (handle != k_null_allocator) return handle;
  const omptier_runtime* libomp = runtime().libomp.load(std::memory_order_acquire);
  return libomp != nullptr ? libomp->default_allocator() : k_null_allocator;
}

// Sizes that would overflow libomp's arithmetic, for its own predefined allocators: null.
bool is_impossible(std::size_t bytes, OmpValue handle) {
  return bytes > PTRDIFF_MAX && handle <= k_first_pointer &&
         runtime().allocators.find(handle) == nullptr;
}

int hook_init_allocator(uintptr_t space, int count, const omptier_trait* traits,
                        uintptr_t* handle) {
  if (count < 0 || (count > 0 && traits == nullptr)) return *handle = k_null_allocator, 1;
  const auto* pairs = reinterpret_cast<const TraitPair*>(traits);
  return init_allocator(space, {pairs, static_cast<std::size_t>(count)}, handle) ? 1 : 0;
}

int hook_destroy_allocator(uintptr_t handle) {
  return AllocatorTable::is_no_handle(handle) || runtime().allocators.destroy(handle) ? 1 : 0;
}

int hook_allocate(size_t size, size_t alignment, uintptr_t handle, const void* caller,
                  void** block) {
  handle = resolved(handle);
  if (is_impossible(size, handle)) return *block = nullptr, 1;
  return allocate({size, alignment, handle, false, caller}, block) ? 1 : 0;
}

int hook_allocate_zeroed(size_t count, size_t size, size_t alignment, uintptr_t handle,
                         const void* caller, void** block) {
  std::size_t bytes = 0;
  handle = resolved(handle);
  // No memory is that large, so the fallback applies.
  if (__builtin_mul_overflow(count, size, &bytes)) bytes = SIZE_MAX;
  if (is_impossible(bytes, handle)) return *block = nullptr, 1;
  return allocate({bytes, alignment, handle, true, caller}, block) ? 1 : 0;
}

void free_stock(void* block, uintptr_t) {
  if (block == nullptr) return;
  stock_released(block);
  runtime().libomp.load(std::memory_order_acquire)->stock_free(block);
}

// omp_realloc to no bytes.
bool free_resized(void* block, OmpValue free_handle) {
  if (stock_handle(free_handle) == free_handle) return release(block);
  release_fully(block, free_handle, free_stock);
  return true;
}

int hook_reallocate(void* block, size_t size, uintptr_t handle, uintptr_t free_handle,
                    const void* caller, void** result) {
  *result = nullptr;
  if (size == 0) return free_resized(block, free_handle) ? 1 : 0;
  if (handle == k_null_allocator && block != nullptr) handle = owner_of(block);
  if (handle == k_null_allocator) handle = resolved(free_handle);
  if (is_impossible(size, handle)) return 1;
  return reallocate(block, size, handle, caller, result) ? 1 : 0;
}

int hook_release(void* block, uintptr_t) {
  return release(block) ? 1 : 0;
}

void hook_release_quickly(void* block, uintptr_t handle, void (*otherwise)(void*, uintptr_t)) {
  if (!release_quickly(block)) release_fully(block, handle, otherwise);
}

void hook_stock_allocated(void* block, size_t size, uintptr_t handle, const void* caller) {
  report_allocated(block, size, handle, caller);
}

void hook_stock_released(void* block) {
  stock_released(block);
}

size_t hook_display(char* text, size_t size) {
  return text != nullptr && size != 0 ? describe_choices(text, size) : 0;
}

size_t hook_parse_allocator(const char* text, uintptr_t* handle) {
  if (text == nullptr) return 0;
  AllocatorText parsed;
  TraitProblem problem;
  const bool good = read_allocator_text(text, parsed, problem);
  *handle = k_null_allocator;
  if (parsed.length == 0) return 0;
  if (!good) {
    problem.warn_that("the default allocator stays", 0);
    return std::strlen(text); // warned already: libomp would also warn about the rest
  }
  const std::span<const TraitPair> traits(parsed.traits.data(),
                                          static_cast<std::size_t>(parsed.trait_count));
  const auto space = static_cast<OmpValue>(parsed.space);
  if (parsed.predefined != k_null_allocator)
    *handle = parsed.predefined;
  else if (!parsed.for_us && !concerns_us(space, traits))
    return 0;
  else
    make_allocator(space, traits, handle);
  const char* rest = text + parsed.length;
  if (rest[std::strspn(rest, " \t")] == '\0') // else libomp refuses the whole text
    runtime().environment_allocator.store(*handle, std::memory_order_relaxed);
  return parsed.length;
}

void hook_runtime_end(void) {
  no_more_regions();
  inform_about_moves();
  runtime().warn_about_unused_entries();
}

constexpr omptier_hooks k_hooks = {
    OMPTIER_HOOKS_VERSION,
    sizeof(omptier_hooks),
    hook_init_allocator,
    hook_destroy_allocator,
    hook_allocate,
    hook_allocate_zeroed,
    hook_reallocate,
    hook_release,
    hook_stock_allocated,
    hook_stock_released,
    hook_display,
    hook_parse_allocator,
    hook_region_begin,
    hook_region_end,
    hook_runtime_end,
    allocate_quickly<allocate_fully>,
    hook_release_quickly,
};

} // namespace

void* allocate_fully(std::size_t bytes, std::size_t alignment, OmpValue handle, const void* caller,
                     Otherwise otherwise) {
  void* block = nullptr;
  return hook_allocate(bytes, alignment, handle, caller, &block) != 0
             ? block
             : otherwise(bytes, alignment, handle, caller);
}

void release_fully(void* block, OmpValue handle, void (*otherwise)(void*, OmpValue)) {
  if (!release(block)) otherwise(block, stock_handle(handle));
}

const omptier_hooks* openmp_hooks() {
  return &k_hooks;
}

} // namespace omptier

OMPTIER_EXPORT const omptier_hooks* omptier_runtime_attach(uint32_t hooks_version,
                                                           const omptier_runtime* libomp) {
  using namespace omptier;
  if (hooks_version != OMPTIER_HOOKS_VERSION || libomp == nullptr ||
      libomp->version != OMPTIER_HOOKS_VERSION || libomp->size < sizeof(omptier_runtime))
    return nullptr;
  warn_about_unknown_variables();
  remember_processors(); // before the runtime binds this thread
  Runtime& state = runtime();
  state.libomp.store(libomp, std::memory_order_release);
  state.attached_in.store(::getpid(), std::memory_order_relaxed);
  if (option_is_set(Option::plan) || option_is_set(Option::strategy))
    state.places_everything.store(true, std::memory_order_release);
  listen_at_barriers();
  return &k_hooks;
}

OMPTIER_EXPORT int omptier_observe(const omptier_observer* observer) {
  using namespace omptier;
  Runtime& state = runtime();
  if (observer == nullptr) {
    state.observer.store(nullptr, std::memory_order_release);
    open_or_close_fast_paths();
    return 0;
  }
  if (observer->version != OMPTIER_OBSERVER_VERSION || observer->size < sizeof(omptier_observer))
    return -1;
  const omptier_observer* none = nullptr;
  if (!state.observer.compare_exchange_strong(none, observer, std::memory_order_acq_rel)) return -1;
  open_or_close_fast_paths();
  if (observer->allocated == nullptr) return 0;
  const auto handle_of = [&](std::uint32_t number) -> OmpValue {
    const Allocator* allocator = state.allocators.by_number(number);
    return allocator != nullptr ? allocator->handle : OmpValue{1};
  };
  // No lock is held here, because the observer has locks of its own.
  BlockList blocks;
  PageArray<StockBlock> stock;
  if (Placer* placer = state.placer_if_ready()) blocks.fill(*placer);
  state.stock_blocks.for_each([&](const StockBlock& block) { stock.add(block); });
  for (const BlockInfo& block : blocks.all())
    observer->allocated(reinterpret_cast<const void*>(block.begin), block.bytes,
                        handle_of(block.allocator), block.caller);
  for (const StockBlock& block : stock)
    observer->allocated(reinterpret_cast<const void*>(block.begin), block.bytes,
                        handle_of(block.allocator), block.caller);
  return 0;
}
