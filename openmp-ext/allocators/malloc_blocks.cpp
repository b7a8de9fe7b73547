// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What libomptier_preload.so calls: blocks of malloc that the plan names, as omp_alloc's but for
// two things. A block whose site the plan does not name stays the program's malloc's, also where
// the plan has a "rest". And nobody waits while another thread discovers the platform: that thread
// may need the loader's lock, which the caller of malloc may hold.
#include "allocators/malloc_border.h"

#include "allocators/allocation.hpp"
#include "allocators/existing_memory.hpp"
#include "allocators/site_list.hpp"
#include "base/options.hpp"

#include <cstring>
#include <unistd.h>

#define OMPTIER_EXPORT extern "C" __attribute__((visibility("default")))

namespace omptier {
namespace {

int place(AllocationRequest request, void** block) {
  request.named_only = true;
  if (runtime().placer_without_waiting() == nullptr) return 0;
  return allocate(request, block) && *block != nullptr ? 1 : 0;
}

int malloc_allocate(size_t bytes, size_t alignment, int zeroed, const void* caller, void** block) {
  return place({bytes, alignment, k_null_allocator, zeroed != 0, caller}, block);
}

size_t malloc_size_of(const void* block) {
  Placer* placer = runtime().placer_if_ready();
  BlockInfo info;
  return placer != nullptr && placer->holds(block) && placer->find(block, true, info) ? info.bytes
                                                                                      : 0;
}

// Its new site decides; where the plan does not name that, the block stays what it was.
int malloc_reallocate(void* block, size_t bytes, const void* caller, void** result) {
  Placer* placer = runtime().placer_if_ready();
  BlockInfo info;
  if (placer == nullptr || !placer->find(block, true, info)) return 0;
  if (placer->resize_in_place(block, bytes)) {
    report_resized(block, bytes, caller);
    *result = block;
    return 1;
  }
  AllocationRequest request{bytes, 0, k_null_allocator, false, caller};
  if (info.large) {
    request.plan_entry = info.extent->plan_entry;
    request.plan_instance = info.extent->plan_instance;
  }
  if (!place(request, result)) return 0;
  std::memcpy(*result, block, info.bytes < bytes ? info.bytes : bytes);
  release(block);
  return 1;
}

int malloc_release(void* block) {
  return release(block) ? 1 : 0;
}

void malloc_allocated(const void* block, size_t bytes, const void* caller) {
  site_list().add(block, bytes, caller);
}

void malloc_released(const void* block) {
  site_list().remove(block);
}

void malloc_start() {
  Runtime& state = runtime();
  state.attached_in.store(::getpid(), std::memory_order_relaxed);
  place_statics_of_plan();
}

void malloc_end() {
  runtime().tell_unused_entries();
  if (option_is_set(Option::sites)) site_list().write(option_text(Option::sites));
}

void malloc_attach(const omptier_runtime* stock) {
  runtime().libomp.store(stock, std::memory_order_release);
}

omptier_malloc table = {
    OMPTIER_MALLOC_VERSION,
    sizeof(omptier_malloc),
    0,
    nullptr,
    malloc_allocate,
    malloc_reallocate,
    malloc_release,
    malloc_size_of,
    malloc_allocated,
    malloc_released,
    malloc_start,
    malloc_end,
    malloc_attach,
};

} // namespace
} // namespace omptier

OMPTIER_EXPORT const omptier_malloc* omptier_malloc_attach(uint32_t version) {
  using namespace omptier;
  if (version != OMPTIER_MALLOC_VERSION) return nullptr;
  table.openmp = openmp_hooks();
  if (option_is_set(Option::plan)) {
    runtime().places_everything.store(true, std::memory_order_release);
    table.wants |= OMPTIER_MALLOC_PLACES;
  }
  if (option_is_set(Option::sites)) table.wants |= OMPTIER_MALLOC_LISTS;
  return &table;
}
