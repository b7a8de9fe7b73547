// SPDX-License-Identifier: GPL-2.0-or-later
#include "machine/timing/block.h"

#include <Zydis/Zydis.h>

static const ZydisDecoder* decoder(void) {
  static _Thread_local ZydisDecoder made;
  static _Thread_local bool ready;
  if (!ready)
    ready = ZYAN_SUCCESS(ZydisDecoderInit(&made, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64));
  return &made;
}

// −1: none whose value could become an address.
static int number_of(ZydisRegister reg) {
  switch (ZydisRegisterGetClass(reg)) {
  case ZYDIS_REGCLASS_GPR8:
  case ZYDIS_REGCLASS_GPR16:
  case ZYDIS_REGCLASS_GPR32:
  case ZYDIS_REGCLASS_GPR64:
    reg = ZydisRegisterGetLargestEnclosing(ZYDIS_MACHINE_MODE_LONG_64, reg);
    // The stack pointer moves by constants.
    return reg == ZYDIS_REGISTER_RSP ? -1 : ZydisRegisterGetId(reg);
  case ZYDIS_REGCLASS_XMM:
  case ZYDIS_REGCLASS_YMM: {
    int id = ZydisRegisterGetId(reg);
    return id < 16 ? 16 + id : -1;
  }
  case ZYDIS_REGCLASS_FLAGS:
    return k_flags;
  default:
    return -1;
  }
}

static block_sources sources_of(const struct block_builder* builder, ZydisRegister reg) {
  int number = number_of(reg);
  return number < 0 ? 0 : builder->registers[number];
}

// xor, comparison and the like of a register with itself: a constant, whatever it was.
static bool is_constant(const ZydisDecodedInstruction* instruction,
                    const ZydisDecodedOperand* operands) {
  switch (instruction->mnemonic) {
  case ZYDIS_MNEMONIC_XOR:
  case ZYDIS_MNEMONIC_SUB:
  case ZYDIS_MNEMONIC_XORPS:
  case ZYDIS_MNEMONIC_XORPD:
  case ZYDIS_MNEMONIC_PXOR:
  case ZYDIS_MNEMONIC_PCMPEQB:
  case ZYDIS_MNEMONIC_PCMPEQD:
  case ZYDIS_MNEMONIC_PCMPEQQ:
    return operands[0].type == ZYDIS_OPERAND_TYPE_REGISTER &&
           operands[1].type == ZYDIS_OPERAND_TYPE_REGISTER &&
           operands[0].reg.value == operands[1].reg.value;
  case ZYDIS_MNEMONIC_VXORPS:
  case ZYDIS_MNEMONIC_VXORPD:
  case ZYDIS_MNEMONIC_VPXOR:
  case ZYDIS_MNEMONIC_VPCMPEQB:
  case ZYDIS_MNEMONIC_VPCMPEQD:
  case ZYDIS_MNEMONIC_VPCMPEQQ:
    return operands[1].type == ZYDIS_OPERAND_TYPE_REGISTER &&
           operands[2].type == ZYDIS_OPERAND_TYPE_REGISTER &&
           operands[1].reg.value == operands[2].reg.value;
  default:
    return false;
  }
}

// A write that leaves part of the register as it was, or all of it if a condition is not met.
static bool keeps_old(const ZydisDecodedOperand* written) {
  return (written->actions & ZYDIS_OPERAND_ACTION_CONDWRITE) != 0 ||
         (ZydisRegisterGetClass(written->reg.value) <= ZYDIS_REGCLASS_GPR16 && written->size < 32);
}

static bool is_locked(const ZydisDecodedInstruction* instruction, bool stores) {
  return (instruction->attributes & ZYDIS_ATTRIB_HAS_LOCK) != 0 ||
         (instruction->mnemonic == ZYDIS_MNEMONIC_XCHG && stores);
}

static bool stores_past_caches(const ZydisDecodedInstruction* instruction) {
  switch (instruction->mnemonic) {
  case ZYDIS_MNEMONIC_MOVNTI:
  case ZYDIS_MNEMONIC_MOVNTDQ:
  case ZYDIS_MNEMONIC_MOVNTPS:
  case ZYDIS_MNEMONIC_MOVNTPD:
  case ZYDIS_MNEMONIC_VMOVNTDQ:
  case ZYDIS_MNEMONIC_VMOVNTPS:
  case ZYDIS_MNEMONIC_VMOVNTPD:
    return true;
  default:
    return false;
  }
}

void block_begin(struct block_builder* builder) {
  for (int i = 0; i < k_registers; i++)
    builder->registers[i] = (block_sources)1 << i;
  builder->instructions = builder->loads = 0;
  builder->branches = false;
}

void block_add(struct block_builder* builder, const uint8_t* code, size_t size,
               struct block_access* access) {
  ZydisDecodedInstruction instruction;
  ZydisDecodedOperand operands[ZYDIS_MAX_OPERAND_COUNT];
  *access = (struct block_access){.load = -1, .index = (uint16_t)builder->instructions};
  builder->instructions++;
  builder->branches = false;
  if (!ZYAN_SUCCESS(ZydisDecoderDecodeFull(decoder(), code, size, &instruction, operands))) return;
  builder->branches = instruction.meta.category == ZYDIS_CATEGORY_COND_BR;
  block_sources value = 0;
  bool loads = false, stores = false;
  for (unsigned i = 0; i < instruction.operand_count; i++) {
    const ZydisDecodedOperand* operand = &operands[i];
    if (operand->type == ZYDIS_OPERAND_TYPE_MEMORY) {
      block_sources address =
          sources_of(builder, operand->mem.base) | sources_of(builder, operand->mem.index);
      if (operand->mem.type == ZYDIS_MEMOP_TYPE_AGEN) {
        value |= address; // lea
        continue;
      }
      access->address |= address;
      loads |= (operand->actions & ZYDIS_OPERAND_ACTION_MASK_READ) != 0;
      stores |= (operand->actions & ZYDIS_OPERAND_ACTION_MASK_WRITE) != 0;
    } else if (operand->type == ZYDIS_OPERAND_TYPE_REGISTER &&
               (operand->actions & ZYDIS_OPERAND_ACTION_MASK_READ) != 0) {
      value |= sources_of(builder, operand->reg.value);
    }
  }
  if (is_constant(&instruction, operands)) value = 0;
  if (loads) {
    access->load = (int8_t)builder->loads;
    value |= (block_sources)1 << (32 + builder->loads);
    if (builder->loads < k_loads_of_block - 1) builder->loads++;
  }
  if (stores) access->stored = value;
  access->locked = is_locked(&instruction, stores);
  access->past_caches = stores_past_caches(&instruction);
  for (unsigned i = 0; i < instruction.operand_count; i++) {
    if (operands[i].type != ZYDIS_OPERAND_TYPE_REGISTER ||
        (operands[i].actions & ZYDIS_OPERAND_ACTION_MASK_WRITE) == 0)
      continue;
    int number = number_of(operands[i].reg.value);
    if (number < 0) continue;
    builder->registers[number] =
        keeps_old(&operands[i]) ? builder->registers[number] | value : value;
  }
}

void block_end(const struct block_builder* builder, struct block* block) {
  block->instructions = builder->instructions;
  block->branches = builder->branches;
  block->condition = builder->registers[k_flags];
  block->change_count = 0;
  for (int i = 0; i < k_registers; i++)
    if (builder->registers[i] != (block_sources)1 << i)
      block->changes[block->change_count++] =
          (struct block_change){(uint8_t)i, builder->registers[i]};
}
