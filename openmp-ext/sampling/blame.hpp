// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// From the registers of an interrupted thread to the memory access it was waiting for.
//
// A timer interrupt is taken when the stalled instruction retires, so the saved PC is the one after
// it: the nearest memory instruction going back from PC is blamed (around the loop, if PC is a
// loop's head). PC itself is blamed where an instruction can be interrupted midway: rep movs and
// stos, gathers and scatters. This holds where interrupts land sharply (calibrate.hpp finds out);
// where they do not, only the PC is handed on.
//
// The operand's address comes from the saved registers, taken back over the few instructions in
// between; if one of its registers was overwritten (a pointer chase does that), the loop is
// emulated forward to the next execution of the blamed instruction, whose address is as good.
#pragma once

#include "objects/access.hpp"
#include "sampling/decode.hpp"
#include "sampling/registers.hpp"

#include <cstdint>
#include <optional>

namespace omptier {

// What became of the samples: how much of the profile rests on addresses.
struct BlameCounts {
  std::uint64_t samples = 0;
  std::uint64_t addressed = 0;  // the blamed operand's address was found
  std::uint64_t no_code = 0;    // outside every function known by an unwind table
  std::uint64_t no_operand = 0; // no memory instruction near
  std::uint64_t no_address = 0; // its registers could not be recovered
};

class Blamer {
public:
  // sharp: do interrupts land behind the stalled instruction? period: nanoseconds of CPU time that
  // one timer period stands for.
  Blamer(bool sharp, double period) : sharp_(sharp), period_(period) {}

  void refresh() { functions_.refresh(); }
  AccessSample blame(const RegisterSample& sample);
  const BlameCounts& counts() const { return counts_; }
  const CodeMap& code() const { return functions_.map(); }

private:
  void find_access(const RegisterSample& sample, AccessSample& access);

  FunctionCache functions_;
  BlameCounts counts_;
  bool sharp_;
  double period_;
};

// The parts, for the tests. Instruction numbers of one function.

// The memory instruction to blame when the thread was interrupted before number `pc`; −1 = none.
int blamed_instruction(const Function& function, int pc);
// Address of the blamed operand; lane picks one of a gather's.
std::optional<std::uint64_t> blamed_address(const Function& function, int pc, int blamed,
                                            const RegisterSample& sample, unsigned lane);

} // namespace omptier
