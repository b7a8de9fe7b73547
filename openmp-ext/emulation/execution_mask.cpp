// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Masks determine which lanes of a gather, scatter or masked load access memory. Here are mask
// registers and the comparisons that set them (or, before AVX-512, vectors of ones and zeros).

#include "emulation/execution.hpp"

#include <algorithm>
#include <cstring>

namespace omptier {

namespace {

std::uint64_t lane_of(const std::uint8_t* from, std::size_t lane, unsigned width) {
  std::uint64_t value = 0;
  std::memcpy(&value, from + lane * width, width);
  return value;
}

std::int64_t signed_lane(std::uint64_t value, unsigned width) {
  const unsigned unused = 64 - 8 * width;
  return static_cast<std::int64_t>(value << unused) >> unused;
}

std::uint64_t low_bits(std::size_t count) {
  return count >= 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << count) - 1;
}

// The letter at the end of the instruction's name gives the number of bits.
unsigned mask_bits(ZydisMnemonic mnemonic) {
  const char* name = ZydisMnemonicGetString(mnemonic);
  switch (name[std::strlen(name) - 1]) {
  case 'b':
    return 8;
  case 'w':
    return 16;
  case 'd':
    return 32;
  default:
    return 64;
  }
}

} // namespace

Execution::Value Execution::mask_get(unsigned i) const {
  const ZydisDecodedOperand& from = operand(i);
  const int number = from.type == ZYDIS_OPERAND_TYPE_REGISTER ? mask_number(from.reg.value) : -1;
  if (number < 0) return get(i); // a general register or memory
  if (!state_.knows_mask(static_cast<unsigned>(number))) return {};
  return state_.masks[static_cast<std::size_t>(number)];
}

void Execution::mask_put(unsigned i, Value value) {
  const ZydisDecodedOperand& to = operand(i);
  const int number = to.type == ZYDIS_OPERAND_TYPE_REGISTER ? mask_number(to.reg.value) : -1;
  if (number < 0) return put(i, value);
  state_.set_mask(static_cast<unsigned>(number), value);
}

void Execution::move_mask() {
  const Value value = mask_get(1);
  const std::uint64_t kept = low_bits(mask_bits(mnemonic()));
  mask_put(0, value ? Value(*value & kept) : value);
}

void Execution::combine_masks() {
  const std::uint64_t kept = low_bits(mask_bits(mnemonic()));
  const Value a = mask_get(1), b = mask_get(visible() - 1);
  const bool same = operand(1).reg.value == operand(visible() - 1).reg.value && visible() == 3;
  Value result;
  switch (mnemonic()) {
  case ZYDIS_MNEMONIC_KXNORB:
  case ZYDIS_MNEMONIC_KXNORW:
  case ZYDIS_MNEMONIC_KXNORD:
  case ZYDIS_MNEMONIC_KXNORQ: // with itself: all lanes, whatever its value
    if (same || (a && b)) result = same ? ~std::uint64_t{0} : ~(*a ^ *b);
    break;
  case ZYDIS_MNEMONIC_KXORB:
  case ZYDIS_MNEMONIC_KXORW:
  case ZYDIS_MNEMONIC_KXORD:
  case ZYDIS_MNEMONIC_KXORQ:
    if (same || (a && b)) result = same ? 0 : *a ^ *b;
    break;
  case ZYDIS_MNEMONIC_KANDB:
  case ZYDIS_MNEMONIC_KANDW:
  case ZYDIS_MNEMONIC_KANDD:
  case ZYDIS_MNEMONIC_KANDQ:
    if (a && b) result = *a & *b;
    break;
  case ZYDIS_MNEMONIC_KANDNB:
  case ZYDIS_MNEMONIC_KANDNW:
  case ZYDIS_MNEMONIC_KANDND:
  case ZYDIS_MNEMONIC_KANDNQ:
    if (a && b) result = ~*a & *b;
    break;
  case ZYDIS_MNEMONIC_KORB:
  case ZYDIS_MNEMONIC_KORW:
  case ZYDIS_MNEMONIC_KORD:
  case ZYDIS_MNEMONIC_KORQ:
    if (a && b) result = *a | *b;
    break;
  case ZYDIS_MNEMONIC_KNOTB:
  case ZYDIS_MNEMONIC_KNOTW:
  case ZYDIS_MNEMONIC_KNOTD:
  case ZYDIS_MNEMONIC_KNOTQ:
    if (a) result = ~*a;
    break;
  case ZYDIS_MNEMONIC_KSHIFTRB:
  case ZYDIS_MNEMONIC_KSHIFTRW:
  case ZYDIS_MNEMONIC_KSHIFTRD:
  case ZYDIS_MNEMONIC_KSHIFTRQ:
    if (a && b) result = *b < 64 ? (*a & kept) >> *b : 0;
    break;
  case ZYDIS_MNEMONIC_KSHIFTLB:
  case ZYDIS_MNEMONIC_KSHIFTLW:
  case ZYDIS_MNEMONIC_KSHIFTLD:
  case ZYDIS_MNEMONIC_KSHIFTLQ:
    if (a && b) result = *b < 64 ? *a << *b : 0;
    break;
  case ZYDIS_MNEMONIC_KUNPCKBW:
    if (a && b) result = (*a & 0xff) << 8 | (*b & 0xff);
    break;
  case ZYDIS_MNEMONIC_KUNPCKWD:
    if (a && b) result = (*a & 0xffff) << 16 | (*b & 0xffff);
    break;
  default:
    if (a && b) result = *a << 32 | (*b & 0xffffffff); // kunpckdq
    break;
  }
  mask_put(0, result ? Value(*result & kept) : result);
}

// Sets a mask register's bits (under the mask), or fills a vector's lanes with ones or zeros.
void Execution::compare(unsigned width, const Test& test, unsigned last_source) {
  std::uint8_t left[64], right[64], result[64] = {};
  const std::size_t bytes = operand(last_source).type == ZYDIS_OPERAND_TYPE_REGISTER
                                ? operand(last_source).size / 8u
                                : std::max(operand(last_source - 1).size, operand(0).size) / 8u;
  const bool in_place = last_source == 1; // SSE: the target is the first source
  const unsigned first = in_place ? 0 : last_source - 1;
  const bool to_mask = mask_number(operand(0).reg.value) >= 0;
  const bool same = operand(last_source).type == ZYDIS_OPERAND_TYPE_REGISTER &&
                    operand(first).reg.value == operand(last_source).reg.value && test(1, 1) &&
                    test(0, 0) && !test(0, 1);
  std::uint64_t bits = 0;
  bool known = bytes <= sizeof left;
  if (known && same) { // equals itself, whatever its value
    bits = low_bits(bytes / width);
  } else {
    known = known && vector_get(first, left, bytes) && vector_get(last_source, right, bytes);
    for (std::size_t lane = 0; known && lane < bytes / width; ++lane)
      if (test(lane_of(left, lane, width), lane_of(right, lane, width)))
        bits |= std::uint64_t{1} << lane;
  }
  if (to_mask) {
    if (has_mask()) {
      const Value mask = mask_get(1);
      // With all lanes masked off, no bit is set, whatever is compared.
      known = (known && mask) || (mask && *mask == 0);
      bits &= mask.value_or(0);
    }
    return mask_put(0, known ? Value(bits) : Value());
  }
  for (std::size_t lane = 0; lane < bytes / width; ++lane)
    if (bits >> lane & 1) std::memset(result + lane * width, 0xff, width);
  vector_put(0, known ? result : nullptr, bytes);
}

// vpcmpd and similar: the last operand selects the comparison.
void Execution::compare_by_number(unsigned width, bool with_sign) {
  const unsigned last = visible() - 1;
  const std::uint64_t which = operand(last).imm.value.u & 7;
  compare(
      width,
      [=](std::uint64_t a, std::uint64_t b) {
        const bool less = with_sign ? signed_lane(a, width) < signed_lane(b, width) : a < b;
        const bool yes = (which & 3) == 0 ? a == b : (which & 3) == 1 ? less : less || a == b;
        return (which & 3) == 3 ? which == 7 : yes == (which < 4);
      },
      last - 1);
}

void Execution::spread_mask(unsigned width) {
  std::uint8_t result[64] = {};
  const std::size_t bytes = operand(0).size / 8u;
  const Value mask = mask_get(visible() - 1);
  for (std::size_t lane = 0; mask && lane < bytes / width; ++lane)
    if (*mask >> lane & 1) std::memset(result + lane * width, 0xff, width);
  vector_put(0, mask ? result : nullptr, bytes);
}

void Execution::gather_signs(unsigned width) {
  std::uint8_t value[64];
  const std::size_t bytes = operand(visible() - 1).size / 8u;
  const bool known = bytes <= sizeof value && vector_get(visible() - 1, value, bytes);
  std::uint64_t bits = 0;
  for (std::size_t lane = 0; known && lane < bytes / width; ++lane)
    if (signed_lane(lane_of(value, lane, width), width) < 0) bits |= std::uint64_t{1} << lane;
  mask_put(0, known ? Value(bits) : Value());
}

bool Execution::run_masks() {
  const auto equal = [](std::uint64_t a, std::uint64_t b) { return a == b; };
  const auto both = [](std::uint64_t a, std::uint64_t b) { return (a & b) != 0; };
  const auto none = [](std::uint64_t a, std::uint64_t b) { return (a & b) == 0; };
  const auto greater = [](unsigned width) {
    return [width](std::uint64_t a, std::uint64_t b) {
      return signed_lane(a, width) > signed_lane(b, width);
    };
  };
  const unsigned last = visible() - 1;
#define OMPTIER_WIDTHS(stem, call)                                                                 \
  case ZYDIS_MNEMONIC_##stem##B:                                                                   \
    return call(1), true;                                                                          \
  case ZYDIS_MNEMONIC_##stem##W:                                                                   \
    return call(2), true;                                                                          \
  case ZYDIS_MNEMONIC_##stem##D:                                                                   \
    return call(4), true;                                                                          \
  case ZYDIS_MNEMONIC_##stem##Q:                                                                   \
    return call(8), true;
  const auto is_equal = [&](unsigned width) { compare(width, equal, last); };
  const auto is_greater = [&](unsigned width) { compare(width, greater(width), last); };
  const auto have_common = [&](unsigned width) { compare(width, both, last); };
  const auto have_none = [&](unsigned width) { compare(width, none, last); };
  const auto by_number = [&](unsigned width) { compare_by_number(width, true); };
  const auto unsigned_by_number = [&](unsigned width) { compare_by_number(width, false); };
  const auto spread = [&](unsigned width) { spread_mask(width); };
  const auto signs = [&](unsigned width) { gather_signs(width); };
  switch (mnemonic()) {
  case ZYDIS_MNEMONIC_KMOVB:
  case ZYDIS_MNEMONIC_KMOVW:
  case ZYDIS_MNEMONIC_KMOVD:
  case ZYDIS_MNEMONIC_KMOVQ:
    return move_mask(), true;
    OMPTIER_WIDTHS(PCMPEQ, is_equal)
    OMPTIER_WIDTHS(VPCMPEQ, is_equal)
    OMPTIER_WIDTHS(PCMPGT, is_greater)
    OMPTIER_WIDTHS(VPCMPGT, is_greater)
    OMPTIER_WIDTHS(VPTESTM, have_common)
    OMPTIER_WIDTHS(VPTESTNM, have_none)
    OMPTIER_WIDTHS(VPCMP, by_number)
    OMPTIER_WIDTHS(VPCMPU, unsigned_by_number)
    OMPTIER_WIDTHS(VPMOVM2, spread)
  case ZYDIS_MNEMONIC_VPMOVB2M:
    return signs(1), true;
  case ZYDIS_MNEMONIC_VPMOVW2M:
    return signs(2), true;
  case ZYDIS_MNEMONIC_VPMOVD2M:
    return signs(4), true;
  case ZYDIS_MNEMONIC_VPMOVQ2M:
    return signs(8), true;
  default:
    break;
  }
#undef OMPTIER_WIDTHS
  const char* name = ZydisMnemonicGetString(mnemonic());
  for (const char* stem : {"kxnor", "kxor", "kand", "kor", "knot", "kshift", "kunpck"})
    if (std::strncmp(name, stem, std::strlen(stem)) == 0 && std::strncmp(name, "kort", 4) != 0)
      return combine_masks(), true;
  return false;
}

} // namespace omptier
