// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// See effects.hpp.
#include "emulation/effects.hpp"

#include "emulation/execution.hpp"

namespace omptier {
namespace {

Parts part(unsigned first, int number) {
  return number < 0 ? 0 : Parts{1} << (first + static_cast<unsigned>(number));
}

Parts part_of(ZydisRegister reg) {
  if (reg >= ZYDIS_REGISTER_K0 && reg <= ZYDIS_REGISTER_K7)
    return part(k_first_mask, reg - ZYDIS_REGISTER_K0);
  return part(0, general_number(reg)) | part(k_first_vector, vector_number(reg));
}

Parts flags_of(ZydisAccessedFlagsMask flags) {
  return (flags & ZYDIS_CPUFLAG_CF ? part(k_first_flag, 0) : 0) |
         (flags & ZYDIS_CPUFLAG_ZF ? part(k_first_flag, 1) : 0) |
         (flags & ZYDIS_CPUFLAG_SF ? part(k_first_flag, 2) : 0) |
         (flags & ZYDIS_CPUFLAG_OF ? part(k_first_flag, 3) : 0);
}

void add_register(Effect& effect, const ZydisDecodedOperand& operand) {
  const Parts bit = part_of(operand.reg.value);
  if (operand.actions & ZYDIS_OPERAND_ACTION_MASK_READ) effect.reads |= bit;
  if (operand.actions & ZYDIS_OPERAND_ACTION_MASK_WRITE) effect.writes |= bit;
  if (operand.actions == ZYDIS_OPERAND_ACTION_WRITE && operand.size >= 32) effect.replaces |= bit;
}

void add_memory(Effect& effect, const ZydisDecodedOperand& operand, bool accesses) {
  const auto& memory = operand.mem;
  const Parts address = part_of(memory.base) | part_of(memory.index);
  if (!accesses) {
    effect.reads |= address;
    return;
  }
  effect.asks |= address;
  const bool stack = memory.base == ZYDIS_REGISTER_RSP ||
                     (memory.base == ZYDIS_REGISTER_RBP && memory.index == ZYDIS_REGISTER_NONE);
  if (stack && (operand.actions & ZYDIS_OPERAND_ACTION_MASK_READ)) effect.reads |= k_stack_part;
  if (stack && (operand.actions & ZYDIS_OPERAND_ACTION_MASK_WRITE)) effect.writes |= k_stack_part;
}

void add_flags(Effect& effect, const ZydisDecodedInstruction& instruction) {
  const ZydisAccessedFlags* flags = instruction.cpu_flags;
  if (flags == nullptr) return;
  const Parts written = flags_of(flags->modified | flags->set_0 | flags->set_1 | flags->undefined);
  const auto category = instruction.meta.category;
  effect.reads |= flags_of(flags->tested);
  effect.writes |= written;
  // A shift by zero keeps the flags.
  if (category != ZYDIS_CATEGORY_SHIFT && category != ZYDIS_CATEGORY_ROTATE)
    effect.replaces |= written;
}

bool clears(const Decoded& decoded) {
  const auto* operands = decoded.operands;
  return decoded.instruction.mnemonic == ZYDIS_MNEMONIC_XOR &&
         operands[0].type == ZYDIS_OPERAND_TYPE_REGISTER &&
         operands[1].type == ZYDIS_OPERAND_TYPE_REGISTER &&
         operands[0].reg.value == operands[1].reg.value;
}

} // namespace

Effect effect_of(const Function& function, const Instruction& instruction) {
  Effect effect;
  const Decoded* decoded = decode_again(function, instruction);
  if (decoded == nullptr || instruction.string_source || instruction.string_target) {
    effect.asks = k_all_parts;
    return effect;
  }
  if (instruction.fills) return effect;
  for (unsigned i = 0; i < decoded->instruction.operand_count; ++i) {
    const ZydisDecodedOperand& operand = decoded->operands[i];
    const bool hidden = operand.visibility != ZYDIS_OPERAND_VISIBILITY_EXPLICIT;
    if (operand.type == ZYDIS_OPERAND_TYPE_REGISTER) add_register(effect, operand);
    if (operand.type == ZYDIS_OPERAND_TYPE_MEMORY)
      add_memory(effect, operand, hidden || instruction.has_memory);
  }
  add_flags(effect, decoded->instruction);
  const bool gathers = instruction.memory.is_vector_indexed(); // also clears its mask
  effect.loaded = gathers ? part_of(decoded->operands[0].reg.value) : effect.writes;
  if (clears(*decoded)) effect.reads = 0;
  const std::int8_t mask = instruction.has_memory ? instruction.memory.mask : k_no_register;
  if (mask >= k_vector_masks) effect.asks |= part(k_first_vector, mask - k_vector_masks);
  if (mask >= 0 && mask < k_vector_masks) effect.asks |= part(k_first_mask, mask);
  if (instruction.flow != Flow::next) effect.asks |= effect.reads; // they decide the target
  // A jump table may lead anywhere.
  if (instruction.flow == Flow::end && instruction.has_memory) effect.asks = k_all_parts;
  return effect;
}

} // namespace omptier
