// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The state of libomptier.so in a process: libomp's functions, the placer once it is needed,
// allocators, strategy and plan, the observer. Nothing happens before the first call that concerns
// us: then the platform is discovered (hwloc, a millisecond) behind a guard against re-entry, since
// discovery itself allocates. Nothing here is ever destroyed.
#pragma once

#include "allocators/allocator_table.hpp"
#include "allocators/stock_blocks.hpp"
#include "borders/libomp_hooks.h"
#include "borders/observer.h"
#include "placement/placed_ranges.hpp"
#include "placement/placer.hpp"
#include "placement/plan_placement.hpp"
#include "placement/strategy.hpp"

#include <atomic>
#include <sys/types.h>

namespace omptier {

class Runtime {
public:
  // libomp's functions; null before it attached, or on a runtime that is not patched.
  std::atomic<const omptier_runtime*> libomp{nullptr};
  std::atomic<pid_t> attached_in{0}; // process that libomp attached in
  AllocatorTable allocators;
  StockBlocks stock_blocks;
  PlacedRanges placed_ranges; // statics of the plan, ompx_place_range
  std::atomic<const omptier_observer*> observer{nullptr};
  // True with a plan or a strategy.
  std::atomic<bool> places_everything{false};
  std::atomic<OmpValue> environment_allocator{k_null_allocator}; // OMP_ALLOCATOR's, if ours
  std::atomic<std::uint32_t> life_of_plan{1}; // of fast paths to its small blocks (fast_path.hpp)
  std::atomic<std::uint64_t> source_wins{0}; // plan entries overruled by a required trait

  // The placer, made at the first call; null on the thread that makes it, or without a platform.
  Placer* placer() {
    Placer* ready = placer_.load(std::memory_order_acquire);
    return ready != nullptr ? ready : make_placer();
  }
  // Like placer(), but null also while another thread makes it.
  Placer* placer_without_waiting();
  Placer* placer_if_ready() const { return placer_.load(std::memory_order_acquire); }
  // Valid once placer() has returned.
  const Strategy& strategy() const { return strategy_; }
  const PlanPlacement* plan() const { return plan_.load(std::memory_order_acquire); }
  // The plan of OMPTIER_PLAN, whether or not it places anything yet; null: none, or unreadable. The
  // file is read once, with the preload library before main, since the program may then change its
  // root or its user. The plan never moves.
  const Plan* plan_text();

  // Warns once, at the end of the process that attached, of plan entries that matched no
  // allocation. Silent without a plan, in forked children, or if OpenMP allocated nothing.
  void warn_about_unused_entries() const;

  void lock_all();
  void unlock_all();
  void start_for_tests(Placer* placer, Strategy strategy, const PlanPlacement* plan);

private:
  Placer* make_placer();
  Placer* make_placer_locked();
  void load_plan();
  Parsed<Plan>* read_plan_locked();
  void load_strategy();

  std::atomic<Placer*> placer_{nullptr};
  std::atomic<bool> failed_{false};
  std::mutex making_;
  Strategy strategy_;
  std::atomic<const PlanPlacement*> plan_{nullptr};
  Parsed<Plan>* plan_read_ = nullptr; // under making_
  std::atomic<const Plan*> plan_text_{nullptr};
};

// Null before the first call of runtime().
extern constinit std::atomic<Runtime*> g_runtime;
inline Runtime* runtime_if_made() {
  return g_runtime.load(std::memory_order_acquire);
}
Runtime& runtime_made_now();
inline Runtime& runtime() {
  Runtime* ready = runtime_if_made();
  return ready != nullptr ? *ready : runtime_made_now();
}
inline void report_allocated(const void* block, std::size_t bytes, OmpValue handle,
                             const void* caller) {
  const omptier_observer* observer = runtime().observer.load(std::memory_order_acquire);
  if (observer != nullptr && observer->allocated != nullptr)
    observer->allocated(block, bytes, handle, caller);
}
inline void report_released(const void* block) {
  const omptier_observer* observer = runtime().observer.load(std::memory_order_acquire);
  if (observer != nullptr && observer->released != nullptr) observer->released(block);
}

// Where blocks lie while the fast paths are open (a placer, no observer); else g_no_spans.
extern constinit std::atomic<const SpanTable*> g_quick_spans;
extern constinit const SpanTable g_no_spans;
// To be called after the placer or the observer changed.
void open_or_close_fast_paths();

// For tests only: leaks the present state and starts again with the given platform.
void restart_runtime_for_tests(Platform platform, const CapacityRules& rules, Strategy strategy,
                               const PlanPlacement* plan);

} // namespace omptier
