// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decodes instructions again, with all operands; a Function keeps only what every sample needs.

#include "emulation/emulate.hpp"

#include "emulation/process_memory.hpp"

#include <algorithm>
#include <cstring>
#if defined(__x86_64__)
#include "emulation/execution.hpp"
#endif

namespace omptier {

namespace {

constexpr std::uint64_t k_red_zone = 128; // bytes, by the System V ABI of x86-64

} // namespace

MachineState MachineState::of(const RegisterSample& sample) {
  MachineState state;
  for (unsigned i = 0; i < k_general_registers; ++i)
    state.general[i] = sample.general[i];
  state.known = 0xffff;
  state.flags = sample.flags;
  state.flags_known = k_all_flags;
  state.stack_begin = sample.general[k_rsp];
  state.stack = std::span(sample.stack).first(sample.stack_bytes);
  return state;
}

void MachineState::forget(std::uint32_t general_mask, std::uint32_t vector_mask) {
  known = static_cast<std::uint16_t>(known & ~general_mask);
  vectors_known &= ~vector_mask;
}

void MachineState::set(unsigned general_register, std::optional<std::uint64_t> value) {
  if (!value) return forget(1u << general_register, 0);
  general[general_register] = *value;
  known = static_cast<std::uint16_t>(known | 1u << general_register);
}

void MachineState::set_mask(unsigned number, std::optional<std::uint64_t> value) {
  masks_known = static_cast<std::uint8_t>(masks_known & ~(1u << number));
  if (!value) return;
  masks[number] = *value;
  masks_known = static_cast<std::uint8_t>(masks_known | 1u << number);
}

bool MachineState::read_unwritten(std::uint64_t address, void* to, std::size_t bytes) const {
  if (address < hidden_end && address + bytes > hidden_begin) return false;
  // A leaf function's variables below the stack pointer: other functions' by now.
  if (address < stack_begin && address + bytes > stack_begin - k_red_zone) return false;
  const std::uint64_t above = address - stack_begin;
  if (above >= stack.size() || bytes > stack.size() - above) return lines_.read(address, to, bytes);
  std::memcpy(to, stack.data() + above, bytes);
  return true;
}

bool MachineState::read_written(std::uint64_t address, void* to, std::size_t bytes) const {
  auto* target = static_cast<std::uint8_t*>(to);
  for (std::size_t i = 0; i < bytes;) {
    const Word* const word = word_at(written_, (address + i) / 8);
    for (std::size_t byte = (address + i) % 8; byte < 8 && i < bytes; ++byte, ++i) {
      if (word == nullptr || !(word->known >> byte & 1)) return false;
      target[i] = word->bytes[byte];
    }
  }
  return true;
}

bool MachineState::read(std::uint64_t address, void* to, std::size_t bytes) const {
  if (skips_reads) {
    skipped = true;
    return false;
  }
  const bool from_memory = read_unwritten(address, to, bytes);
  if (written_.empty()) return from_memory;
  auto* target = static_cast<std::uint8_t*>(to);
  for (std::size_t i = 0; i < bytes;) {
    const Word* const word = word_at(written_, (address + i) / 8);
    for (std::size_t byte = (address + i) % 8; byte < 8 && i < bytes; ++byte, ++i) {
      const bool ours = word != nullptr && (word->written >> byte & 1);
      if (ours && !(word->known >> byte & 1)) missed = true;
      if (ours ? !(word->known >> byte & 1) : !from_memory) return false;
      if (ours) target[i] = word->bytes[byte];
    }
  }
  return true;
}

void MachineState::write(std::uint64_t address, const void* from, std::size_t bytes) {
  const auto* source = static_cast<const std::uint8_t*>(from);
  for (std::size_t i = 0; i < bytes;) {
    const std::uint64_t place = (address + i) / 8;
    Word* word = word_at(written_, place);
    if (word == nullptr) word = &written_.emplace_back(Word{place});
    for (std::size_t byte = (address + i) % 8; byte < 8 && i < bytes; ++byte, ++i) {
      const auto bit = static_cast<std::uint8_t>(1u << byte);
      word->written |= bit;
      word->known = static_cast<std::uint8_t>(source ? word->known | bit : word->known & ~bit);
      if (source) word->bytes[byte] = source[i];
    }
  }
}

std::optional<std::uint64_t> address_in(const Instruction& instruction, const MachineState& state,
                                        unsigned lane) {
  const MemoryOperand& memory = instruction.memory;
  if (memory.thread_local_base) return {};
  if (instruction.string_source || instruction.string_target) {
    std::int8_t pointer = instruction.string_target ? k_rdi : k_rsi;
    if (!state.knows(pointer)) return {};
    return state.general[pointer];
  }
  if (!instruction.has_memory) return {};
  auto address = static_cast<std::uint64_t>(memory.displacement);
  if (memory.base == k_instruction_pointer) {
    address += instruction.end();
  } else if (memory.base >= 0) {
    if (!state.knows(memory.base)) return {};
    address += state.general[memory.base];
  }
  if (memory.is_vector_indexed()) {
    if (memory.index < 0 || !(state.vectors_known >> memory.index & 1)) return {};
    const auto* lanes = state.vectors[static_cast<std::uint8_t>(memory.index)].data();
    std::int64_t index = 0;
    if (memory.index_bytes == 8) {
      std::memcpy(&index, lanes + std::size_t{8} * (lane % memory.lanes), 8);
    } else {
      std::int32_t narrow = 0;
      std::memcpy(&narrow, lanes + std::size_t{4} * (lane % memory.lanes), 4);
      index = narrow;
    }
    return address + static_cast<std::uint64_t>(index) * memory.scale;
  }
  if (memory.index >= 0) {
    if (!state.knows(memory.index)) return {};
    address += state.general[memory.index] * memory.scale;
  }
  return address;
}

std::optional<std::uint64_t> active_lanes(const Instruction& instruction,
                                          const MachineState& state) {
  const MemoryOperand& memory = instruction.memory;
  const std::uint64_t all =
      memory.lanes >= 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << memory.lanes) - 1;
  if (memory.mask == k_no_register) return all;
  if (memory.mask < k_vector_masks) {
    const auto number = static_cast<std::uint8_t>(memory.mask);
    if (!state.knows_mask(number)) return {};
    return state.masks[number] & all;
  }
  const auto number = static_cast<unsigned>(memory.mask - k_vector_masks);
  if (!(state.vectors_known >> number & 1)) return {};
  std::uint64_t lanes = 0; // the sign of each element
  for (unsigned lane = 0; lane < memory.lanes; ++lane) {
    const std::size_t last = std::size_t{lane + 1u} * memory.lane_bytes - 1;
    if (last < 64 && state.vectors[number][last] >> 7) lanes |= std::uint64_t{1} << lane;
  }
  return lanes;
}

#if defined(__x86_64__)

namespace {

// The constant of reg := reg + constant (add, sub, inc, dec, lea), if the instruction is one.
std::optional<std::uint64_t> added_constant(const Decoded& decoded) {
  const auto* operands = decoded.operands;
  if (operands[0].type != ZYDIS_OPERAND_TYPE_REGISTER || operands[0].size != 64) return {};
  switch (decoded.instruction.mnemonic) {
  case ZYDIS_MNEMONIC_INC:
    return 1;
  case ZYDIS_MNEMONIC_DEC:
    return ~std::uint64_t{0};
  case ZYDIS_MNEMONIC_ADD:
  case ZYDIS_MNEMONIC_SUB: {
    if (operands[1].type != ZYDIS_OPERAND_TYPE_IMMEDIATE) return {};
    std::uint64_t constant = operands[1].imm.value.u;
    return decoded.instruction.mnemonic == ZYDIS_MNEMONIC_ADD ? constant : 0 - constant;
  }
  case ZYDIS_MNEMONIC_LEA:
    if (operands[1].mem.base != operands[0].reg.value ||
        operands[1].mem.index != ZYDIS_REGISTER_NONE)
      return {};
    return operands[1].mem.disp.has_displacement
               ? static_cast<std::uint64_t>(operands[1].mem.disp.value)
               : 0;
  default:
    return {};
  }
}

} // namespace

void step(const Function& function, const Instruction& instruction, MachineState& state) {
  if (instruction.flow == Flow::call || instruction.flow == Flow::kernel) {
    state.forget(k_caller_saved, ~0u);
    state.flags_known = state.masks_known = 0;
    return;
  }
  if (instruction.flow != Flow::next) return; // branches change nothing else
  if (const Decoded* decoded = decode_again(function, instruction))
    execute(instruction, *decoded, state);
  else
    state.forget(~0u, ~0u), state.masks_known = 0;
}

void rewind(const Function& function, const Instruction& instruction, MachineState& state) {
  if (!instruction.general_written && !instruction.vectors_written && !instruction.masks_written)
    return;
  state.flags_known = 0;
  state.masks_known = static_cast<std::uint8_t>(state.masks_known & ~instruction.masks_written);
  const Decoded* decoded = decode_again(function, instruction);
  if (decoded == nullptr) return state.forget(~0u, ~0u);
  if (auto constant = added_constant(*decoded)) {
    const std::int8_t number = general_number(decoded->operands[0].reg.value);
    if (number < 0) return state.forget(~0u, ~0u);
    state.general[number] -= *constant;
    return;
  }
  state.forget(instruction.general_written, instruction.vectors_written);
}

namespace {

// The value of register `number` before the instruction.
struct Undone {
  std::int8_t number = k_no_register;
  std::optional<std::uint64_t> value;
};

// lea: solvable if one register of the sum is the target itself, or the only unknown one.
Undone undo_address(const Decoded& decoded, std::int8_t target, std::uint64_t value,
                    const MachineState& after) {
  const auto& memory = decoded.operands[1].mem;
  const std::int8_t base = general_number(memory.base), index = general_number(memory.index);
  const bool narrow = decoded.operands[0].size != 64 || memory.base == ZYDIS_REGISTER_RIP;
  if (narrow || base == index) return {};
  std::uint64_t rest =
      value - static_cast<std::uint64_t>(memory.disp.has_displacement ? memory.disp.value : 0);
  const auto known = [&](std::int8_t number) { return number != target && after.knows(number); };
  if (base >= 0 && known(base)) {
    rest -= after.general[base];
    if (index < 0 || memory.scale == 0) return {};
    const auto way = static_cast<std::int64_t>(rest);
    if (way % memory.scale != 0) return {};
    return {index, static_cast<std::uint64_t>(way / memory.scale)};
  }
  if (base < 0) {
    const auto way = static_cast<std::int64_t>(rest);
    if (index < 0 || memory.scale == 0 || way % memory.scale != 0) return {};
    return {index, static_cast<std::uint64_t>(way / memory.scale)};
  }
  if (index < 0) return {base, rest};
  if (!known(index)) return {};
  return {base, rest - after.general[index] * memory.scale};
}

Undone undo_one(const Decoded& decoded, const MachineState& after) {
  const auto* operands = decoded.operands;
  const bool sized = operands[0].type == ZYDIS_OPERAND_TYPE_REGISTER && operands[0].size == 64;
  const std::int8_t target = sized ? general_number(operands[0].reg.value) : k_no_register;
  if (target < 0 || !after.knows(target)) return {};
  const std::uint64_t value = after.general[target];
  if (const auto constant = added_constant(decoded);
      constant && decoded.instruction.mnemonic != ZYDIS_MNEMONIC_LEA)
    return {target, value - *constant};
  const std::int8_t source = operands[1].type == ZYDIS_OPERAND_TYPE_REGISTER
                                 ? general_number(operands[1].reg.value)
                                 : k_no_register;
  const bool other = source >= 0 && source != target && after.knows(source);
  switch (decoded.instruction.mnemonic) {
  case ZYDIS_MNEMONIC_MOV:
    if (source < 0) return {};
    return {source, value};
  case ZYDIS_MNEMONIC_ADD:
    if (!other) return {};
    return {target, value - after.general[source]};
  case ZYDIS_MNEMONIC_SUB:
    if (!other) return {};
    return {target, value + after.general[source]};
  case ZYDIS_MNEMONIC_LEA:
    return undo_address(decoded, target, value, after);
  default:
    return {};
  }
}

} // namespace

void undo(const Function& function, const Instruction& instruction, MachineState& state) {
  const Decoded* decoded = decode_again(function, instruction);
  if (decoded == nullptr) return state.forget(~0u, ~0u);
  const Undone found = undo_one(*decoded, state);
  state.forget(instruction.general_written, instruction.vectors_written);
  if (found.value) state.set(static_cast<unsigned>(found.number), found.value);
}

std::optional<bool> branch_taken(const Function& function, const Instruction& instruction,
                                 const MachineState& state) {
  const Decoded* decoded = decode_again(function, instruction);
  if (decoded == nullptr) return {};
  if (decoded->instruction.mnemonic == ZYDIS_MNEMONIC_JRCXZ)
    return state.knows(k_rcx) ? std::optional(state.general[k_rcx] == 0) : std::nullopt;
  return condition_holds(decoded->instruction.mnemonic, state);
}

#else

void step(const Function&, const Instruction&, MachineState& state) {
  state.forget(~0u, ~0u);
}
void rewind(const Function&, const Instruction&, MachineState& state) {
  state.forget(~0u, ~0u);
}
void undo(const Function&, const Instruction&, MachineState& state) {
  state.forget(~0u, ~0u);
}
std::optional<bool> branch_taken(const Function&, const Instruction&, const MachineState&) {
  return {};
}

#endif

} // namespace omptier
