// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The OMPT events that divide a parallel region into stretches: barriers, as the threads leave
// them. Called twice per thread and barrier, so other events are sorted out first.
#pragma once

#include "ompt/other_tool.hpp"
#include "recorder/recorder.hpp"

namespace omptier {

// recorder and other must live as long as the process.
void set_phase_callbacks(ompt_set_callback_t set, Recorder& recorder, OtherTool& other);

} // namespace omptier
