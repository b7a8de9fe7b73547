// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// See stored_back.hpp.
#include "emulation/stored_back.hpp"

#include <cstdlib>
#include <cstring>
#include <optional>
#include <span>
#include <utility>

namespace omptier {
namespace {

constexpr std::int64_t k_line = 64;

bool has_register(std::uint16_t set, std::int8_t number) {
  return number >= 0 && number < k_instruction_pointer && (set >> number & 1) != 0;
}

bool is_of_general_registers(const MemoryOperand& memory) {
  return !memory.is_vector_indexed() && !memory.thread_local_base &&
         (memory.base >= 0 || memory.index >= 0) && memory.base != k_instruction_pointer;
}

// Of the same registers: most of the addresses are in one line. moved: what the registers have gone
// on by since the load.
bool is_near(const MemoryOperand& store, const MemoryOperand& load, std::int64_t moved) {
  return store.base == load.base && store.index == load.index &&
         (store.index < 0 || store.scale == load.scale) &&
         std::abs(store.displacement + moved - load.displacement) < k_line / 2;
}

// add or sub of a constant: what is added to the register; none for all other instructions.
std::optional<std::int64_t> added_by(std::span<const std::uint8_t> code, std::int8_t number) {
  constexpr std::uint8_t k_wide = 0x48, k_upper = 0x01, k_of_byte = 0x83, k_of_word = 0x81;
  if (code.size() < 4 || (code[0] & ~k_upper) != k_wide) return {};
  if ((code[0] & k_upper) != number >> 3 || (code[2] & 0xc7) != (0xc0 | (number & 7))) return {};
  const unsigned operation = code[2] >> 3 & 7; // 0: add, 5: sub
  if (operation != 0 && operation != 5) return {};
  std::int64_t constant = 0;
  if (code[1] == k_of_byte) {
    constant = static_cast<std::int8_t>(code[3]);
  } else if (code[1] == k_of_word && code.size() == 7) {
    std::int32_t word;
    std::memcpy(&word, &code[3], sizeof word);
    constant = word;
  } else {
    return {};
  }
  return operation == 0 ? constant : -constant;
}

// What the instruction adds to an address by the registers; nothing: they are not known any more.
std::optional<std::int64_t> moved_by(const Function& function, const Instruction& instruction,
                                     const MemoryOperand& memory) {
  std::int64_t moved = 0;
  for (const auto& [number, scale] : {std::pair(memory.base, 1), {memory.index, memory.scale}})
    if (has_register(instruction.general_written, number)) {
      const auto added = added_by(function.bytes_of(instruction), number);
      if (!added) return {};
      moved += *added * scale;
    }
  return moved;
}

} // namespace

bool is_stored_back(const Function& function, int number) {
  constexpr int k_furthest = 100; // instructions: an unrolled loop's body
  const auto& instructions = function.instructions;
  const auto count = static_cast<int>(instructions.size());
  if (number < 0 || number >= count) return false;
  const Instruction& load = instructions[static_cast<std::size_t>(number)];
  if (!load.has_memory || !load.memory.reads) return false;
  if (load.memory.writes) return true;
  if (!is_of_general_registers(load.memory)) return false;
  std::int64_t moved = 0;
  for (int at = number; at < count && at < number + k_furthest; ++at) {
    const Instruction& here = instructions[static_cast<std::size_t>(at)];
    if (at > number && here.has_memory && here.memory.writes &&
        is_of_general_registers(here.memory) && is_near(here.memory, load.memory, moved))
      return true;
    const auto step = moved_by(function, here, load.memory);
    if (here.flow != Flow::next || !step) return false;
    moved += *step;
  }
  return false;
}

} // namespace omptier
