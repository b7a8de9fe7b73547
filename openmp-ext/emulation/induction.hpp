// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Vector registers that count in a loop. A sample has no vectors, and the index vector of `in[32 *
// i]` is nowhere in memory: it was computed from general registers before the loop, and each
// iteration adds the same amount. So the path into the loop is executed again with those registers
// that have not changed since; two iterations show what each adds to the vectors; and a general
// register that counts too gives the number of iterations passed.
//
// All counters must agree on the iteration, and registers that the loop does not write must come
// out as in the sample. Otherwise nothing is filled in.
#pragma once

#include "emulation/decode.hpp"
#include "emulation/emulate.hpp"

#include <vector>

namespace omptier {

// at_head: state of a thread at the begin of an iteration; gets vectors and masks. needed: the
// reads that the loop needs (needed_reads.hpp). False: none could be recovered.
bool recover_vectors(const Function& function, const Loop& loop, const std::vector<bool>& needed,
                     MachineState& at_head);

// The innermost one that begins there, or null.
const Loop* loop_beginning_at(const Function& function, int instruction);

// For the tests: numbers of the instructions that ran before the loop, in order, and where among
// them another loop around it was entered.
struct WayIn {
  struct Entry {
    std::size_t at; // index into instructions
    Loop loop;
  };
  std::vector<int> instructions;
  std::vector<Entry> entries;
};
WayIn way_into(const Function& function, const Loop& loop);

} // namespace omptier
