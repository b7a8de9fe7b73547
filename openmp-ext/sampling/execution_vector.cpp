// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Vectors as far as they carry indices of gathers and scatters: moves, widening, whole-number
// arithmetic lane by lane, broadcasts. Anything masked, and all of floating point, becomes unknown.

#include "sampling/execution.hpp"

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

bool Execution::is_masked() const {
  const auto& avx = decoded_.instruction.avx;
  return (avx.mask.reg != ZYDIS_REGISTER_NONE && avx.mask.reg != ZYDIS_REGISTER_K0) ||
         (avx.broadcast.mode != ZYDIS_BROADCAST_MODE_INVALID && !avx.broadcast.is_static);
}

bool Execution::vector_get(unsigned i, std::uint8_t* to, std::size_t bytes) const {
  const ZydisDecodedOperand& from = operand(i);
  if (from.type == ZYDIS_OPERAND_TYPE_MEMORY) {
    const auto address = address_in(compact_, state_);
    return address && state_.read(*address, to, bytes);
  }
  if (from.type != ZYDIS_OPERAND_TYPE_REGISTER) return false;
  const int number = vector_number(from.reg.value);
  if (number < 0) {
    const Value value = get(i);
    if (!value || bytes > 8) return false;
    std::memcpy(to, &*value, bytes);
    return true;
  }
  if (!(state_.vectors_known >> number & 1)) return false;
  std::memcpy(to, state_.vectors[static_cast<std::size_t>(number)].data(), bytes);
  return true;
}

// from null: not known.
void Execution::vector_put(unsigned i, const std::uint8_t* from, std::size_t bytes) {
  const ZydisDecodedOperand& to = operand(i);
  if (to.type == ZYDIS_OPERAND_TYPE_MEMORY) {
    if (const auto address = address_in(compact_, state_)) state_.write(*address, from, bytes);
    return;
  }
  const int number = vector_number(to.reg.value);
  if (number < 0) {
    std::uint64_t value = 0;
    if (from) std::memcpy(&value, from, std::min<std::size_t>(bytes, 8));
    return put(i, from ? Value(value) : Value());
  }
  state_.forget(0, 1u << number);
  if (!from) return;
  // Old SSE forms leave the upper part of the register; nothing that follows reads it.
  auto& target = state_.vectors[static_cast<std::size_t>(number)];
  target.fill(0);
  std::memcpy(target.data(), from, std::min(bytes, target.size()));
  state_.vectors_known |= 1u << number;
}

void Execution::move_vector() {
  std::uint8_t value[64];
  const std::size_t bytes = operand(0).size / 8;
  const unsigned last = visible() - 1;
  const bool known = bytes <= sizeof value && !is_masked() && vector_get(last, value, bytes);
  vector_put(0, known ? value : nullptr, bytes);
}

// movd, movq: the lowest lane, to or from a general register or memory too.
void Execution::move_lowest() {
  std::uint8_t value[8] = {};
  const bool wide = mnemonic() == ZYDIS_MNEMONIC_MOVQ || mnemonic() == ZYDIS_MNEMONIC_VMOVQ;
  const bool known = vector_get(1, value, wide ? 8 : 4);
  vector_put(0, known ? value : nullptr, wide ? 8 : 4);
}

void Execution::widen(unsigned from, unsigned to, bool with_sign) {
  std::uint8_t source[64], result[64];
  const std::size_t bytes = operand(0).size / 8, count = bytes / to;
  if (bytes > sizeof result || is_masked() || !vector_get(visible() - 1, source, count * from))
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
  if (same && !is_masked() && operation(1, 1) == 0 &&
      operation(2, 2) == 0) { // xor and sub of itself
    std::memset(left, 0, sizeof left);
    return vector_put(0, left, bytes);
  }
  if (bytes > sizeof left || is_masked() ||
      !vector_get(visible() == 2 ? 0 : last - 1, left, bytes) || !vector_get(last, right, bytes))
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
  if (operand(last).type != ZYDIS_OPERAND_TYPE_IMMEDIATE || bytes > sizeof value || is_masked() ||
      !vector_get(visible() == 2 ? 0 : last - 1, value, bytes))
    return vector_put(0, nullptr, bytes);
  for (std::size_t at = 0; at < bytes; at += width) {
    const std::uint64_t by = operand(last).imm.value.u;
    const std::uint64_t lane = by < 8 * width ? operation(load_lane(value + at, width), by) : 0;
    std::memcpy(value + at, &lane, width);
  }
  vector_put(0, value, bytes);
}

void Execution::broadcast(unsigned width) {
  std::uint8_t lane[8], result[64];
  const std::size_t bytes = operand(0).size / 8;
  if (bytes > sizeof result || is_masked() || !vector_get(visible() - 1, lane, width))
    return vector_put(0, nullptr, bytes);
  for (std::size_t at = 0; at < bytes; at += width)
    std::memcpy(result + at, lane, width);
  vector_put(0, result, bytes);
}

// The n-th part of a vector, as large as the target.
void Execution::extract() {
  std::uint8_t source[64];
  const std::size_t bytes = operand(0).size / 8;
  const unsigned last = visible() - 1;
  const bool plain = operand(last).type == ZYDIS_OPERAND_TYPE_IMMEDIATE && !is_masked() &&
                     operand(last - 1).size / 8 <= sizeof source;
  const std::size_t whole = plain ? operand(last - 1).size / 8 : 0;
  const std::size_t at =
      plain ? operand(last).imm.value.u % std::max<std::size_t>(whole / bytes, 1) * bytes : 0;
  const bool known = plain && at + bytes <= whole && vector_get(last - 1, source, whole);
  vector_put(0, known ? source + at : nullptr, bytes);
}

bool Execution::run_vectors() {
  const auto sum = [](std::uint64_t a, std::uint64_t b) { return a + b; };
  const auto difference = [](std::uint64_t a, std::uint64_t b) { return a - b; };
  const auto product = [](std::uint64_t a, std::uint64_t b) { return a * b; };
  const auto low_product = [](std::uint64_t a, std::uint64_t b) {
    return (a & 0xffffffff) * (b & 0xffffffff);
  };
  const auto both = [](std::uint64_t a, std::uint64_t b) { return a & b; };
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
    OMPTIER_BOTH(PAND)
  case ZYDIS_MNEMONIC_VPANDD:
  case ZYDIS_MNEMONIC_VPANDQ:
    return lanes(8, both), true;
    OMPTIER_BOTH(POR)
  case ZYDIS_MNEMONIC_VPORD:
  case ZYDIS_MNEMONIC_VPORQ:
    return lanes(8, either), true;
    OMPTIER_BOTH(PXOR)
    OMPTIER_BOTH(XORPS)
  case ZYDIS_MNEMONIC_VPXORD:
  case ZYDIS_MNEMONIC_VPXORQ:
    return lanes(8, one), true;
    OMPTIER_BOTH(PSLLD) return lanes_by_constant(4, up), true;
    OMPTIER_BOTH(PSLLQ) return lanes_by_constant(8, up), true;
    OMPTIER_BOTH(PSRLD) return lanes_by_constant(4, down), true;
    OMPTIER_BOTH(PSRLQ) return lanes_by_constant(8, down), true;
  case ZYDIS_MNEMONIC_VPBROADCASTD:
    return broadcast(4), true;
  case ZYDIS_MNEMONIC_VPBROADCASTQ:
    return broadcast(8), true;
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
