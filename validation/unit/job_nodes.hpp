// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Nodes whose memory the processes of a job share, so many bytes of each.
#pragma once

#include "placement/job_ledger.hpp"

#include <cstdint>
#include <initializer_list>

inline constexpr std::uint64_t k_cap = 1'000'000;

inline omptier::NodeSet nodes(std::initializer_list<unsigned> list) {
  omptier::NodeSet set;
  for (const unsigned node : list)
    set.add(node);
  return set;
}
