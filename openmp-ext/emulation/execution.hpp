// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The effects of single instructions on an emulated state (x86-64 only), for emulate.cpp. Integer
// instructions are in execution.cpp, vectors that hold indices in execution_vector.cpp,
// floating-point values that become indices in execution_float.cpp, masks in execution_mask.cpp,
// gathers in execution_gather.cpp.
#pragma once

#include "emulation/emulate.hpp"
#include "emulation/register_numbers.hpp"

#include <cstdint>
#include <functional>
#include <optional>

namespace omptier {

struct Decoded {
  ZydisDecodedInstruction instruction;
  ZydisDecodedOperand operands[ZYDIS_MAX_OPERAND_COUNT];
};

// Decodes with everything that a Function does not keep, through a small cache: valid until the
// next call; null if it cannot be decoded. Helper thread only.
const Decoded* decode_again(const Function& function, const Instruction& instruction);

void execute(const Instruction& instruction, const Decoded& decoded, MachineState& state);

// For a conditional branch, cmov or set. Nothing if a flag is unknown, or for other instructions.
std::optional<bool> condition_holds(ZydisMnemonic mnemonic, const MachineState& state);

// Operands are numbered as by Zydis, targets first.
class Execution {
public:
  using Value = std::optional<std::uint64_t>;

  Execution(const Instruction& compact, const Decoded& decoded, MachineState& state)
      : compact_(compact), decoded_(decoded), state_(state) {}
  // Each returns false for an instruction that it does not handle.
  bool run_moves();
  bool run_arithmetic();
  bool run_bits();
  bool run_stack();
  bool run_vectors();
  bool run_masks();
  bool run_gathers();
  bool run_floats();
  void forget_written();

private:
  ZydisMnemonic mnemonic() const { return decoded_.instruction.mnemonic; }
  const ZydisDecodedOperand& operand(unsigned i) const { return decoded_.operands[i]; }
  unsigned visible() const { return decoded_.instruction.operand_count_visible; }
  unsigned bits() const { return operand(0).size; } // of the target

  Value get(unsigned i) const;
  Value effective_address(unsigned i) const;
  void put(unsigned i, Value value);
  void set_flags(std::uint64_t which, Value result, bool carry = false, bool overflow = false);

  void add(Value left, Value right, bool carry_in, bool keep);
  void subtract(Value left, Value right, bool borrow, bool keep);
  void logical(std::uint64_t (*operation)(std::uint64_t, std::uint64_t), bool keep);
  void shift();
  void rotate();
  void multiply();
  void multiply_wide();
  void divide();
  void extend_accumulator();
  void count_bits();
  void conditional_move();
  void exchange();
  void string();

  using Lane = std::function<std::uint64_t(std::uint64_t, std::uint64_t)>;
  bool vector_get(unsigned i, std::uint8_t* to, std::size_t bytes) const;
  void vector_put(unsigned i, const std::uint8_t* from, std::size_t bytes);
  bool has_mask() const;
  bool keep_lanes(std::uint8_t* value, std::size_t bytes) const;
  void move_vector();
  void move_lowest();
  void widen(unsigned from, unsigned to, bool with_sign);
  void lanes(unsigned width, const Lane& operation);
  void lanes_by_constant(unsigned width, const Lane& operation);
  void broadcast(unsigned width);
  void extract();
  void interleave(unsigned width, bool upper);
  void shuffle();
  void load_upper();
  void insert_half();
  void combine_by_table();

  Value mask_get(unsigned i) const;
  void mask_put(unsigned i, Value value);
  void move_mask();
  void combine_masks();
  using Test = std::function<bool(std::uint64_t, std::uint64_t)>;
  void compare(unsigned width, const Test& test, unsigned last_source);
  void compare_by_number(unsigned width, bool with_sign);
  void spread_mask(unsigned width);
  void gather_signs(unsigned width);

  struct FusedOperands {
    unsigned left, right, added;
  };
  struct FusedSigns { // of the product and of what is added: whether negated
    bool product, added;
  };
  void scalar_rest(unsigned i, std::uint8_t* to) const;
  template <typename T, typename Operation> void floats(bool scalar, const Operation& operation);
  template <typename T, typename Operation>
  void floats_of_one(bool scalar, unsigned at, const Operation& operation);
  template <typename T> void round(bool scalar);
  template <typename T> void multiply_add(bool scalar, FusedOperands which, FusedSigns signs);
  template <typename From> void to_integer(bool truncates);
  template <typename To> void from_integer();
  template <typename From, typename To> void convert(bool scalar, bool truncates);
  template <typename T> void move_scalar();
  template <typename T> void compare_scalars();
  template <typename T> bool compare_lanes(bool scalar);

  const Instruction& compact_;
  const Decoded& decoded_;
  MachineState& state_;
};

} // namespace omptier
