// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The platform that `omptier topology` would show on a machine: for advice without booting it.
#pragma once

#include "base/text.hpp"
#include "machine/machine.hpp"
#include "platform/platform.hpp"

namespace omptier {

// sizes: bytes of a kind, divided among its nodes in proportion; other kinds keep the machine's.
// threads: if they are more than the emulated CPUs, the real machine is meant, with the bandwidth
// of all of its cores; else the CPUs' part of it.
Platform platform_of(const Machine& machine, const CapacityByKind& sizes = {},
                     unsigned threads = 0);

} // namespace omptier
