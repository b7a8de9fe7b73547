// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What tests of the advisor place in: some DRAM, which is fast, and NVM with room for everything.
#pragma once

#include "advisor/advice.hpp"

#include <cstdint>
#include <vector>

namespace omptier {

inline constexpr std::uint64_t MiB = 1 << 20;
inline constexpr Figures k_fast{80, 80, 100e9, 100e9}, k_slow{300, 900, 30e9, 10e9};

inline std::vector<TierChoice> tiers(std::uint64_t dram) {
  return {{MemoryKind::dram, dram, k_fast}, {MemoryKind::nvm, 1024 * MiB, k_slow}};
}

// Frames are not looked at.
inline Plan plan_of(const Advice& advice, const ProfileSummary& summary) {
  return plan_from(advice, summary, [](const Frame&) { return PortableFrame(); });
}

} // namespace omptier
