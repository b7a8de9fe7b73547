// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A machine of the table as the platform that `omptier topology` shows on it, without booting it:
// to advise for a machine that one does not sit at.
#pragma once

#include "base/text.hpp"
#include "machine/presets.hpp"
#include "platform/platform.hpp"

namespace omptier {

// sizes: bytes that the machine has of a kind, shared out among its nodes in proportion; without
// one as many as the table says.
Platform platform_of(const Machine& machine, const CapacityByKind& sizes = {});

} // namespace omptier
