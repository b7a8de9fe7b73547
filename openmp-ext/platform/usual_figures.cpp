// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The table and the scaling. The figures are those of one socket, idle latency and bandwidth of all
// cores, rounded. A store to ordinary memory first reads its line and so takes as long as a load:
// hence one latency for both, also for Optane, whose write queue acknowledges sooner.
//
//   DRAM  eight channels, between DDR4-3200 and DDR5-4800
//   HBM   J. McCalpin, "Bandwidth Limits in the Intel Xeon Max (Sapphire Rapids with HBM)
//         Processors", ISC High Performance 2023 workshops: far below the stacks' peak, and a
//         longer latency than DDR5's
//   NVM   J. Izraelevitz et al., "Basic Performance Measurements of the Intel Optane DC Persistent
//         Memory Module", arXiv:1903.05714, 2019: 305 ns of a random load; a module reads 6.6 and
//         writes 2.3 GB/s, six interleaved 39 and 14
//   CXL   Y. Sun et al., "Demystifying CXL Memory with Genuine CXL-Ready Systems and Devices",
//         MICRO 2023; J. Liu et al., "Systematic CXL Memory Characterization and Performance
//         Analysis at Scale", ASPLOS 2025: 200 to 400 ns, 20 to 50 GB/s an expander
#include "platform/usual_figures.hpp"

#include <algorithm>

namespace omptier {
namespace {

using Figure = double Figures::*;
constexpr std::array<Figure, 4> k_figures = {&Figures::read_latency, &Figures::write_latency,
                                             &Figures::read_bandwidth, &Figures::write_bandwidth};
constexpr std::size_t other_direction(std::size_t figure) {
  return figure ^ 1;
}

// Read and write latency, ns; read and write bandwidth, bytes per second. By MemoryKind.
constexpr Figures k_usual[] = {
    /* DRAM    */ {100, 100, 200e9, 170e9},
    /* HBM     */ {130, 130, 650e9, 480e9},
    /* NVM     */ {305, 305, 39e9, 14e9},
    /* CXL     */ {250, 250, 45e9, 40e9},
    /* unknown */ {305, 305, 39e9, 14e9},
};
static_assert(static_cast<std::size_t>(MemoryKind::dram) == 0 &&
              static_cast<std::size_t>(MemoryKind::hbm) == 1 &&
              static_cast<std::size_t>(MemoryKind::nvm) == 2 &&
              static_cast<std::size_t>(MemoryKind::cxl) == 3);

} // namespace

const Figures& usual_figures(MemoryKind kind) {
  const auto at = static_cast<std::size_t>(kind);
  return k_usual[std::min(at, std::size(k_usual) - 1)];
}

bool are_known(const Figures& figures) {
  return std::ranges::all_of(k_figures, [&](Figure figure) { return figures.*figure > 0; });
}

void FigureEstimates::learn(MemoryKind kind, const Figures& figures) {
  if (kind == MemoryKind::unknown) return; // nothing to compare it with
  auto& scales = kind == MemoryKind::dram ? of_dram_ : of_others_;
  for (std::size_t i = 0; i < k_figures.size(); ++i) {
    const double known = figures.*k_figures[i];
    if (known <= 0) continue;
    scales[i].sum += known / (usual_figures(kind).*k_figures[i]);
    ++scales[i].count;
  }
}

double FigureEstimates::scale_of(std::size_t figure) const {
  for (const auto* scales : {&of_dram_, &of_others_})
    if (const Scale& scale = (*scales)[figure]; scale.count > 0) return scale.sum / scale.count;
  return 1;
}

Figures FigureEstimates::estimate(MemoryKind kind, const Figures& figures) const {
  const Figures& usual = usual_figures(kind);
  Figures estimated = figures;
  for (std::size_t i = 0; i < k_figures.size(); ++i) {
    if (figures.*k_figures[i] > 0) continue;
    const Figure other = k_figures[other_direction(i)];
    const double scale = figures.*other > 0 ? figures.*other / (usual.*other) : scale_of(i);
    estimated.*k_figures[i] = usual.*k_figures[i] * scale;
  }
  if (kind == MemoryKind::nvm) {
    if (!figures.block_is_known) estimated.block = k_nvm_block;
    if (figures.mixed_bandwidth <= 0)
      estimated.mixed_bandwidth = k_nvm_mixed * estimated.write_bandwidth;
  }
  return estimated;
}

} // namespace omptier
