// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// See region_hooks.hpp.
#include "allocators/region_hooks.hpp"

#include "allocators/runtime.hpp"
#include "borders/libomp_hooks.h"
#include "migration/region_moves.hpp"
#include "objects/stack.hpp"

#include <atomic>

namespace omptier {
namespace {

void report_moved(const RegionMove& move) {
  const omptier_observer* observer = runtime().observer.load(std::memory_order_acquire);
  if (observer != nullptr && observer->moved != nullptr)
    observer->moved(move.block, move.bytes, static_cast<unsigned>(move.from),
                    static_cast<unsigned>(move.to), move.seconds, move.at_barrier ? 1 : 0);
}

// The walk begins here, in this library, and passes libomp's frames.
void hook_barrier() {
  const PlanPlacement* plan = runtime().plan();
  Placer* placer = runtime().placer_if_ready();
  if (plan == nullptr || placer == nullptr) return;
  if (!barriers_move()) {
    runtime().libomp.load(std::memory_order_acquire)->call_at_barriers(nullptr);
    return;
  }
  ReturnAddress stack[k_max_frames];
  const unsigned count = capture_stack_below_runtime(stack, frames_of_regions(*plan));
  barrier_reached(*plan, *placer, {stack, count}, report_moved);
}

} // namespace

void hook_region_begin(const void* codeptr, std::uint32_t) {
  if (Placer* placer = runtime().placer_if_ready()) placer->answer_recount();
  const PlanPlacement* plan = runtime().plan();
  if (plan == nullptr || !plan->has_regions()) return;
  if (Placer* placer = runtime().placer_if_ready())
    region_begins(*plan, *placer, codeptr, report_moved);
}

void hook_region_end(const void* codeptr) {
  const PlanPlacement* plan = runtime().plan();
  if (plan == nullptr || !plan->has_regions()) return;
  if (Placer* placer = runtime().placer_if_ready())
    region_ends(*plan, *placer, codeptr, report_moved);
}

void listen_at_barriers() {
  // Plan and runtime may come from two threads at once: then at least one must see both.
  std::atomic_thread_fence(std::memory_order_seq_cst);
  const PlanPlacement* plan = runtime().plan();
  const omptier_runtime* libomp = runtime().libomp.load(std::memory_order_acquire);
  if (plan != nullptr && libomp != nullptr && plan->has_barriers())
    libomp->call_at_barriers(hook_barrier);
}

} // namespace omptier
