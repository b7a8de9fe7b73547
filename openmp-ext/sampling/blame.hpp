// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// From the registers of an interrupted thread to the memory access it was waiting for. A timer
// interrupt is taken when the stalled instruction retires, so the saved PC is the next one. Blame
// goes to the nearest memory instruction before PC (around the loop if PC is its head), or to PC
// itself if that instruction can be interrupted midway: rep movs and stos, gathers and scatters. If
// all sampled addresses of an instruction lie within a few KiB, it hits the cache, and blame goes
// to PC if its addresses cover a wide range (a page fault stops a thread on the instruction, also
// one that only a hypervisor sees), else to the next memory instruction further back with a wide
// range. Where interrupts do not land right behind the stalled instruction (calibrate.hpp), only
// the PC is kept.
//
// The operand's address follows from the saved registers, rewound over the instructions in between.
// If one of them was overwritten (as in a pointer chase), the loop is emulated forward to the next
// execution of the blamed instruction, whose address serves as well. reuse.hpp may find out how
// soon it is used again.
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

// Counts of samples by outcome: how much of the profile rests on addresses.
struct BlameCounts {
  std::uint64_t samples = 0;
  std::uint64_t addressed = 0;  // the operand's address was found
  std::uint64_t no_code = 0;    // outside of all functions with unwind tables
  std::uint64_t no_operand = 0; // no memory instruction nearby
  std::uint64_t no_address = 0; // its registers could not be recovered
};

class Blamer {
public:
  // sharp: interrupts land right behind the stalled instruction. period: CPU nanoseconds.
  Blamer(bool sharp, double period) : sharp_(sharp), period_(period) {}

  // To be called once per drain.
  void refresh() {
    functions_.refresh();
    reuse_.collect();
  }
  AccessSample blame(const RegisterSample& sample);
  double weight(const RegisterSample& sample) const { return period_ * double{sample.periods}; }
  // For the access last blamed, once its address is final: may watch when it is used again. Not for
  // rep movs, which returns to a word at once because it copies in pieces. False: a watch may have
  // made that slower, and the sample says nothing of the program.
  bool watch(const AccessSample& access) {
    if (repeated_) return !reuse_.visit_string(access);
    if (sharp_) reuse_.visit(access);
    return true;
  }
  // What the watches since the last call have seen.
  std::vector<AddressReuse> take_reuses() { return reuse_.take(); }
  const BlameCounts& counts() const { return counts_; }
  const CodeMap& code() const { return functions_.map(); }
  FunctionCache& functions() { return functions_; }

private:
  // Range of the addresses that an instruction was seen to access.
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

// Parts of the above, public for tests. Instructions are numbers within one function.

// The nearest memory instruction before `pc`, or `pc` if it can be interrupted midway; −1 = none.
int blamed_instruction(const Function& function, int pc);
// −1 = none.
int memory_instruction_before(const Function& function, int from);
// Address of the blamed operand. lane: of a gather. needed: begun at the sample's instruction.
std::optional<std::uint64_t> blamed_address(const Function& function, int pc, int blamed,
                                            const RegisterSample& sample, unsigned lane,
                                            const NeededReads& needed = {});

} // namespace omptier
