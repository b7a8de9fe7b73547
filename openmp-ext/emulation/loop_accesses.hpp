// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// All accesses of the loop in which a thread was interrupted. From the saved registers the program
// is emulated forward for a few hundred instructions, through calls and returns, and its accesses
// are recorded; those of whole iterations are kept. Blame of time finds only what a thread waits
// for; this finds loads and stores in their true proportion, strides, indices and pointers.
//
// Helper thread only. Code is assumed to run as its branches go. A branch whose flags are unknown
// (a comparison of data) is taken if it leads back, else not.
//
// Memory is read later than the program read it. If a store depends on a test of its own place
// (if (level[u] < 0) level[u] = 1), that test has another result by then: the kind of the access is
// unknown.
#pragma once

#include "emulation/decode.hpp"
#include "emulation/emulate.hpp"
#include "emulation/index_reuse.hpp"
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

  // Emulates from the sample on. Returns the accesses of whole iterations, an entry per instruction
  // (if one accesses several objects: an access drawn at random); bytes add up to `weight`. Address
  // 0: the instruction's addresses could not be followed. Empty if nothing was found. earlier: a
  // sample of the same thread, from which the loop's pace may follow (loop_pace.hpp).
  std::span<const AccessPattern> of(const RegisterSample& sample, double weight,
                                    const RegisterSample* earlier = nullptr);

  // Address of the next access of the instruction at `pc`, for samples whose registers do not
  // determine it: calls, callers, counting vectors. lane: of a gather. 0 = not found.
  std::uint64_t next_address(const RegisterSample& sample, std::uint64_t pc, std::uint64_t lane);

  // Numbers of emulated accesses by whether their address is known.
  std::uint64_t unknown() const { return unknown_; }
  std::uint64_t known() const { return known_; }

private:
  struct Access {
    std::uint64_t pc = 0, address = 0;
    std::uint32_t step = 0, bytes = 0;
    bool store = false;
    bool vague = false;                 // only the object is known: address is its begin
    bool sampled = false;               // of a copy that the sample interrupted
    bool tested = false;                // a load; the walk went past a store to its place
    std::uint64_t base = 0;             // of a gather or scatter: base of its indices
    std::uint32_t links = 0;            // length of the chain of pointers that led here
    std::optional<std::uint64_t> value; // of a load, up to 8 bytes
    std::int64_t counted = 0; // of a load: the loop then stores so much more there; 0: unknown
  };
  struct Lost { // an access with an unknown address
    std::uint64_t pc = 0;
    std::uint32_t bytes = 0;
    bool store = false;
    std::size_t visit = 0;
  };
  struct Visit {
    std::uint64_t pc;
    int depth; // of calls, 0 where the sample was
    std::uint32_t first_access;
  };
  struct Head { // registers at the head of the loop
    std::array<std::uint64_t, k_general_registers> general;
    std::uint16_t known;
  };
  static constexpr unsigned k_steps = 600, k_most_accesses = 1024, k_most_depth = 16;
  static constexpr std::size_t k_callers_kept = 4096;
  static constexpr unsigned k_enough_visits = 17; // of the sample's instruction
  static constexpr std::size_t k_heads = 4, k_least_heads = 3; // visits that give a loop's steps

  // Until `sought` has made an access, or enough was seen.
  void walk(const RegisterSample& sample, const RegisterSample* earlier, std::uint64_t sought = 0);
  // With only the reads that needed_ requires. False: these were too few.
  bool walk_once(const RegisterSample& sample, std::uint64_t sought);
  bool may_serve_streams() const;
  void note(const Instruction& instruction, const MachineState& state, std::uint32_t step);
  void note_one(const Instruction& instruction, std::uint64_t address, std::uint32_t bytes,
                bool store, std::uint32_t step, const MachineState& state);
  void note_counted(const Instruction& stores, const MachineState& state);
  void note_lost(const Instruction& instruction, std::uint32_t bytes);
  void note_passed(const Function& function, std::uint64_t other, const MachineState& state);
  std::uint64_t behind_stub(std::uint64_t address);
  std::uint64_t caller_of(const Function& function, const MachineState& state);
  bool whole_iterations(std::size_t& first, std::size_t& last);
  void find_steps();
  std::size_t copied_alone(std::size_t first, std::size_t last) const;
  std::optional<double> iterations_since(const RegisterSample& earlier,
                                         const RegisterSample& sample);
  void add_pace(double bytes, const RegisterSample& sample, const RegisterSample* earlier);
  void summarize(std::size_t first, std::size_t last, const RegisterSample& sample, double weight);
  void add_lost(const RegisterSample& sample, double scale);
  std::span<const Lost> lost_inside() const; // of the summarized range
  double bytes_of(std::size_t first, std::size_t last) const; // those lost included
  // in_no_order: set if these are streams that take turns.
  AccessPattern summary_of(std::span<const Access* const> accesses, bool& in_no_order) const;
  struct Index {
    std::uint64_t address = 0; // of one that was used; 0 = there is none
    bool is_own = false;       // loaded by the instruction itself, the time before
    std::int64_t step = 0;     // bytes: few counters are the indices, and go on by so much; else 0
    IndexArray array;          // that the indices are loaded from in order; else its scale is 0
  };
  Index index_of(std::span<const Access* const> accesses) const;

  FunctionCache& functions_;
  IndexReuse index_reuse_;
  NeededReads needed_;
  std::unordered_map<std::uint64_t, std::uint64_t> callers_; // return address by function
  std::vector<Access> accesses_;
  std::vector<Lost> lost_;
  std::vector<Visit> visits_;
  std::size_t settled_ = 0;  // first visit with all masks and indices known
  std::size_t complete_ = 0; // visits up to which all accesses are kept
  std::vector<AccessPattern> patterns_;
  LoopRegisters loop_;          // whose pace may be known: the sample's, or one around it
  std::uint64_t innermost_ = 0; // head of the sample's loop
  std::vector<Head> heads_;
  double iterations_ = 0;                        // of loop_, in the summarized range
  std::size_t first_visit_ = 0, last_visit_ = 0; // the same range
  std::uint64_t unknown_ = 0, known_ = 0, draws_ = 0;
};

} // namespace omptier
