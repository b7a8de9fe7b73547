// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Vector registers that a loop counts in. A sample holds no vectors, and the index vector of
// `in[32 * i]` is nowhere in memory: it was made from general registers in front of the loop and
// grows by the same amount in every iteration. So the way into the loop is executed again with
// those registers that have not changed since, two iterations tell what each of them adds, and any
// general register that counts too says how many have passed.
//
// Everything is checked that can be: all counters must agree on the iteration, registers that the
// loop leaves alone must come out as the sample has them. Else nothing is filled in.
#pragma once

#include "emulation/decode.hpp"
#include "emulation/emulate.hpp"

#include <vector>

namespace omptier {

// The state of a thread that is about to begin an iteration of the loop; fills in vectors and
// masks. needed: what the loop has to read (needed_reads.hpp). False: none could be told.
bool recover_vectors(const Function& function, const Loop& loop, const std::vector<bool>& needed,
                     MachineState& at_head);

// The innermost loop that begins at this instruction; null = none does.
const Loop* loop_beginning_at(const Function& function, int instruction);

// Numbers of the instructions that ran in front of the loop, in order, and among them the places
// where another loop around it was entered (its extent). For the tests.
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
