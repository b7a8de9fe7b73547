// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Vectors that hold indices of gathers and scatters: moves, widening, integer arithmetic by lane,
// broadcasts and moves of parts, also under masks (execution_mask.cpp). Floating-point values are
// in execution_float.cpp.

#include "emulation/execution.hpp"

#include <algorithm>
#include <cstring>

namespace omptier {

namespace {

std::uint64_t load_lane(const std::uint8_t* from, unsigned width) {
  std::uint64_t value = 0;
  std::memcpy(&value, from, width);
  return value;
}

} // namespace

bool Execution::has_mask() const {
  const ZydisRegister mask = decoded_.instruction.avx.mask.reg;
  return mask > ZYDIS_REGISTER_K0 && mask <= ZYDIS_REGISTER_K7;
}

// Lanes that are masked off: the target's old values, or zero. False: unknown.
bool Execution::keep_lanes(std::uint8_t* value, std::size_t bytes) const {
  const unsigned width = operand(0).element_size / 8u;
  const Value mask = mask_get(1);
  const std::int8_t number = vector_number(operand(0).reg.value);
  const bool zeroes = decoded_.instruction.avx.mask.mode == ZYDIS_MASK_MODE_ZEROING;
  if (!mask || width == 0 || number < 0) return false;
  if (!zeroes && !(state_.vectors_known >> number & 1)) return false;
  const std::uint8_t* before = state_.vectors[static_cast<std::uint8_t>(number)].data();
  for (std::size_t lane = 0; lane < bytes / width; ++lane) {
    if (*mask >> lane & 1) continue;
    if (zeroes)
      std::memset(value + lane * width, 0, width);
    else
      std::memcpy(value + lane * width, before + lane * width, width);
  }
  return true;
}

bool Execution::vector_get(unsigned i, std::uint8_t* to, std::size_t bytes) const {
  const ZydisDecodedOperand& from = operand(i);
  if (from.type == ZYDIS_OPERAND_TYPE_MEMORY) {
    const auto address = address_in(compact_, state_);
    const auto& broadcast = decoded_.instruction.avx.broadcast;
    if (broadcast.mode == ZYDIS_BROADCAST_MODE_INVALID || broadcast.is_static)
      return address && state_.read(*address, to, bytes);
    const std::size_t width = from.element_size / 8u; // one element for all lanes
    if (!address || width == 0 || !state_.read(*address, to, width)) return false;
    for (std::size_t at = width; at + width <= bytes; at += width)
      std::memcpy(to + at, to, width);
    return true;
  }
  if (from.type != ZYDIS_OPERAND_TYPE_REGISTER) return false;
  const std::int8_t number = vector_number(from.reg.value);
  if (number < 0) {
    const Value value = get(i);
    if (!value || bytes > 8) return false;
    std::memcpy(to, &*value, bytes);
    return true;
  }
  if (!(state_.vectors_known >> number & 1)) return false;
  std::memcpy(to, state_.vectors[static_cast<std::uint8_t>(number)].data(), bytes);
  return true;
}

// from null: unknown.
void Execution::vector_put(unsigned i, const std::uint8_t* from, std::size_t bytes) {
  const ZydisDecodedOperand& to = operand(i);
  if (to.type == ZYDIS_OPERAND_TYPE_MEMORY) {
    const std::uint8_t* value = has_mask() ? nullptr : from;
    if (const auto address = address_in(compact_, state_)) state_.write(*address, value, bytes);
    return;
  }
  const std::int8_t number = vector_number(to.reg.value);
  if (number < 0) {
    std::uint64_t value = 0;
    if (from) std::memcpy(&value, from, std::min<std::size_t>(bytes, 8));
    return put(i, from ? Value(value) : Value());
  }
  if (!from) return state_.forget(0, 1u << number);
  // Legacy SSE forms keep the upper part of the register, which nothing reads afterwards.
  std::uint8_t value[64] = {};
  std::memcpy(value, from, std::min(bytes, sizeof value));
  if (has_mask() && !keep_lanes(value, bytes)) return state_.forget(0, 1u << number);
  auto& target = state_.vectors[static_cast<std::uint8_t>(number)];
  std::memcpy(target.data(), value, target.size());
  state_.vectors_known |= 1u << number;
}

void Execution::move_vector() {
  std::uint8_t value[64];
  const std::size_t bytes = operand(0).size / 8;
  const unsigned last = visible() - 1;
  const bool known = bytes <= sizeof value && vector_get(last, value, bytes);
  vector_put(0, known ? value : nullptr, bytes);
}

// movd, movq: the lowest lane, also from or to a general register or memory.
void Execution::move_lowest() {
  std::uint8_t value[8] = {};
  const bool wide = mnemonic() == ZYDIS_MNEMONIC_MOVQ || mnemonic() == ZYDIS_MNEMONIC_VMOVQ;
  const bool known = vector_get(1, value, wide ? 8 : 4);
  vector_put(0, known ? value : nullptr, wide ? 8 : 4);
}

void Execution::widen(unsigned from, unsigned to, bool with_sign) {
  std::uint8_t source[64], result[64];
  const std::size_t bytes = operand(0).size / 8, count = bytes / to;
  if (bytes > sizeof result || !vector_get(visible() - 1, source, count * from))
    return vector_put(0, nullptr, bytes);
  for (std::size_t lane = 0; lane < count; ++lane) {
    std::uint64_t value = load_lane(source + lane * from, from);
    const unsigned unused = 64 - 8 * from;
    if (with_sign)
      value = static_cast<std::uint64_t>(static_cast<std::int64_t>(value << unused) >> unused);
    std::memcpy(result + lane * to, &value, to);
  }
  vector_put(0, result, bytes);
}

void Execution::lanes(unsigned width, const Lane& operation) {
  std::uint8_t left[64], right[64];
  const std::size_t bytes = operand(0).size / 8;
  const unsigned last = visible() - 1;
  const bool same = operand(last).type == ZYDIS_OPERAND_TYPE_REGISTER &&
                    operand(visible() == 2 ? 0 : last - 1).reg.value == operand(last).reg.value;
  if (same && operation(1, 1) == 0 && operation(2, 2) == 0) { // xor and sub of itself
    std::memset(left, 0, sizeof left);
    return vector_put(0, left, bytes);
  }
  if (bytes > sizeof left || !vector_get(visible() == 2 ? 0 : last - 1, left, bytes) ||
      !vector_get(last, right, bytes))
    return vector_put(0, nullptr, bytes);
  for (std::size_t at = 0; at < bytes; at += width) {
    const std::uint64_t value =
        operation(load_lane(left + at, width), load_lane(right + at, width));
    std::memcpy(left + at, &value, width);
  }
  vector_put(0, left, bytes);
}

void Execution::lanes_by_constant(unsigned width, const Lane& operation) {
  std::uint8_t value[64];
  const std::size_t bytes = operand(0).size / 8;
  const unsigned last = visible() - 1;
  if (operand(last).type != ZYDIS_OPERAND_TYPE_IMMEDIATE || bytes > sizeof value ||
      !vector_get(visible() == 2 ? 0 : last - 1, value, bytes))
    return vector_put(0, nullptr, bytes);
  for (std::size_t at = 0; at < bytes; at += width) {
    const std::uint64_t by = operand(last).imm.value.u;
    const bool stays = by < std::uint64_t{8} * width;
    const std::uint64_t lane = stays ? operation(load_lane(value + at, width), by) : 0;
    std::memcpy(value + at, &lane, width);
  }
  vector_put(0, value, bytes);
}

void Execution::broadcast(unsigned width) {
  std::uint8_t lane[8], result[64];
  const std::size_t bytes = operand(0).size / 8;
  if (bytes > sizeof result || !vector_get(visible() - 1, lane, width))
    return vector_put(0, nullptr, bytes);
  for (std::size_t at = 0; at < bytes; at += width)
    std::memcpy(result + at, lane, width);
  vector_put(0, result, bytes);
}

void Execution::extract() {
  std::uint8_t source[64];
  const std::size_t bytes = operand(0).size / 8;
  const unsigned last = visible() - 1;
  const bool plain = operand(last).type == ZYDIS_OPERAND_TYPE_IMMEDIATE &&
                     operand(last - 1).size / 8 <= sizeof source;
  const std::size_t whole = plain ? operand(last - 1).size / 8 : 0;
  const std::size_t at =
      plain ? operand(last).imm.value.u % std::max<std::size_t>(whole / bytes, 1) * bytes : 0;
  const bool known = plain && at + bytes <= whole && vector_get(last - 1, source, whole);
  vector_put(0, known ? source + at : nullptr, bytes);
}

// Lanes of two sources in turn, from the lower or the upper half of each 16 bytes.
void Execution::interleave(unsigned width, bool upper) {
  std::uint8_t left[64], right[64], result[64];
  const std::size_t bytes = operand(0).size / 8;
  const unsigned last = visible() - 1;
  if (bytes > sizeof result || !vector_get(visible() == 2 ? 0 : last - 1, left, bytes) ||
      !vector_get(last, right, bytes))
    return vector_put(0, nullptr, bytes);
  for (std::size_t to = 0; to < bytes; to += std::size_t{2} * width) {
    const std::size_t from = to / 16 * 16 + to % 16 / 2 + (upper ? 8 : 0);
    std::memcpy(result + to, left + from, width);
    std::memcpy(result + to + width, right + from, width);
  }
  vector_put(0, result, bytes);
}

// pshufd: lanes of 4 bytes in the constant's order.
void Execution::shuffle() {
  std::uint8_t source[64], result[64];
  const std::size_t bytes = operand(0).size / 8;
  const unsigned last = visible() - 1;
  if (bytes > sizeof result || !vector_get(last - 1, source, bytes))
    return vector_put(0, nullptr, bytes);
  for (std::size_t to = 0; to < bytes; to += 4) {
    const std::size_t lane = operand(last).imm.value.u >> (to % 16 / 2) & 3;
    std::memcpy(result + to, source + to / 16 * 16 + 4 * lane, 4);
  }
  vector_put(0, result, bytes);
}

// movhpd and the like, from memory: the upper 8 of 16 bytes.
void Execution::load_upper() {
  std::uint8_t value[16];
  const unsigned last = visible() - 1;
  const bool known = vector_get(visible() == 2 ? 0 : last - 1, value, sizeof value) &&
                     vector_get(last, value + 8, 8);
  vector_put(0, known ? value : nullptr, sizeof value);
}

// vinserti128: 16 bytes of a vector of 32 are another's.
void Execution::insert_half() {
  std::uint8_t value[32];
  const std::size_t at = (operand(3).imm.value.u & 1) * 16;
  const bool known = vector_get(1, value, sizeof value) && vector_get(2, value + at, 16);
  vector_put(0, known ? value : nullptr, sizeof value);
}

// vpternlog: the constant is a truth table of three bits; compilers make vectors of ones with it.
void Execution::combine_by_table() {
  std::uint8_t a[64], b[64], c[64];
  const std::size_t bytes = operand(0).size / 8;
  const unsigned last = visible() - 1;
  const auto table = static_cast<unsigned>(operand(last).imm.value.u & 0xff);
  if (table == 0 || table == 0xff) {
    std::memset(a, static_cast<int>(table), sizeof a);
    return vector_put(0, a, bytes);
  }
  if (bytes > sizeof a || !vector_get(0, a, bytes) || !vector_get(last - 2, b, bytes) ||
      !vector_get(last - 1, c, bytes))
    return vector_put(0, nullptr, bytes);
  for (std::size_t i = 0; i < bytes; ++i) {
    unsigned result = 0;
    for (unsigned bit = 0; bit < 8; ++bit) {
      const unsigned row = (a[i] >> bit & 1u) << 2 | (b[i] >> bit & 1u) << 1 | (c[i] >> bit & 1u);
      result |= (table >> row & 1u) << bit;
    }
    a[i] = static_cast<std::uint8_t>(result);
  }
  vector_put(0, a, bytes);
}

bool Execution::run_vectors() {
  const auto sum = [](std::uint64_t a, std::uint64_t b) { return a + b; };
  const auto difference = [](std::uint64_t a, std::uint64_t b) { return a - b; };
  const auto product = [](std::uint64_t a, std::uint64_t b) { return a * b; };
  const auto low_product = [](std::uint64_t a, std::uint64_t b) {
    return (a & 0xffffffff) * (b & 0xffffffff);
  };
  const auto both = [](std::uint64_t a, std::uint64_t b) { return a & b; };
  const auto not_first = [](std::uint64_t a, std::uint64_t b) { return ~a & b; };
  const auto either = [](std::uint64_t a, std::uint64_t b) { return a | b; };
  const auto one = [](std::uint64_t a, std::uint64_t b) { return a ^ b; };
  const auto up = [](std::uint64_t a, std::uint64_t b) { return a << b; };
  const auto down = [](std::uint64_t a, std::uint64_t b) { return a >> b; };
#define OMPTIER_BOTH(name)                                                                         \
  case ZYDIS_MNEMONIC_##name:                                                                      \
  case ZYDIS_MNEMONIC_V##name:
  switch (mnemonic()) {
    OMPTIER_BOTH(MOVDQA)
    OMPTIER_BOTH(MOVDQU)
    OMPTIER_BOTH(MOVUPS)
    OMPTIER_BOTH(MOVAPS)
    OMPTIER_BOTH(MOVUPD)
    OMPTIER_BOTH(MOVAPD)
    OMPTIER_BOTH(LDDQU)
  case ZYDIS_MNEMONIC_VMOVDQA32:
  case ZYDIS_MNEMONIC_VMOVDQA64:
  case ZYDIS_MNEMONIC_VMOVDQU8:
  case ZYDIS_MNEMONIC_VMOVDQU16:
  case ZYDIS_MNEMONIC_VMOVDQU32:
  case ZYDIS_MNEMONIC_VMOVDQU64:
    return move_vector(), true;
    OMPTIER_BOTH(MOVD)
    OMPTIER_BOTH(MOVQ)
    return move_lowest(), true;
    OMPTIER_BOTH(PMOVZXDQ) return widen(4, 8, false), true;
    OMPTIER_BOTH(PMOVSXDQ) return widen(4, 8, true), true;
    OMPTIER_BOTH(PMOVZXWD) return widen(2, 4, false), true;
    OMPTIER_BOTH(PMOVSXWD) return widen(2, 4, true), true;
    OMPTIER_BOTH(PMOVZXWQ) return widen(2, 8, false), true;
    OMPTIER_BOTH(PMOVSXWQ) return widen(2, 8, true), true;
    OMPTIER_BOTH(PMOVZXBD) return widen(1, 4, false), true;
    OMPTIER_BOTH(PMOVSXBD) return widen(1, 4, true), true;
    OMPTIER_BOTH(PMOVZXBQ) return widen(1, 8, false), true;
    OMPTIER_BOTH(PMOVSXBQ) return widen(1, 8, true), true;
    OMPTIER_BOTH(PADDD) return lanes(4, sum), true;
    OMPTIER_BOTH(PADDQ) return lanes(8, sum), true;
    OMPTIER_BOTH(PSUBD) return lanes(4, difference), true;
    OMPTIER_BOTH(PSUBQ) return lanes(8, difference), true;
    OMPTIER_BOTH(PMULLD) return lanes(4, product), true;
  case ZYDIS_MNEMONIC_VPMULLQ:
    return lanes(8, product), true;
    OMPTIER_BOTH(PMULUDQ) return lanes(8, low_product), true;
    OMPTIER_BOTH(PANDN)
    OMPTIER_BOTH(ANDNPD)
    OMPTIER_BOTH(ANDNPS)
  case ZYDIS_MNEMONIC_VPANDND:
  case ZYDIS_MNEMONIC_VPANDNQ:
    return lanes(8, not_first), true;
    OMPTIER_BOTH(PAND)
    OMPTIER_BOTH(ANDPD)
    OMPTIER_BOTH(ANDPS)
  case ZYDIS_MNEMONIC_VPANDD:
  case ZYDIS_MNEMONIC_VPANDQ:
    return lanes(8, both), true;
    OMPTIER_BOTH(POR)
    OMPTIER_BOTH(ORPD)
    OMPTIER_BOTH(ORPS)
  case ZYDIS_MNEMONIC_VPORD:
  case ZYDIS_MNEMONIC_VPORQ:
    return lanes(8, either), true;
    OMPTIER_BOTH(PXOR)
    OMPTIER_BOTH(XORPS)
    OMPTIER_BOTH(XORPD)
  case ZYDIS_MNEMONIC_VPXORD:
  case ZYDIS_MNEMONIC_VPXORQ:
    return lanes(8, one), true;
    OMPTIER_BOTH(PSLLD) return lanes_by_constant(4, up), true;
    OMPTIER_BOTH(PSLLQ) return lanes_by_constant(8, up), true;
    OMPTIER_BOTH(PSRLD) return lanes_by_constant(4, down), true;
    OMPTIER_BOTH(PSRLQ) return lanes_by_constant(8, down), true;
  case ZYDIS_MNEMONIC_VPTERNLOGD:
  case ZYDIS_MNEMONIC_VPTERNLOGQ:
    return combine_by_table(), true;
  case ZYDIS_MNEMONIC_VPBROADCASTD:
    return broadcast(4), true;
  case ZYDIS_MNEMONIC_VPBROADCASTQ:
    return broadcast(8), true;
    OMPTIER_BOTH(PUNPCKLDQ)
    OMPTIER_BOTH(UNPCKLPS)
    return interleave(4, false), true;
    OMPTIER_BOTH(PUNPCKHDQ)
    OMPTIER_BOTH(UNPCKHPS)
    return interleave(4, true), true;
    OMPTIER_BOTH(PUNPCKLQDQ)
    OMPTIER_BOTH(UNPCKLPD)
    OMPTIER_BOTH(MOVLHPS)
    return interleave(8, false), true;
    OMPTIER_BOTH(PUNPCKHQDQ)
    OMPTIER_BOTH(UNPCKHPD)
    return interleave(8, true), true;
    OMPTIER_BOTH(PSHUFD)
    return shuffle(), true;
    OMPTIER_BOTH(MOVHPD)
    OMPTIER_BOTH(MOVHPS)
    if (operand(0).type != ZYDIS_OPERAND_TYPE_REGISTER) return false;
    return load_upper(), true;
  case ZYDIS_MNEMONIC_VINSERTI128:
  case ZYDIS_MNEMONIC_VINSERTF128:
    return insert_half(), true;
    OMPTIER_BOTH(PEXTRD)
    OMPTIER_BOTH(PEXTRQ)
  case ZYDIS_MNEMONIC_VEXTRACTI128:
  case ZYDIS_MNEMONIC_VEXTRACTF128:
  case ZYDIS_MNEMONIC_VEXTRACTI32X4:
  case ZYDIS_MNEMONIC_VEXTRACTI64X2:
  case ZYDIS_MNEMONIC_VEXTRACTI32X8:
  case ZYDIS_MNEMONIC_VEXTRACTI64X4:
    return extract(), true;
  default:
    return false;
  }
#undef OMPTIER_BOTH
}

} // namespace omptier
