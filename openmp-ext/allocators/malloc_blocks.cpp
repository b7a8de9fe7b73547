// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The functions that libomptier_preload.so calls. Plan or strategy treat malloc's blocks like
// omp_alloc's, with two exceptions. A block whose site the plan does not name stays with the
// program's malloc, even if the plan has a "rest". And no thread waits while another discovers the
// platform: discovery may need the loader's lock, which the caller of malloc may hold.
#include "borders/malloc_placement.h"

#include "allocators/allocation.hpp"
#include "allocators/existing_memory.hpp"
#include "allocators/site_list.hpp"
#include "allocators/small_blocks.hpp"
#include "base/notices.hpp"
#include "base/options.hpp"
#include "objects/modules.hpp"
#include "placement/strategy.hpp"

#include <cstdio>
#include <cstring>
#include <unistd.h>
#include <unwind.h>

#define OMPTIER_EXPORT extern "C" __attribute__((visibility("default")))

namespace omptier {
namespace {

// For OMPTIER_VERBOSE=1: where the blocks of each plan entry lay when freed or at the end.
struct EntryPages {
  std::atomic<std::uint64_t> blocks, bytes, untouched, on_kind[k_memory_kinds + 1];
};
std::atomic<EntryPages*> entry_pages{nullptr};

bool reports_pages() {
  static const bool verbose = option_flag(Option::verbose);
  return verbose;
}

EntryPages* pages_of_entry(std::uint32_t entry) {
  const PlanPlacement* plan = runtime().plan();
  if (entry == 0 || plan == nullptr || !reports_pages()) return nullptr;
  EntryPages* all = entry_pages.load(std::memory_order_acquire);
  if (all == nullptr) {
    all = static_cast<EntryPages*>(map_pages(plan->plan().entries.size() * sizeof(EntryPages)));
    EntryPages* none = nullptr;
    // If two threads free for the first time, the loser's pages stay unused.
    if (!entry_pages.compare_exchange_strong(none, all, std::memory_order_acq_rel)) all = none;
  }
  return all != nullptr ? all + (entry - 1) : nullptr;
}

void count_block(Placer& placer, const BlockInfo& block) {
  if (!block.large) return;
  EntryPages* pages = pages_of_entry(block.plan_entry);
  if (pages == nullptr) return;
  PageCensus census;
  count_pages(block.begin, block.bytes, census);
  pages->blocks += 1;
  pages->bytes += block.bytes;
  pages->untouched += census.untouched + census.unqueried;
  for (unsigned node = 0; node < k_max_nodes; ++node)
    if (census.node[node] != 0)
      pages->on_kind[static_cast<std::size_t>(placer.kind_of_node(node))] += census.node[node];
}

void report_pages() {
  const PlanPlacement* plan = runtime().plan();
  Placer* placer = runtime().placer_if_ready();
  if (plan == nullptr || placer == nullptr || !reports_pages()) return;
  placer->for_each_block([&](const BlockInfo& block) { count_block(*placer, block); });
  for (std::uint32_t entry = 1; entry <= plan->plan().entries.size(); ++entry) {
    const EntryPages* pages = pages_of_entry(entry);
    if (pages == nullptr || pages->blocks == 0) continue;
    char kinds[160] = "";
    int used = 0;
    for (std::size_t kind = 0; kind <= k_memory_kinds; ++kind)
      if (const std::uint64_t bytes = pages->on_kind[kind])
        used += std::snprintf(kinds + used, sizeof kinds - static_cast<std::size_t>(used),
                              ", %llu in %s", static_cast<unsigned long long>(bytes),
                              title_of(static_cast<MemoryKind>(kind)).data());
    inform(Notice::plan_pages,
           "\"%.200s\": %llu blocks of malloc, %llu bytes: %llu untouched%s.",
           plan->plan().entries[entry - 1].label.c_str(),
           static_cast<unsigned long long>(pages->blocks),
           static_cast<unsigned long long>(pages->bytes),
           static_cast<unsigned long long>(pages->untouched), kinds);
  }
}

// hwloc may be loading a plugin whose constructors allocate, under its lock: a deadlock.
bool inside_hwloc() {
  const auto visit = [](_Unwind_Context* context, void* found) {
    const LoadedModule* module = module_of(static_cast<std::uintptr_t>(_Unwind_GetIP(context)));
    const bool hwloc = module != nullptr && std::strncmp(module->name, "libhwloc", 8) == 0;
    if (hwloc) *static_cast<bool*>(found) = true;
    return hwloc ? _URC_NORMAL_STOP : _URC_NO_REASON;
  };
  bool found = false;
  _Unwind_Backtrace(visit, &found);
  return found;
}

int place(AllocationRequest request, void** block) {
  request.by_malloc = true;
  if (runtime().placer_if_ready() == nullptr && inside_hwloc()) return 0;
  if (runtime().placer_without_waiting() == nullptr) return 0;
  return allocate(request, block) && *block != nullptr ? 1 : 0;
}

int malloc_allocate(size_t bytes, size_t alignment, int zeroed, const void* caller, void** block) {
  return place({bytes, alignment, k_null_allocator, zeroed != 0, caller}, block);
}

size_t malloc_size_of(const void* block) {
  Placer* placer = runtime().placer_if_ready();
  return placer != nullptr && placer->holds(block) ? placer->held(block).bytes : 0;
}

// The new call's site decides; if the plan does not name it, the block stays where it is.
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
    request.plan_entry = info.plan_entry;
    request.plan_instance = info.plan_instance;
  }
  if (!place(request, result)) return 0;
  std::memcpy(*result, block, info.bytes < bytes ? info.bytes : bytes);
  count_block(*placer, info);
  release(block);
  return 1;
}

int malloc_release(void* block) {
  if (reports_pages()) {
    Placer* placer = runtime().placer_if_ready();
    BlockInfo info;
    if (placer != nullptr && placer->find(block, true, info)) count_block(*placer, info);
  }
  return release(block) ? 1 : 0;
}

void malloc_small_blocks_stay(const char* why) {
  warn_once(Notice::small_blocks_stay,
            "The plan places small blocks (least_block); they stay with the program's malloc: %s.",
            why);
}

int malloc_resize_in_place(void* block, size_t bytes) {
  Placer* placer = runtime().placer_if_ready();
  return placer != nullptr && placer->resize_in_place(block, bytes) ? 1 : 0;
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
  report_pages();
  runtime().warn_about_unused_entries();
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
    small_blocks::least,
    malloc_small_blocks_stay,
    small_blocks::decide,
    small_blocks::allocate_quickly,
    small_blocks::allocate,
    small_blocks::release_quickly,
    malloc_resize_in_place,
    malloc_allocated,
    malloc_released,
    malloc_start,
    malloc_end,
    malloc_attach,
    stock_handle,
};

} // namespace
} // namespace omptier

OMPTIER_EXPORT const omptier_malloc* omptier_malloc_attach(uint32_t version) {
  using namespace omptier;
  if (version != OMPTIER_MALLOC_VERSION) return nullptr;
  table.openmp = openmp_hooks();
  const auto strategy = parse_strategy(option_text(Option::strategy));
  const bool by_strategy = strategy && strategy->mode != Strategy::Mode::none;
  if (option_is_set(Option::plan) || by_strategy) {
    runtime().places_everything.store(true, std::memory_order_release);
    table.wants |= OMPTIER_MALLOC_PLACES;
  }
  if (option_is_set(Option::sites)) table.wants |= OMPTIER_MALLOC_LISTS;
  return &table;
}
