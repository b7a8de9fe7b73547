// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// See elf_calls.hpp. Decodes in order of address; a byte that is no instruction is skipped.
#include "symbols/elf_calls.hpp"

#if defined(__x86_64__)
#include <Zydis/Zydis.h>

#include <array>
#endif

namespace omptier {

#if defined(__x86_64__)
namespace {

struct Decoder {
  ZydisDecoder decoder;
  ZydisDecoderContext context;
  ZydisDecodedInstruction instruction;
  ZydisDecodedOperand operands[ZYDIS_MAX_OPERAND_COUNT];

  Decoder() { ZydisDecoderInit(&decoder, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64); }
  bool decode(std::span<const std::uint8_t> code) {
    return ZYAN_SUCCESS(
        ZydisDecoderDecodeInstruction(&decoder, &context, code.data(), code.size(), &instruction));
  }
  bool decode_operands() {
    return instruction.operand_count > 0 &&
           ZYAN_SUCCESS(ZydisDecoderDecodeOperands(&decoder, &context, &instruction, operands,
                                                   instruction.operand_count));
  }
  // For the call or jump at the address, which was decoded last.
  void target(std::uint64_t address, Call& call) {
    if (!decode_operands()) return;
    const ZydisDecodedOperand& to = operands[0];
    const bool slot = to.type == ZYDIS_OPERAND_TYPE_MEMORY && to.mem.base == ZYDIS_REGISTER_RIP;
    if (!slot && to.type != ZYDIS_OPERAND_TYPE_IMMEDIATE) return;
    ZyanU64 absolute = 0;
    if (!ZYAN_SUCCESS(ZydisCalcAbsoluteAddress(&instruction, &to, address, &absolute))) return;
    call.goes = slot ? Call::Goes::through_slot : Call::Goes::to_address;
    call.target = absolute;
  }
};

// Addresses in registers, followed in order of address: compilers keep what they load before a loop
// in registers that calls preserve.
class HeldAddresses {
public:
  // To be called after each instruction.
  void follow(Decoder& decoder, std::uint64_t address) {
    const ZydisDecodedInstruction& code = decoder.instruction;
    if (code.meta.category == ZYDIS_CATEGORY_CALL) return forget_unpreserved();
    if (!decoder.decode_operands()) return;
    const std::uint64_t value = value_of(decoder, address);
    for (int i = 0; i < code.operand_count; ++i)
      if ((decoder.operands[i].actions & ZYDIS_OPERAND_ACTION_MASK_WRITE) != 0)
        if (std::uint64_t* held = slot(decoder.operands[i])) *held = 0;
    if (std::uint64_t* held = slot(decoder.operands[0]); held != nullptr && value != 0)
      *held = value;
  }
  std::uint64_t of(ZydisRegister name) { return held_[ZydisRegisterGetId(name)]; }

private:
  std::uint64_t* slot(const ZydisDecodedOperand& operand) {
    if (operand.type != ZYDIS_OPERAND_TYPE_REGISTER) return nullptr;
    const ZydisRegister whole =
        ZydisRegisterGetLargestEnclosing(ZYDIS_MACHINE_MODE_LONG_64, operand.reg.value);
    const bool general = ZydisRegisterGetClass(whole) == ZYDIS_REGCLASS_GPR64;
    return general ? &held_[ZydisRegisterGetId(whole)] : nullptr;
  }

  // lea and mov of an address, mov of a register that holds one; else 0.
  std::uint64_t value_of(Decoder& decoder, std::uint64_t address) {
    const ZydisDecodedOperand& from = decoder.operands[1];
    ZyanU64 absolute = 0;
    switch (decoder.instruction.mnemonic) {
    case ZYDIS_MNEMONIC_LEA:
      return from.mem.base == ZYDIS_REGISTER_RIP &&
                     ZYAN_SUCCESS(ZydisCalcAbsoluteAddress(&decoder.instruction, &from, address,
                                                           &absolute))
                 ? absolute
                 : 0;
    case ZYDIS_MNEMONIC_MOV:
      if (from.type == ZYDIS_OPERAND_TYPE_IMMEDIATE) return from.imm.value.u;
      if (std::uint64_t* held = from.size == 64 ? slot(from) : nullptr) return *held;
      return 0;
    default:
      return 0;
    }
  }

  void forget_unpreserved() {
    for (const ZydisRegister name :
         {ZYDIS_REGISTER_RAX, ZYDIS_REGISTER_RCX, ZYDIS_REGISTER_RDX, ZYDIS_REGISTER_RSI,
          ZYDIS_REGISTER_RDI, ZYDIS_REGISTER_R8, ZYDIS_REGISTER_R9, ZYDIS_REGISTER_R10,
          ZYDIS_REGISTER_R11})
      held_[ZydisRegisterGetId(name)] = 0;
  }

  std::array<std::uint64_t, 16> held_{};
};

} // namespace
#endif

std::vector<Call> calls_in(std::span<const std::uint8_t> code, std::uint64_t start) {
  std::vector<Call> calls;
#if defined(__x86_64__)
  Decoder decoder;
  HeldAddresses held;
  for (std::size_t at = 0; at < code.size();) {
    if (!decoder.decode(code.subspan(at))) {
      ++at;
      continue;
    }
    if (decoder.instruction.meta.category == ZYDIS_CATEGORY_CALL) {
      Call call;
      call.behind = start + at + decoder.instruction.length;
      decoder.target(start + at, call);
      call.first = held.of(ZYDIS_REGISTER_RDI);
      call.third = held.of(ZYDIS_REGISTER_RDX);
      calls.push_back(call);
    }
    held.follow(decoder, start + at);
    at += decoder.instruction.length;
  }
#else
  (void)code;
  (void)start;
#endif
  return calls;
}

std::optional<std::uint64_t> slot_of_stub(std::span<const std::uint8_t> code, std::uint64_t start) {
#if defined(__x86_64__)
  Decoder decoder;
  std::size_t at = 0;
  if (decoder.decode(code) && decoder.instruction.mnemonic == ZYDIS_MNEMONIC_ENDBR64)
    at = decoder.instruction.length;
  if (!decoder.decode(code.subspan(at)) || decoder.instruction.mnemonic != ZYDIS_MNEMONIC_JMP)
    return std::nullopt;
  Call jump;
  decoder.target(start + at, jump);
  if (jump.goes == Call::Goes::through_slot) return jump.target;
#else
  (void)code;
  (void)start;
#endif
  return std::nullopt;
}

} // namespace omptier
