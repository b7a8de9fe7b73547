// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// From the registers of an interrupted thread to the memory access it was waiting for.
//
// A timer interrupt is taken when the stalled instruction retires, so the saved PC is the one after
// it: the nearest memory instruction going back from PC is blamed (around the loop, if PC is a
// loop's head). PC itself is blamed where an instruction can be interrupted midway: rep movs and
// stos, gathers and scatters. An instruction whose sampled addresses all lie within a few KiB finds
// its data in the cache and waits for nothing: then PC itself, if it reads from a wide range (a
// page fault stops a thread on the instruction, also one that only a hypervisor sees), or the next
// memory instruction further back that does. This holds where interrupts land sharply
// (calibrate.hpp finds out); where they do not, only the PC is handed on.
//
// The operand's address comes from the saved registers, taken back over the few instructions in
// between; if one of its registers was overwritten (a pointer chase does that), the loop is
// emulated forward to the next execution of the blamed instruction, whose address is as good.
// Whether caches or memory served it, reuse.hpp may find out.
#pragma once

#include "emulation/decode.hpp"
#include "emulation/needed_reads.hpp"
#include "emulation/registers.hpp"
#include "objects/access.hpp"
#include "sampling/reuse.hpp"

#include <cstdint>
#include <optional>
#include <unordered_map>

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

  // Once per drain.
  void refresh() {
    functions_.refresh();
    reuse_.collect();
  }
  AccessSample blame(const RegisterSample& sample);
  double weight(const RegisterSample& sample) const { return period_ * sample.periods; }
  // Of what was blamed last, once its address is as well known as it will be: finds out what served
  // it. A copy by rep movs comes to a word in pieces, again at once: its reuse says nothing.
  void watch(AccessSample& access) {
    if (sharp_ && !repeated_) reuse_.visit(access);
  }
  const BlameCounts& counts() const { return counts_; }
  const CodeMap& code() const { return functions_.map(); }
  FunctionCache& functions() { return functions_; }

private:
  // Range of addresses that an instruction was seen to access.
  struct Spread {
    std::uint64_t lowest = ~std::uint64_t{0}, highest = 0;
    std::uint32_t seen = 0;
    bool is_narrow() const { return seen >= 4 && highest - lowest <= k_narrow; }
    bool is_wide() const { return seen >= 4 && highest - lowest >= k_wide; }
  };
  struct Suspect {
    int instruction = -1;
    std::optional<std::uint64_t> address;
    bool narrow = false, wide = false;
  };
  static constexpr std::uint64_t k_narrow = 16 << 10, k_wide = 512 << 10; // bytes
  static constexpr std::size_t k_spreads_kept = 1 << 14;

  void find_access(const RegisterSample& sample, AccessSample& access);
  Suspect suspect(const Function& function, int pc, int instruction, const RegisterSample& sample);
  Suspect choose(const Function& function, int pc, const RegisterSample& sample);

  FunctionCache functions_;
  NeededReads needed_;                                // around the sample
  std::unordered_map<std::uint64_t, Spread> spreads_; // by address of the instruction
  ReuseWatch reuse_;
  BlameCounts counts_;
  bool sharp_, repeated_ = false;
  double period_;
};

// The parts, for the tests. Instruction numbers of one function.

// The nearest memory instruction that ran before number `pc`, `pc` itself if it can be interrupted
// midway; −1 = none.
int blamed_instruction(const Function& function, int pc);
// The nearest memory instruction that ran before number `from`, whatever it is; −1 = none.
int memory_instruction_before(const Function& function, int from);
// Address of the blamed operand; lane picks one of a gather's. needed: begun where the sample is.
std::optional<std::uint64_t> blamed_address(const Function& function, int pc, int blamed,
                                            const RegisterSample& sample, unsigned lane,
                                            const NeededReads& needed = {});

} // namespace omptier
