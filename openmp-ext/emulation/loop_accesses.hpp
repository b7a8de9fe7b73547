// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// All accesses of the loop in which a thread was interrupted: from the saved registers the program
// is emulated forward for a few hundred instructions, through calls and returns, and everything it
// would access is noted. Whole iterations are kept. Where time blame sees only what a thread waits
// for, this gives loads and stores in their true proportion, strides, indices and pointers.
//
// Helper thread only. It assumes that code runs on as its branches say; one whose flags are not
// known (a comparison of data) is taken when it leads back, and otherwise passes.
#pragma once

#include "emulation/decode.hpp"
#include "emulation/emulate.hpp"
#include "emulation/loop_pace.hpp"
#include "emulation/needed_reads.hpp"
#include "emulation/registers.hpp"
#include "objects/pattern.hpp"

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <unordered_map>
#include <vector>

namespace omptier {

class LoopAccesses {
public:
  explicit LoopAccesses(FunctionCache& functions) : functions_(functions) {}

  // Emulates from the sample on. The accesses of whole iterations, one entry an instruction (for
  // instructions of several objects: an access drawn at random), bytes adding up to `weight`.
  // Empty when nothing was found. earlier: one of the same thread that this one may tell the loop's
  // pace with (loop_pace.hpp).
  std::span<const AccessPattern> of(const RegisterSample& sample, double weight,
                                    const RegisterSample* earlier = nullptr);

  // The address of the next access of the instruction at `pc`, where blame's registers do not have
  // it any more: calls, callers, vectors that count. Of a gather the lane; 0 = not found.
  std::uint64_t next_address(const RegisterSample& sample, std::uint64_t pc, std::uint64_t lane);

  // Emulated accesses whose address stayed unknown, of all.
  std::uint64_t unknown() const { return unknown_; }
  std::uint64_t known() const { return known_; }

private:
  struct Access {
    std::uint64_t pc = 0, address = 0;
    std::uint32_t step = 0, bytes = 0;
    bool store = false;
    bool vague = false;                 // the object's begin stands for a place in it
    bool sampled = false;               // of a copy that the sample stopped midway
    std::uint64_t base = 0;             // of a gather or scatter: where its indices count from
    std::uint32_t links = 0;            // pointers followed one after the other to come here
    std::optional<std::uint64_t> value; // that a load reads, up to 8 bytes
  };
  struct Visit {
    std::uint64_t pc;
    int depth; // of calls, 0 where the sample was
    std::uint32_t first_access;
  };
  struct Head { // what the registers were at the head of the sample's loop
    std::array<std::uint64_t, k_general_registers> general;
    std::uint16_t known;
  };
  static constexpr unsigned k_steps = 600, k_most_accesses = 1024, k_most_depth = 16;
  static constexpr std::size_t k_callers_kept = 4096;
  static constexpr unsigned k_enough_visits = 16; // of the instruction the sample stands on
  static constexpr std::size_t k_heads = 4;       // of these tell a loop's steps

  // Until the sought instruction has made an access, or until enough was seen.
  void walk(const RegisterSample& sample, std::uint64_t sought = 0);
  // The same with the reads that needed_ asks for. False: they were too few.
  bool walk_once(const RegisterSample& sample, std::uint64_t sought);
  void note(const Instruction& instruction, const MachineState& state, std::uint32_t step);
  void note_one(const Instruction& instruction, std::uint64_t address, std::uint32_t bytes,
                bool store, std::uint32_t step, const MachineState& state);
  std::uint64_t behind_stub(std::uint64_t address);
  std::uint64_t caller_of(const Function& function, const MachineState& state);
  bool whole_iterations(std::size_t& first, std::size_t& last);
  void find_steps();
  void add_pace(double bytes, const RegisterSample& sample, const RegisterSample* earlier);
  void summarize(std::size_t first, std::size_t last, const RegisterSample& sample, double weight);
  AccessPattern summary_of(std::span<const Access* const> accesses) const;
  std::uint64_t index_of(std::span<const Access* const> accesses) const;

  FunctionCache& functions_;
  NeededReads needed_;
  std::unordered_map<std::uint64_t, std::uint64_t> callers_; // return address by function
  std::vector<Access> accesses_;
  std::vector<Visit> visits_;
  std::size_t settled_ = 0;  // visit from which on all masks and indices were known
  std::size_t complete_ = 0; // visits whose accesses, and those before them, are all there
  std::vector<AccessPattern> patterns_;
  LoopRegisters loop_; // around the sample
  std::vector<Head> heads_;
  double iterations_ = 0; // of it, in what is summarized
  std::uint64_t unknown_ = 0, known_ = 0, draws_ = 0;
};

} // namespace omptier
