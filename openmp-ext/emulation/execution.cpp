// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Arithmetic in 64 bits, truncated to the operand's size. Flags not computed become unknown.

#include "emulation/execution.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <cstring>
#include <span>

namespace omptier {

namespace {

constexpr unsigned k_decoded_entries_log2 = 8, k_decoded_entries = 1u << k_decoded_entries_log2;

std::uint64_t cut(std::uint64_t value, unsigned bits) {
  return bits >= 64 ? value : value & ((std::uint64_t{1} << bits) - 1);
}

std::uint64_t sign_extend(std::uint64_t value, unsigned bits) {
  if (bits >= 64) return value;
  return static_cast<std::uint64_t>(static_cast<std::int64_t>(value << (64 - bits)) >> (64 - bits));
}

bool is_high_byte(ZydisRegister reg) {
  return reg >= ZYDIS_REGISTER_AH && reg <= ZYDIS_REGISTER_BH;
}

} // namespace

const Decoded* decode_again(const Function& function, const Instruction& instruction) {
  static const ZydisDecoder decoder = [] {
    ZydisDecoder made;
    ZydisDecoderInit(&made, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64);
    return made;
  }();
  struct Entry {
    std::array<std::uint8_t, ZYDIS_MAX_INSTRUCTION_LENGTH> bytes;
    std::size_t length; // 0: none, also during an update: another thread may fork
    Decoded decoded;
  };
  static Entry* const entries = new Entry[k_decoded_entries]();
  const auto bytes = function.bytes_of(instruction);
  Entry& entry =
      entries[instruction.address * 0x9e3779b97f4a7c15u >> (64 - k_decoded_entries_log2)];
  if (entry.length == bytes.size() &&
      std::ranges::equal(bytes, std::span(entry.bytes).first(entry.length)))
    return &entry.decoded;
  entry.length = 0;
  std::atomic_signal_fence(std::memory_order_seq_cst);
  if (bytes.size() > entry.bytes.size() ||
      !ZYAN_SUCCESS(ZydisDecoderDecodeFull(&decoder, bytes.data(), bytes.size(),
                                           &entry.decoded.instruction, entry.decoded.operands)))
    return nullptr;
  std::ranges::copy(bytes, entry.bytes.begin());
  std::atomic_signal_fence(std::memory_order_seq_cst);
  entry.length = bytes.size();
  return &entry.decoded;
}

std::optional<bool> condition_holds(ZydisMnemonic mnemonic, const MachineState& state) {
  const bool carry = state.flags & k_carry, zero = state.flags & k_zero;
  const bool sign = state.flags & k_sign, less = sign != ((state.flags & k_overflow) != 0);
  const auto when = [&](std::uint64_t asked, bool holds) -> std::optional<bool> {
    if ((state.flags_known & asked) != asked) return {};
    return holds;
  };
#define OMPTIER_CONDITION(name)                                                                    \
  case ZYDIS_MNEMONIC_J##name:                                                                     \
  case ZYDIS_MNEMONIC_CMOV##name:                                                                  \
  case ZYDIS_MNEMONIC_SET##name:
  switch (mnemonic) {
    OMPTIER_CONDITION(Z) return when(k_zero, zero);
    OMPTIER_CONDITION(NZ) return when(k_zero, !zero);
    OMPTIER_CONDITION(B) return when(k_carry, carry);
    OMPTIER_CONDITION(NB) return when(k_carry, !carry);
    OMPTIER_CONDITION(BE) return when(k_carry | k_zero, carry || zero);
    OMPTIER_CONDITION(NBE) return when(k_carry | k_zero, !carry && !zero);
    OMPTIER_CONDITION(S) return when(k_sign, sign);
    OMPTIER_CONDITION(NS) return when(k_sign, !sign);
    OMPTIER_CONDITION(L) return when(k_sign | k_overflow, less);
    OMPTIER_CONDITION(NL) return when(k_sign | k_overflow, !less);
    OMPTIER_CONDITION(LE) return when(k_sign | k_overflow | k_zero, zero || less);
    OMPTIER_CONDITION(NLE) return when(k_sign | k_overflow | k_zero, !zero && !less);
    OMPTIER_CONDITION(O) return when(k_overflow, (state.flags & k_overflow) != 0);
    OMPTIER_CONDITION(NO) return when(k_overflow, (state.flags & k_overflow) == 0);
  default:
    return {};
  }
#undef OMPTIER_CONDITION
}

Execution::Value Execution::get(unsigned i) const {
  const ZydisDecodedOperand& from = operand(i);
  if (from.type == ZYDIS_OPERAND_TYPE_IMMEDIATE) return from.imm.value.u;
  if (from.type == ZYDIS_OPERAND_TYPE_REGISTER) {
    std::int8_t number = general_number(from.reg.value);
    if (number < 0 || !state_.knows(number)) return {};
    return cut(state_.general[number] >> (is_high_byte(from.reg.value) ? 8 : 0), from.size);
  }
  if (from.type == ZYDIS_OPERAND_TYPE_MEMORY && from.size <= 64) {
    std::uint64_t value = 0;
    auto address = address_in(compact_, state_);
    if (address && state_.read(*address, &value, from.size / 8)) return value;
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
  if (to.type == ZYDIS_OPERAND_TYPE_MEMORY) {
    if (auto address = address_in(compact_, state_); address && to.size <= 64)
      state_.write(*address, value ? &*value : nullptr, to.size / 8);
    return;
  }
  if (to.type != ZYDIS_OPERAND_TYPE_REGISTER) return;
  std::int8_t number = general_number(to.reg.value);
  if (number < 0) return;
  const unsigned shift = is_high_byte(to.reg.value) ? 8 : 0;
  const bool partial = to.size < 32; // keeps the rest of the register
  if (!value || (partial && !state_.knows(number))) return state_.forget(1u << number, 0);
  const std::uint64_t mask = cut(~std::uint64_t{0}, to.size) << shift;
  const std::uint64_t kept = partial ? state_.general[number] & ~mask : 0;
  state_.set(static_cast<unsigned>(number), kept | (*value << shift & mask));
}

void Execution::set_flags(std::uint64_t which, Value result, bool carry, bool overflow) {
  state_.flags_known = result ? which : 0;
  if (!result) return;
  std::uint64_t value = cut(*result, bits());
  state_.flags = (carry ? k_carry : 0) | (value == 0 ? k_zero : 0) |
                 (value >> (bits() - 1) & 1 ? k_sign : 0) | (overflow ? k_overflow : 0);
}

void Execution::add(Value left, Value right, bool carry_in, bool keep) {
  Value result;
  bool carry = false, overflow = false;
  if (left && right) {
    const std::uint64_t a = cut(*left, bits()), b = cut(*right, bits());
    result = cut(a + b + carry_in, bits());
    carry = *result < a || (carry_in && *result == a);
    overflow = (~(a ^ b) & (a ^ *result)) >> (bits() - 1) & 1;
  }
  set_flags(k_all_flags, result, carry, overflow);
  if (keep) put(0, result);
}

void Execution::subtract(Value left, Value right, bool borrow, bool keep) {
  Value result;
  bool carry = false, overflow = false;
  if (left && right) {
    const std::uint64_t a = cut(*left, bits()), b = cut(*right, bits());
    result = cut(a - b - borrow, bits());
    carry = a < b || (borrow && a == b);
    overflow = ((a ^ b) & (a ^ *result)) >> (bits() - 1) & 1;
  }
  set_flags(k_all_flags, result, carry, overflow);
  if (keep) put(0, result);
}

void Execution::logical(std::uint64_t (*operation)(std::uint64_t, std::uint64_t), bool keep) {
  bool clears = mnemonic() == ZYDIS_MNEMONIC_XOR &&
                operand(0).type == ZYDIS_OPERAND_TYPE_REGISTER &&
                operand(1).type == ZYDIS_OPERAND_TYPE_REGISTER &&
                operand(0).reg.value == operand(1).reg.value;
  Value left = get(0), right = get(1), result;
  if (left && right) result = operation(*left, *right);
  if (clears) result = 0;
  set_flags(k_all_flags, result);
  if (keep) put(0, result);
}

void Execution::shift() {
  const bool vex = visible() == 3; // shlx, shrx, sarx keep the flags
  Value value = get(vex ? 1 : 0), count = get(vex ? 2 : 1), result;
  const unsigned by = count ? static_cast<unsigned>(*count) & (bits() == 64 ? 63 : 31) : 0;
  bool last_out = false;
  if (value && count) {
    const bool left = mnemonic() == ZYDIS_MNEMONIC_SHL || mnemonic() == ZYDIS_MNEMONIC_SHLX;
    const bool arithmetic = mnemonic() == ZYDIS_MNEMONIC_SAR || mnemonic() == ZYDIS_MNEMONIC_SARX;
    const std::uint64_t from = arithmetic ? sign_extend(*value, bits()) : cut(*value, bits());
    if (left)
      result = cut(from << by, bits());
    else if (arithmetic)
      result = cut(static_cast<std::uint64_t>(static_cast<std::int64_t>(from) >> by), bits());
    else
      result = from >> by;
    if (by > 0)
      last_out = left ? by <= bits() && (from >> (bits() - by) & 1) : from >> (by - 1) & 1;
  }
  if (!vex && (!count || by > 0)) set_flags(k_carry | k_zero | k_sign, result, last_out);
  put(0, result);
}

void Execution::rotate() {
  Value value = get(0), count = visible() == 3 ? get(2) : get(1), result;
  const bool vex = mnemonic() == ZYDIS_MNEMONIC_RORX;
  if (vex) value = get(1);
  if (value && count && (bits() == 64 || bits() == 32)) {
    const int by = static_cast<int>(*count) & (bits() == 64 ? 63 : 31);
    const bool left = mnemonic() == ZYDIS_MNEMONIC_ROL;
    if (bits() == 64)
      result = left ? std::rotl(*value, by) : std::rotr(*value, by);
    else
      result = left ? std::rotl(static_cast<std::uint32_t>(*value), by)
                    : std::rotr(static_cast<std::uint32_t>(*value), by);
  }
  if (!vex) state_.flags_known &= ~(k_carry | k_overflow);
  put(0, result);
}

void Execution::multiply() {
  if (visible() == 1) return multiply_wide();
  Value left = get(visible() - 2), right = get(visible() - 1);
  if (visible() == 2 && left) left = sign_extend(*left, bits());
  put(0, left && right ? Value(*left * sign_extend(*right, operand(visible() - 1).size)) : Value());
  state_.flags_known = 0;
}

// rdx:rax := rax × operand; mulx: two named registers := rdx × operand.
void Execution::multiply_wide() {
  __extension__ using Wide = unsigned __int128;
  __extension__ using SignedWide = __int128;
  const bool mulx = mnemonic() == ZYDIS_MNEMONIC_MULX;
  const unsigned width = mulx ? bits() : operand(0).size;
  const std::int8_t one = mulx ? k_rdx : k_rax;
  Value by = get(mulx ? 2 : 0), low, high;
  if (by && state_.knows(one) && (width == 64 || width == 32)) {
    const std::uint64_t a = cut(state_.general[one], width), b = cut(*by, width);
    Wide product = Wide(a) * b;
    if (mnemonic() == ZYDIS_MNEMONIC_IMUL)
      product = static_cast<Wide>(SignedWide(static_cast<std::int64_t>(sign_extend(a, width))) *
                                  SignedWide(static_cast<std::int64_t>(sign_extend(b, width))));
    low = cut(static_cast<std::uint64_t>(product), width);
    high = cut(static_cast<std::uint64_t>(product >> width), width);
  }
  if (mulx) {
    put(1, low);
    return put(0, high); // if both name one register, it gets the high half
  }
  state_.flags_known = 0;
  state_.set(k_rax, low);
  state_.set(k_rdx, high);
}

void Execution::divide() {
  __extension__ using Wide = unsigned __int128;
  const bool with_sign = mnemonic() == ZYDIS_MNEMONIC_IDIV;
  const unsigned width = operand(0).size;
  Value by = get(0), quotient, remainder;
  state_.flags_known = 0;
  if (by && state_.knows(k_rax) && state_.knows(k_rdx) && (width == 64 || width == 32)) {
    const std::uint64_t low = cut(state_.general[k_rax], width);
    const std::uint64_t high = cut(state_.general[k_rdx], width);
    const std::uint64_t b = cut(*by, width);
    const auto signed_low = static_cast<std::int64_t>(sign_extend(low, width));
    const auto signed_by = static_cast<std::int64_t>(sign_extend(b, width));
    // Signed division only if rdx is the sign extension of rax, as cdq and cqo make it.
    const bool fits = high == cut(signed_low < 0 ? ~std::uint64_t{0} : 0, width);
    if (with_sign && fits && signed_by != 0 && signed_by != -1) {
      quotient = cut(static_cast<std::uint64_t>(signed_low / signed_by), width);
      remainder = cut(static_cast<std::uint64_t>(signed_low % signed_by), width);
    } else if (!with_sign && b != 0 && high < b) {
      const Wide value = Wide(high) << width | low;
      quotient = static_cast<std::uint64_t>(value / b);
      remainder = static_cast<std::uint64_t>(value % b);
    }
  }
  state_.set(k_rax, quotient);
  state_.set(k_rdx, remainder);
}

void Execution::extend_accumulator() {
  if (!state_.knows(k_rax)) return forget_written();
  std::uint64_t& rax = state_.general[k_rax];
  switch (mnemonic()) {
  case ZYDIS_MNEMONIC_CWDE:
    rax = cut(sign_extend(rax, 16), 32);
    break;
  case ZYDIS_MNEMONIC_CDQE:
    rax = sign_extend(rax, 32);
    break;
  case ZYDIS_MNEMONIC_CDQ:
    return state_.set(k_rdx, rax >> 31 & 1 ? 0xffffffff : 0);
  default: // cqo
    return state_.set(k_rdx, rax >> 63 ? ~std::uint64_t{0} : 0);
  }
}

void Execution::count_bits() {
  Value value = get(1), result;
  const bool defined = value && cut(*value, bits()) != 0; // bsf and bsr of 0 keep the target
  const std::uint64_t from = value ? cut(*value, bits()) : 0;
  const unsigned leading = static_cast<unsigned>(std::countl_zero(from)) + bits() - 64;
  if (mnemonic() == ZYDIS_MNEMONIC_POPCNT && value)
    result = std::popcount(from);
  else if (mnemonic() == ZYDIS_MNEMONIC_TZCNT && value)
    result = defined ? static_cast<unsigned>(std::countr_zero(from)) : bits();
  else if (mnemonic() == ZYDIS_MNEMONIC_LZCNT && value)
    result = leading;
  else if (mnemonic() == ZYDIS_MNEMONIC_BSF && defined)
    result = std::countr_zero(from);
  else if (mnemonic() == ZYDIS_MNEMONIC_BSR && defined)
    result = bits() - 1 - leading;
  put(0, result);
  state_.flags_known = 0;
}

void Execution::conditional_move() {
  const auto holds = condition_holds(mnemonic(), state_);
  if (!holds) return put(0, Value());
  put(0, *holds ? get(1) : get(0)); // a 32-bit target is zero-extended either way
}

void Execution::exchange() {
  const Value left = get(0), right = get(1);
  if (mnemonic() == ZYDIS_MNEMONIC_XADD) {
    add(left, right, false, false);
    const Value sum = left && right ? Value(*left + *right) : Value();
    put(0, sum);
    return put(1, left);
  }
  put(0, right); // first: the other operand's address may use it
  put(1, left);
}

// Compilers do not produce string instructions that run backwards (direction flag).
void Execution::string() {
  const std::uint64_t width = std::max<std::uint64_t>(compact_.memory.bytes, 1);
  Value count = 1;
  if (compact_.repeated) count = state_.knows(k_rcx) ? Value(state_.general[k_rcx]) : Value();
  const auto advance = [&](unsigned pointer) {
    if (state_.knows(static_cast<std::int8_t>(pointer)))
      state_.set(pointer, count ? Value(state_.general[pointer] + *count * width) : Value());
  };
  const bool compares = !compact_.memory.writes; // scas, cmps end early; lods loads rax
  if (compares) return forget_written();
  if (compact_.string_source) advance(k_rsi);
  if (compact_.string_target) advance(k_rdi);
  if (compact_.repeated) state_.set(k_rcx, 0);
}

void Execution::forget_written() {
  state_.forget(compact_.general_written, compact_.vectors_written);
  if (compact_.has_memory && compact_.memory.writes && !compact_.memory.is_vector_indexed())
    if (auto address = address_in(compact_, state_))
      state_.write(*address, nullptr, compact_.memory.bytes);
  state_.masks_known = static_cast<std::uint8_t>(state_.masks_known & ~compact_.masks_written);
  if (decoded_.instruction.cpu_flags && decoded_.instruction.cpu_flags->modified)
    state_.flags_known = 0;
}

bool Execution::run_moves() {
  switch (mnemonic()) {
  case ZYDIS_MNEMONIC_MOV:
  case ZYDIS_MNEMONIC_MOVZX:
    put(0, get(1));
    return true;
  case ZYDIS_MNEMONIC_MOVSX:
  case ZYDIS_MNEMONIC_MOVSXD: {
    Value value = get(1);
    put(0, value ? Value(sign_extend(*value, operand(1).size)) : value);
    return true;
  }
  case ZYDIS_MNEMONIC_LEA:
    put(0, effective_address(1));
    return true;
  case ZYDIS_MNEMONIC_CWDE:
  case ZYDIS_MNEMONIC_CDQE:
  case ZYDIS_MNEMONIC_CDQ:
  case ZYDIS_MNEMONIC_CQO:
    extend_accumulator();
    return true;
  case ZYDIS_MNEMONIC_XCHG:
  case ZYDIS_MNEMONIC_XADD:
    exchange();
    return true;
  case ZYDIS_MNEMONIC_BSWAP: {
    Value value = get(0);
    if (value) value = __builtin_bswap64(*value) >> (64 - bits());
    put(0, value);
    return true;
  }
  default:
    break;
  }
  const auto category = decoded_.instruction.meta.category;
  if (category == ZYDIS_CATEGORY_CMOV) {
    conditional_move();
    return true;
  }
  if (category == ZYDIS_CATEGORY_SETCC) {
    const auto holds = condition_holds(mnemonic(), state_);
    put(0, holds ? Value(*holds ? 1 : 0) : Value());
    return true;
  }
  if (category == ZYDIS_CATEGORY_STRINGOP) {
    string();
    return true;
  }
  return false;
}

bool Execution::run_arithmetic() {
  const bool carry_known = state_.flags_known & k_carry, carry = state_.flags & k_carry;
  switch (mnemonic()) {
  case ZYDIS_MNEMONIC_ADD:
    add(get(0), get(1), false, true);
    return true;
  case ZYDIS_MNEMONIC_ADC:
    add(carry_known ? get(0) : Value(), get(1), carry, true);
    return true;
  case ZYDIS_MNEMONIC_SUB:
    subtract(get(0), get(1), false, true);
    return true;
  case ZYDIS_MNEMONIC_SBB: {
    // sbb of a register and itself makes a mask from the carry, whatever the register's value.
    const bool mask = operand(0).type == ZYDIS_OPERAND_TYPE_REGISTER &&
                      operand(1).type == ZYDIS_OPERAND_TYPE_REGISTER &&
                      operand(0).reg.value == operand(1).reg.value;
    const Value left = mask ? Value(0) : get(0), right = mask ? Value(0) : get(1);
    subtract(carry_known ? left : Value(), right, carry, true);
    return true;
  }
  case ZYDIS_MNEMONIC_CMP:
    subtract(get(0), get(1), false, false);
    return true;
  case ZYDIS_MNEMONIC_NEG:
    subtract(0, get(0), false, true);
    return true;
  case ZYDIS_MNEMONIC_INC:
  case ZYDIS_MNEMONIC_DEC:
    if (mnemonic() == ZYDIS_MNEMONIC_INC)
      add(get(0), 1, false, true);
    else
      subtract(get(0), 1, false, true);
    state_.flags = (state_.flags & ~k_carry) | (carry ? k_carry : 0); // inc and dec keep the carry
    state_.flags_known = (state_.flags_known & ~k_carry) | (carry_known ? k_carry : 0);
    return true;
  case ZYDIS_MNEMONIC_IMUL:
    multiply();
    return true;
  case ZYDIS_MNEMONIC_MUL:
  case ZYDIS_MNEMONIC_MULX:
    multiply_wide();
    return true;
  case ZYDIS_MNEMONIC_DIV:
  case ZYDIS_MNEMONIC_IDIV:
    divide();
    return true;
  default:
    return false;
  }
}

bool Execution::run_bits() {
  switch (mnemonic()) {
  case ZYDIS_MNEMONIC_AND:
    logical([](std::uint64_t a, std::uint64_t b) { return a & b; }, true);
    return true;
  case ZYDIS_MNEMONIC_TEST:
    logical([](std::uint64_t a, std::uint64_t b) { return a & b; }, false);
    return true;
  case ZYDIS_MNEMONIC_OR:
    logical([](std::uint64_t a, std::uint64_t b) { return a | b; }, true);
    return true;
  case ZYDIS_MNEMONIC_XOR:
    logical([](std::uint64_t a, std::uint64_t b) { return a ^ b; }, true);
    return true;
  case ZYDIS_MNEMONIC_NOT: {
    const Value value = get(0);
    put(0, value ? Value(~*value) : value);
    return true;
  }
  case ZYDIS_MNEMONIC_ANDN: {
    const Value left = get(1), right = get(2);
    put(0, left && right ? Value(~*left & *right) : Value());
    state_.flags_known = 0;
    return true;
  }
  case ZYDIS_MNEMONIC_BLSR: {
    const Value value = get(1);
    put(0, value ? Value(*value & (*value - 1)) : value);
    state_.flags_known = 0;
    return true;
  }
  case ZYDIS_MNEMONIC_SHL:
  case ZYDIS_MNEMONIC_SHR:
  case ZYDIS_MNEMONIC_SAR:
  case ZYDIS_MNEMONIC_SHLX:
  case ZYDIS_MNEMONIC_SHRX:
  case ZYDIS_MNEMONIC_SARX:
    shift();
    return true;
  case ZYDIS_MNEMONIC_ROL:
  case ZYDIS_MNEMONIC_ROR:
  case ZYDIS_MNEMONIC_RORX:
    rotate();
    return true;
  case ZYDIS_MNEMONIC_BSF:
  case ZYDIS_MNEMONIC_BSR:
  case ZYDIS_MNEMONIC_TZCNT:
  case ZYDIS_MNEMONIC_LZCNT:
  case ZYDIS_MNEMONIC_POPCNT:
    count_bits();
    return true;
  default:
    return false;
  }
}

bool Execution::run_stack() {
  const bool known = state_.knows(k_rsp);
  std::uint64_t& top = state_.general[k_rsp];
  switch (mnemonic()) {
  case ZYDIS_MNEMONIC_PUSH: {
    if (operand(0).size == 16) return false;
    Value value = get(0);
    if (value && operand(0).type == ZYDIS_OPERAND_TYPE_IMMEDIATE)
      value = static_cast<std::uint64_t>(operand(0).imm.value.s);
    top -= 8;
    if (known) state_.write(top, value ? &*value : nullptr, 8);
    return true;
  }
  case ZYDIS_MNEMONIC_POP: {
    std::uint64_t value = 0;
    if (operand(0).type != ZYDIS_OPERAND_TYPE_REGISTER || operand(0).size != 64) return false;
    const bool read = known && state_.read(top, &value, 8);
    top += 8;
    put(0, read ? Value(value) : Value());
    return true;
  }
  case ZYDIS_MNEMONIC_LEAVE: {
    std::uint64_t value = 0;
    const bool read = state_.knows(k_rbp) && state_.read(state_.general[k_rbp], &value, 8);
    state_.set(k_rsp, state_.knows(k_rbp) ? Value(state_.general[k_rbp] + 8) : Value());
    state_.set(k_rbp, read ? Value(value) : Value());
    return true;
  }
  default:
    return false;
  }
}

void execute(const Instruction& instruction, const Decoded& decoded, MachineState& state) {
  Execution execution(instruction, decoded, state);
  if (execution.run_moves() || execution.run_arithmetic() || execution.run_bits() ||
      execution.run_stack() || execution.run_gathers() || execution.run_masks() ||
      execution.run_vectors() || execution.run_floats())
    return;
  execution.forget_written();
}

} // namespace omptier
