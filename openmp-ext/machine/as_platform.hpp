// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The platform that `omptier topology` would show on a preset: for advice without booting it.
#pragma once

#include "base/text.hpp"
#include "machine/presets.hpp"
#include "platform/platform.hpp"

namespace omptier {

// sizes: bytes of a kind, divided among its nodes in proportion; other kinds keep the preset's.
Platform platform_of(const Machine& machine, const CapacityByKind& sizes = {});

} // namespace omptier
