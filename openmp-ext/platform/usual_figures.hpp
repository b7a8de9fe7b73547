// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// How fast memory of a kind usually is, for machines whose firmware does not say (no ACPI HMAT), or
// says it of some nodes only. The one table of it: what the advisor, the runtime's choice of tiers
// and its gains take for unknown figures. Estimates decide; they are never shown as this machine's
// figures, and whoever decides by them says so.
//
// An unknown figure is the table's, scaled as far as the machine is known, by the first of
//   the same memory's figure in the other direction (read for write, write for read)
//   that figure of the machine's DRAM; of several, the mean of how they compare with the table
//   that figure of its other memories, in the same way
// each over what the table has for it.
#pragma once

#include "platform/platform.hpp"

#include <array>
#include <span>

namespace omptier {

// The table. Unknown memory counts as the slowest, so that nothing is let into it for its speed.
const Figures& usual_figures(MemoryKind kind);

// All four figures are known.
bool are_known(const Figures& figures);

// learn() every memory of a machine, then estimate(). Takes no malloc; a value.
class FigureEstimates {
public:
  FigureEstimates() = default;
  explicit FigureEstimates(std::span<const Tier> tiers) {
    for (const Tier& tier : tiers)
      learn(tier.kind, tier.figures);
  }
  void learn(MemoryKind kind, const Figures& figures);
  // What is known stays as it is.
  Figures estimate(MemoryKind kind, const Figures& figures) const;

private:
  struct Scale { // of one figure: known ones over the table's
    double sum = 0;
    unsigned count = 0;
  };
  double scale_of(std::size_t figure) const;

  std::array<Scale, 4> of_dram_, of_others_;
};

} // namespace omptier
