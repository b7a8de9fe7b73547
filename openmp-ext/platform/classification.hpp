// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// From facts to kinds. A pure function: the same facts give the same kinds on any machine. Each
// kind comes with the rule that decided it, as text.
#pragma once

#include "platform/facts.hpp"

namespace omptier {

inline constexpr double k_hbm_bandwidth_ratio = 2.0; // at least this multiple of DRAM's read rate
inline constexpr double k_nvm_write_ratio = 0.5;     // write below this part of read
inline constexpr double k_measured_write_ratio = 0.7; // and below this part of DRAM's, if measured
inline constexpr double k_cxl_latency_ratio = 1.5;   // at least this multiple of DRAM's read
inline constexpr double k_cxl_symmetry = 1.5;        // read and write within this factor
inline constexpr double k_alike = 0.10; // figures within this share of DRAM's: DRAM too

// forced (OMPTIER_NODES) wins; an unknown node is an error.
Parsed<std::vector<Node>> classify(const MachineFacts& facts, const NodesByKind& forced);

} // namespace omptier
