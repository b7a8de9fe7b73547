// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Usual figures of each memory kind, for machines whose firmware gives none (no ACPI HMAT) or only
// some nodes' figures. The one such table: the advisor, the runtime's choice of tiers and its gains
// use it for unknown figures. Estimates are used for decisions only; they are never shown as this
// machine's figures, and messages about such decisions mention them.
//
// An unknown figure is the table's, scaled by the first known one of these ratios, each measured
// over the table's value:
//   the same memory's figure in the other direction (read for write, write for read)
//   that figure of the machine's DRAM; of several, the mean of their ratios
//   that figure of its other memories, in the same way
#pragma once

#include "platform/platform.hpp"

#include <array>
#include <span>

namespace omptier {

// Bytes. Optane modules read and write blocks of four lines (Izraelevitz et al., arXiv:1903.05714).
inline constexpr double k_nvm_block = 256;
// Bandwidth of as many reads as writes, over that of writes alone: six modules reach 12 GB/s
// (Klinkenberg et al., "H2M", Future Generation Computer Systems 2023) and 14.
inline constexpr double k_nvm_mixed = 12.0 / 14;

// The table. Unknown memory counts as the slowest, so that it is never chosen for its speed.
const Figures& usual_figures(MemoryKind kind);

bool are_known(const Figures& figures);

// First learn() every memory of a machine, then estimate(). No malloc; copyable.
class FigureEstimates {
public:
  FigureEstimates() = default;
  explicit FigureEstimates(std::span<const Tier> tiers) {
    for (const Tier& tier : tiers)
      learn(tier.kind, tier.figures);
  }
  void learn(MemoryKind kind, const Figures& figures);
  // Known figures are returned unchanged. The block and the mixed bandwidth, which no firmware
  // gives, are estimated for NVM alone.
  Figures estimate(MemoryKind kind, const Figures& figures) const;

private:
  struct Scale { // of one figure: known values over the table's
    double sum = 0;
    unsigned count = 0;
  };
  double scale_of(std::size_t figure) const;

  std::array<Scale, 4> of_dram_, of_others_;
};

} // namespace omptier
