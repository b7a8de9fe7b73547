// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A platform as one short text in profiles and plans: kinds, number of nodes, capacity and figures
// of each tier, such as
// "hbm:2x16GiB,410/390GB/s,130/130ns;dram:2x64GiB,105/105GB/s,95/95ns".
#pragma once

#include "platform/platform.hpp"

#include <string>
#include <string_view>

namespace omptier {

std::string make_fingerprint(const std::vector<Tier>& tiers);

// True for the same machine: all words equal and all numbers within 1 %, because capacity is what
// the kernel leaves of a module and differs a little from boot to boot.
bool same_platform(std::string_view a, std::string_view b);

// The same, whatever the figures are: each kind has as many nodes and, within 1 %, bytes. So a plan
// that was made before `omptier calibrate` is still one of this machine.
bool same_memory(std::string_view a, std::string_view b);

} // namespace omptier
