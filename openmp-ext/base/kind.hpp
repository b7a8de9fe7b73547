// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Memory kinds: the one enumeration that every layer shares, with its text form. The order is the
// order of the ompx_* spaces and allocators (500 = auto, then 500 + 1 + kind).
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

namespace omptier {

enum class MemoryKind : std::uint8_t { dram, hbm, nvm, cxl, unknown };

inline constexpr std::size_t k_memory_kinds = 4; // without unknown
inline constexpr std::array<MemoryKind, k_memory_kinds> k_all_memory_kinds = {
    MemoryKind::dram, MemoryKind::hbm, MemoryKind::nvm, MemoryKind::cxl};

// "dram", "hbm", …: spelling of options, plans and JSON.
constexpr std::string_view name_of(MemoryKind kind) {
  constexpr std::array<std::string_view, 5> names = {"dram", "hbm", "nvm", "cxl", "unknown"};
  return names[static_cast<std::size_t>(kind)];
}

// "DRAM", "HBM", …: spelling of reports.
constexpr std::string_view title_of(MemoryKind kind) {
  constexpr std::array<std::string_view, 5> names = {"DRAM", "HBM", "NVM", "CXL", "unknown"};
  return names[static_cast<std::size_t>(kind)];
}

// Case-insensitive; nothing for a text that names no kind.
std::optional<MemoryKind> parse_memory_kind(std::string_view text);

} // namespace omptier
