// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The platform that `omptier topology` would show on a preset, without booting it: for advice for
// another machine.
#pragma once

#include "base/text.hpp"
#include "machine/presets.hpp"
#include "platform/platform.hpp"

namespace omptier {

// sizes: bytes of a kind, divided among its nodes in proportion to their size; kinds without an
// entry keep the preset's sizes.
Platform platform_of(const Machine& machine, const CapacityByKind& sizes = {});

} // namespace omptier
