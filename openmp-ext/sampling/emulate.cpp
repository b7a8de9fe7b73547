// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Instructions are decoded again here with all operands; the compact form that is kept of a
// function has only what every sample needs. Arithmetic is done on 64 bits and cut to the operand's
// size. Flags follow the few instructions that loops end with.

#include "sampling/emulate.hpp"

#include "sampling/process_memory.hpp"

#include <cstring>
#if defined(__x86_64__)
#include <Zydis/Zydis.h>
#endif

namespace omptier {

MachineState MachineState::of(const RegisterSample& sample) {
  MachineState state;
  for (unsigned i = 0; i < k_general_registers; ++i)
    state.general[i] = sample.general[i];
  state.known = 0xffff;
  state.flags = sample.flags;
  state.flags_known = true;
  return state;
}

void MachineState::forget(std::uint32_t general_mask, std::uint32_t vector_mask) {
  known = static_cast<std::uint16_t>(known & ~general_mask);
  vectors_known &= ~vector_mask;
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

#if defined(__x86_64__)

namespace {

constexpr std::uint64_t k_carry = 1, k_zero = 1 << 6, k_sign = 1 << 7, k_overflow = 1 << 11;
// What a function may change by the System V calling convention, besides all vector registers.
constexpr std::uint32_t k_caller_saved =
    1u << k_rax | 1u << k_rcx | 1u << k_rdx | 1u << k_rsi | 1u << k_rdi | 0x0f00;

std::int8_t general_number(ZydisRegister reg) {
  reg = ZydisRegisterGetLargestEnclosing(ZYDIS_MACHINE_MODE_LONG_64, reg);
  if (reg < ZYDIS_REGISTER_RAX || reg > ZYDIS_REGISTER_R15) return k_no_register;
  return static_cast<std::int8_t>(reg - ZYDIS_REGISTER_RAX);
}

int vector_number(ZydisRegister reg) {
  reg = ZydisRegisterGetLargestEnclosing(ZYDIS_MACHINE_MODE_LONG_64, reg);
  if (reg < ZYDIS_REGISTER_ZMM0 || reg > ZYDIS_REGISTER_ZMM31) return -1;
  return reg - ZYDIS_REGISTER_ZMM0;
}

std::uint64_t cut(std::uint64_t value, unsigned bits) {
  return bits >= 64 ? value : value & ((std::uint64_t{1} << bits) - 1);
}

std::uint64_t sign_extend(std::uint64_t value, unsigned bits) {
  if (bits >= 64) return value;
  return static_cast<std::uint64_t>(static_cast<std::int64_t>(value << (64 - bits)) >> (64 - bits));
}

struct Decoded {
  ZydisDecodedInstruction instruction;
  ZydisDecodedOperand operands[ZYDIS_MAX_OPERAND_COUNT];
};

bool decode_again(const Function& function, const Instruction& instruction, Decoded& to) {
  static const ZydisDecoder decoder = [] {
    ZydisDecoder made;
    ZydisDecoderInit(&made, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64);
    return made;
  }();
  auto bytes = function.bytes_of(instruction);
  return ZYAN_SUCCESS(
      ZydisDecoderDecodeFull(&decoder, bytes.data(), bytes.size(), &to.instruction, to.operands));
}

// One instruction's execution on a state.
class Execution {
public:
  Execution(const Instruction& compact, const Decoded& decoded, MachineState& state)
      : compact_(compact), decoded_(decoded), state_(state) {}

  void run();

private:
  using Value = std::optional<std::uint64_t>;
  const ZydisDecodedOperand& operand(unsigned i) const { return decoded_.operands[i]; }
  unsigned visible() const { return decoded_.instruction.operand_count_visible; }

  Value get(unsigned i) const;
  Value effective_address(unsigned i) const;
  void put(unsigned i, Value value);
  void set_flags(Value result, unsigned bits, bool carry, bool overflow);
  void add_or_subtract(bool subtract, bool keep);
  void logical(std::uint64_t (*operation)(std::uint64_t, std::uint64_t), bool keep);
  void shift();
  void multiply();
  void move_vector(unsigned widened_from, bool with_sign);
  void forget_written();

  const Instruction& compact_;
  const Decoded& decoded_;
  MachineState& state_;
};

Execution::Value Execution::get(unsigned i) const {
  const ZydisDecodedOperand& from = operand(i);
  if (from.type == ZYDIS_OPERAND_TYPE_IMMEDIATE) return from.imm.value.u;
  if (from.type == ZYDIS_OPERAND_TYPE_REGISTER) {
    std::int8_t number = general_number(from.reg.value);
    if (number < 0 || !state_.knows(number)) return {};
    bool high = from.reg.value >= ZYDIS_REGISTER_AH && from.reg.value <= ZYDIS_REGISTER_BH;
    return cut(state_.general[number] >> (high ? 8 : 0), from.size);
  }
  if (from.type == ZYDIS_OPERAND_TYPE_MEMORY && from.size <= 64) {
    std::uint64_t value = 0;
    auto address = address_in(compact_, state_);
    if (address && read_own_memory(*address, &value, from.size / 8)) return value;
  }
  return {};
}

Execution::Value Execution::effective_address(unsigned i) const {
  const auto& memory = operand(i).mem;
  auto sum = static_cast<std::uint64_t>(memory.disp.has_displacement ? memory.disp.value : 0);
  if (memory.base == ZYDIS_REGISTER_RIP) {
    sum += compact_.end();
  } else if (memory.base != ZYDIS_REGISTER_NONE) {
    std::int8_t base = general_number(memory.base);
    if (base < 0 || !state_.knows(base)) return {};
    sum += state_.general[base];
  }
  if (memory.index != ZYDIS_REGISTER_NONE) {
    std::int8_t index = general_number(memory.index);
    if (index < 0 || !state_.knows(index)) return {};
    sum += state_.general[index] * memory.scale;
  }
  return sum;
}

void Execution::put(unsigned i, Value value) {
  const ZydisDecodedOperand& to = operand(i);
  if (to.type != ZYDIS_OPERAND_TYPE_REGISTER) return; // memory is never written
  std::int8_t number = general_number(to.reg.value);
  if (number < 0) return;
  std::uint64_t& stored = state_.general[number];
  bool high = to.reg.value >= ZYDIS_REGISTER_AH && to.reg.value <= ZYDIS_REGISTER_BH;
  bool partial = to.size < 32;
  if (!value || high || (partial && !state_.knows(number))) return state_.forget(1u << number, 0);
  std::uint64_t kept = partial ? stored & ~cut(~std::uint64_t{0}, to.size) : 0;
  stored = kept | cut(*value, to.size);
  state_.known = static_cast<std::uint16_t>(state_.known | 1u << number);
}

void Execution::set_flags(Value result, unsigned bits, bool carry, bool overflow) {
  state_.flags_known = result.has_value();
  if (!result) return;
  std::uint64_t value = cut(*result, bits);
  state_.flags = (carry ? k_carry : 0) | (value == 0 ? k_zero : 0) |
                 (value >> (bits - 1) & 1 ? k_sign : 0) | (overflow ? k_overflow : 0);
}

void Execution::add_or_subtract(bool subtract, bool keep) {
  unsigned bits = operand(0).size;
  bool by_one = decoded_.instruction.mnemonic == ZYDIS_MNEMONIC_INC ||
                decoded_.instruction.mnemonic == ZYDIS_MNEMONIC_DEC;
  Value left = get(0), right = by_one ? Value(1) : get(1), result;
  bool carry = false, overflow = false;
  if (left && right) {
    std::uint64_t a = cut(*left, bits), b = cut(*right, bits);
    result = cut(subtract ? a - b : a + b, bits);
    carry = subtract ? a < b : *result < a;

    std::uint64_t differing = subtract ? a ^ b : ~(a ^ b);
    overflow = (differing & (a ^ *result)) >> (bits - 1) & 1;
    if (by_one) carry = (state_.flags & k_carry) != 0;
  }
  set_flags(result, bits, carry, overflow);
  if (keep) put(0, result);
}

void Execution::logical(std::uint64_t (*operation)(std::uint64_t, std::uint64_t), bool keep) {
  bool clears = decoded_.instruction.mnemonic == ZYDIS_MNEMONIC_XOR &&
                operand(0).type == ZYDIS_OPERAND_TYPE_REGISTER &&
                operand(1).type == ZYDIS_OPERAND_TYPE_REGISTER &&
                operand(0).reg.value == operand(1).reg.value;
  Value left = get(0), right = get(1), result;
  if (left && right) result = operation(*left, *right);
  if (clears) result = 0;
  set_flags(result, operand(0).size, false, false);
  if (keep) put(0, result);
}

void Execution::shift() {
  unsigned bits = operand(0).size;
  bool vex = visible() == 3; // shlx, shrx, sarx: flags stay
  Value value = get(vex ? 1 : 0), count = get(vex ? 2 : 1), result;
  if (value && count) {
    unsigned by = static_cast<unsigned>(*count) & (bits == 64 ? 63 : 31);
    switch (decoded_.instruction.mnemonic) {
    case ZYDIS_MNEMONIC_SHL:
    case ZYDIS_MNEMONIC_SHLX:
      result = *value << by;
      break;
    case ZYDIS_MNEMONIC_SHR:
    case ZYDIS_MNEMONIC_SHRX:
      result = cut(*value, bits) >> by;
      break;
    default:
      result =
          static_cast<std::uint64_t>(static_cast<std::int64_t>(sign_extend(*value, bits)) >> by);
      break;
    }
  }
  put(0, result);
  if (!vex) state_.flags_known = false;
}

void Execution::multiply() {
  if (visible() == 1) return forget_written(); // into rdx:rax
  Value left = get(visible() - 2), right = get(visible() - 1);
  put(0, left && right ? Value(*left * *right) : Value());
  state_.flags_known = false;
}

// Moves of whole vectors and widening moves, which carry the indices of gathers.
void Execution::move_vector(unsigned widened_from, bool with_sign) {
  int to =
      operand(0).type == ZYDIS_OPERAND_TYPE_REGISTER ? vector_number(operand(0).reg.value) : -1;
  unsigned last = visible() - 1;
  if (to < 0 || visible() > 3) return forget_written();
  if (visible() == 3 && operand(1).reg.value != ZYDIS_REGISTER_K0) return forget_written();
  unsigned bytes = operand(0).size / 8, wanted = widened_from ? bytes / 8 * widened_from : bytes;
  std::array<std::uint8_t, 64> source = {};
  const ZydisDecodedOperand& from = operand(last);
  bool known = false;
  if (from.type == ZYDIS_OPERAND_TYPE_MEMORY) {
    auto address = address_in(compact_, state_);
    known = address && wanted <= source.size() && read_own_memory(*address, source.data(), wanted);
  } else if (from.type == ZYDIS_OPERAND_TYPE_REGISTER) {
    int number = vector_number(from.reg.value);
    known = number >= 0 && (state_.vectors_known >> number & 1);
    if (known) source = state_.vectors[static_cast<std::size_t>(number)];
  }
  state_.forget(0, 1u << to);
  if (!known) return;
  auto& target = state_.vectors[static_cast<std::size_t>(to)];
  target.fill(0);
  for (std::size_t lane = 0; widened_from && lane < bytes / 8; ++lane) {
    std::uint64_t value = 0;
    std::memcpy(&value, source.data() + lane * widened_from, widened_from);
    if (with_sign) value = sign_extend(value, widened_from * 8);
    std::memcpy(target.data() + lane * 8, &value, 8);
  }
  if (!widened_from) std::memcpy(target.data(), source.data(), bytes);
  state_.vectors_known |= 1u << to;
}

void Execution::forget_written() {
  state_.forget(compact_.general_written, compact_.vectors_written);
  if (decoded_.instruction.cpu_flags && decoded_.instruction.cpu_flags->modified)
    state_.flags_known = false;
}

void Execution::run() {
  switch (decoded_.instruction.mnemonic) {
  case ZYDIS_MNEMONIC_MOV:
  case ZYDIS_MNEMONIC_MOVZX:
    return put(0, get(1));
  case ZYDIS_MNEMONIC_MOVSX:
  case ZYDIS_MNEMONIC_MOVSXD: {
    Value value = get(1);
    return put(0, value ? Value(sign_extend(*value, operand(1).size)) : value);
  }
  case ZYDIS_MNEMONIC_CDQE:
    state_.general[k_rax] = sign_extend(cut(state_.general[k_rax], 32), 32);
    return;
  case ZYDIS_MNEMONIC_LEA:
    return put(0, effective_address(1));
  case ZYDIS_MNEMONIC_ADD:
  case ZYDIS_MNEMONIC_INC:
    return add_or_subtract(false, true);
  case ZYDIS_MNEMONIC_SUB:
  case ZYDIS_MNEMONIC_DEC:
    return add_or_subtract(true, true);
  case ZYDIS_MNEMONIC_CMP:
    return add_or_subtract(true, false);
  case ZYDIS_MNEMONIC_AND:
    return logical([](std::uint64_t a, std::uint64_t b) { return a & b; }, true);
  case ZYDIS_MNEMONIC_TEST:
    return logical([](std::uint64_t a, std::uint64_t b) { return a & b; }, false);
  case ZYDIS_MNEMONIC_OR:
    return logical([](std::uint64_t a, std::uint64_t b) { return a | b; }, true);
  case ZYDIS_MNEMONIC_XOR:
    return logical([](std::uint64_t a, std::uint64_t b) { return a ^ b; }, true);
  case ZYDIS_MNEMONIC_SHL:
  case ZYDIS_MNEMONIC_SHR:
  case ZYDIS_MNEMONIC_SAR:
  case ZYDIS_MNEMONIC_SHLX:
  case ZYDIS_MNEMONIC_SHRX:
  case ZYDIS_MNEMONIC_SARX:
    return shift();
  case ZYDIS_MNEMONIC_IMUL:
    return multiply();
  case ZYDIS_MNEMONIC_MOVDQA:
  case ZYDIS_MNEMONIC_MOVDQU:
  case ZYDIS_MNEMONIC_VMOVDQA:
  case ZYDIS_MNEMONIC_VMOVDQU:
  case ZYDIS_MNEMONIC_VMOVDQA32:
  case ZYDIS_MNEMONIC_VMOVDQA64:
  case ZYDIS_MNEMONIC_VMOVDQU32:
  case ZYDIS_MNEMONIC_VMOVDQU64:
  case ZYDIS_MNEMONIC_VMOVUPS:
  case ZYDIS_MNEMONIC_VMOVAPS:
  case ZYDIS_MNEMONIC_VMOVUPD:
  case ZYDIS_MNEMONIC_VMOVAPD:
    return move_vector(0, false);
  case ZYDIS_MNEMONIC_VPMOVZXDQ:
    return move_vector(4, false);
  case ZYDIS_MNEMONIC_VPMOVSXDQ:
    return move_vector(4, true);
  default:
    return forget_written();
  }
}

// reg := reg + constant, as add, sub, inc, dec and lea write it; what was added.
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
    state.flags_known = false;
    return;
  }
  if (instruction.flow != Flow::next) return; // branches change nothing else
  Decoded decoded;
  if (decode_again(function, instruction, decoded))
    Execution(instruction, decoded, state).run();
  else
    state.forget(~0u, ~0u);
}

void rewind(const Function& function, const Instruction& instruction, MachineState& state) {
  if (!instruction.general_written && !instruction.vectors_written) return;
  state.flags_known = false;
  Decoded decoded;
  if (!decode_again(function, instruction, decoded)) return state.forget(~0u, ~0u);
  if (auto constant = added_constant(decoded)) {
    const std::int8_t number = general_number(decoded.operands[0].reg.value);
    if (number < 0) return state.forget(~0u, ~0u);
    state.general[number] -= *constant;
    return;
  }
  state.forget(instruction.general_written, instruction.vectors_written);
}

std::optional<bool> branch_taken(const Function& function, const Instruction& instruction,
                                 const MachineState& state) {
  Decoded decoded;
  if (!state.flags_known || !decode_again(function, instruction, decoded)) return {};
  bool carry = state.flags & k_carry, zero = state.flags & k_zero, sign = state.flags & k_sign;
  bool overflow = state.flags & k_overflow;
  switch (decoded.instruction.mnemonic) {
  case ZYDIS_MNEMONIC_JZ:
    return zero;
  case ZYDIS_MNEMONIC_JNZ:
    return !zero;
  case ZYDIS_MNEMONIC_JB:
    return carry;
  case ZYDIS_MNEMONIC_JNB:
    return !carry;
  case ZYDIS_MNEMONIC_JBE:
    return carry || zero;
  case ZYDIS_MNEMONIC_JNBE:
    return !carry && !zero;
  case ZYDIS_MNEMONIC_JS:
    return sign;
  case ZYDIS_MNEMONIC_JNS:
    return !sign;
  case ZYDIS_MNEMONIC_JL:
    return sign != overflow;
  case ZYDIS_MNEMONIC_JNL:
    return sign == overflow;
  case ZYDIS_MNEMONIC_JLE:
    return zero || sign != overflow;
  case ZYDIS_MNEMONIC_JNLE:
    return !zero && sign == overflow;
  default:
    return {};
  }
}

#else

void step(const Function&, const Instruction&, MachineState& state) {
  state.forget(~0u, ~0u);
}
void rewind(const Function&, const Instruction&, MachineState& state) {
  state.forget(~0u, ~0u);
}
std::optional<bool> branch_taken(const Function&, const Instruction&, const MachineState&) {
  return {};
}

#endif

} // namespace omptier
