// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// See phase_events.hpp. Explicit barriers and those at the end of worksharing constructs delimit
// stretches; so do barriers of the kind "implementation", as libomp calls all those of gcc's
// programs. The barrier at the end of a region is the region's end. The primary thread releases the
// others, so the moment it leaves is when the next stretch begins for all.
#include "ompt/phase_events.hpp"

namespace omptier {
namespace {

Recorder* g_recorder = nullptr;
OtherTool* g_other_tool = nullptr;

bool delimits(ompt_sync_region_t kind) {
  return kind == ompt_sync_region_barrier_explicit ||
         kind == ompt_sync_region_barrier_implicit_workshare ||
         kind == ompt_sync_region_barrier_implementation;
}

void on_sync_region(ompt_sync_region_t kind, ompt_scope_endpoint_t endpoint, ompt_data_t* parallel,
                    ompt_data_t* task, const void* codeptr) {
  if (endpoint == ompt_scope_end && delimits(kind)) g_recorder->barrier_passed(codeptr);
  if (!g_other_tool->active()) return;
  if (const auto callback =
          g_other_tool->callback<ompt_callback_sync_region_t>(ompt_callback_sync_region))
    callback(kind, endpoint, parallel, task, codeptr);
}

} // namespace

void set_phase_callbacks(ompt_set_callback_t set, Recorder& recorder, OtherTool& other) {
  g_recorder = &recorder;
  g_other_tool = &other;
  set(ompt_callback_sync_region, reinterpret_cast<ompt_callback_t>(&on_sync_region));
}

} // namespace omptier
