// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Floating-point values that become indices: `field[(int)x[i]]` in scalars, or by lane in front of
// a gather. A sample has no vector registers, so a value is known only if the emulation loads or
// computes it; everything that depends on another value is unknown. Results are rounded to nearest,
// because programs hardly ever set another mode.

#include "emulation/execution.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <type_traits>

namespace omptier {
namespace {

constexpr std::size_t k_scalar_register = 16; // bytes, of which scalars use the lowest

template <typename T> T load_as(const std::uint8_t* from) {
  T value;
  std::memcpy(&value, from, sizeof value);
  return value;
}

enum class Rounding : std::uint8_t { nearest, down, up, truncate };

double rounded(double value, Rounding how) {
  switch (how) {
  case Rounding::down:
    return std::floor(value);
  case Rounding::up:
    return std::ceil(value);
  case Rounding::truncate:
    return std::trunc(value);
  default:
    return std::nearbyint(value);
  }
}

// Converts as the processor: a value that fits no integer becomes the lowest one.
template <typename To, typename From> To converted(From value, Rounding how) {
  if constexpr (std::is_integral_v<To> && std::is_floating_point_v<From>) {
    const double whole = rounded(double{value}, how);
    const double limit = std::ldexp(1.0, std::numeric_limits<To>::digits);
    if (!(whole >= -limit && whole < limit)) return std::numeric_limits<To>::min();
    return static_cast<To>(whole);
  } else {
    return static_cast<To>(value);
  }
}

} // namespace

// The other elements of the register that gets a scalar result: from the first source, or in the
// older form the target. They are hardly ever read: 0 if unknown.
void Execution::scalar_rest(unsigned i, std::uint8_t* to) const {
  if (!vector_get(i, to, k_scalar_register)) std::memset(to, 0, k_scalar_register);
}

// By lane from two sources; scalar: the lowest lane only.
template <typename T, typename Operation>
void Execution::floats(bool scalar, const Operation& operation) {
  std::uint8_t left[64], right[64];
  const std::size_t bytes = scalar ? k_scalar_register : operand(0).size / 8;
  const std::size_t used = scalar ? sizeof(T) : bytes;
  const unsigned last = visible() - 1;
  if (bytes > sizeof left || (scalar && has_mask()) ||
      !vector_get(visible() == 2 ? 0 : last - 1, left, bytes) || !vector_get(last, right, used))
    return vector_put(0, nullptr, bytes);
  for (std::size_t at = 0; at < used; at += sizeof(T)) {
    const T value = operation(load_as<T>(left + at), load_as<T>(right + at));
    std::memcpy(left + at, &value, sizeof value);
  }
  vector_put(0, left, bytes);
}

// From one source: roots and rounding. at: the source's operand.
template <typename T, typename Operation>
void Execution::floats_of_one(bool scalar, unsigned at, const Operation& operation) {
  std::uint8_t source[64], result[64];
  const std::size_t bytes = scalar ? k_scalar_register : operand(0).size / 8;
  const std::size_t used = scalar ? sizeof(T) : bytes;
  if (bytes > sizeof result || (scalar && has_mask()) || !vector_get(at, source, used))
    return vector_put(0, nullptr, bytes);
  if (scalar) scalar_rest(at > 1 ? at - 1 : 0, result);
  for (std::size_t lane = 0; lane < used; lane += sizeof(T)) {
    const T value = operation(load_as<T>(source + lane));
    std::memcpy(result + lane, &value, sizeof value);
  }
  vector_put(0, result, bytes);
}

// roundsd, vrndscaleps …: mode in the constant's lowest bits, decimals in its upper half.
template <typename T> void Execution::round(bool scalar) {
  const std::uint64_t how = operand(visible() - 1).imm.value.u;
  const bool by_state = (how & 4) != 0, decimals = (how & 0xf0) != 0;
  if (decimals) return forget_written();
  const Rounding rounding = by_state ? Rounding::nearest : static_cast<Rounding>(how & 3);
  floats_of_one<T>(scalar, visible() - 2, [rounding](T value) {
    return static_cast<T>(rounded(double{value}, rounding));
  });
}

// ± a × b ± c; which of the operands 0, 1 and 2 are multiplied and which is added.
template <typename T>
void Execution::multiply_add(bool scalar, FusedOperands which, FusedSigns signs) {
  std::uint8_t value[3][64];
  const std::size_t bytes = scalar ? k_scalar_register : operand(0).size / 8;
  const std::size_t used = scalar ? sizeof(T) : bytes;
  if (visible() != 3 || bytes > sizeof value[0]) return forget_written(); // also under masks
  for (unsigned i = 0; i < 3; ++i)
    if (!vector_get(i, value[i], i == 2 ? used : bytes)) return vector_put(0, nullptr, bytes);
  for (std::size_t at = 0; at < used; at += sizeof(T)) {
    const T left = load_as<T>(value[which.left] + at), right = load_as<T>(value[which.right] + at);
    const T added = load_as<T>(value[which.added] + at);
    const T sum = std::fma(signs.product ? -left : left, right, signs.added ? -added : added);
    std::memcpy(value[0] + at, &sum, sizeof sum);
  }
  vector_put(0, value[0], bytes);
}

// The lowest element to a general register.
template <typename From> void Execution::to_integer(bool truncates) {
  std::uint8_t source[sizeof(From)];
  if (!vector_get(1, source, sizeof source)) return put(0, Value());
  const Rounding how = truncates ? Rounding::truncate : Rounding::nearest;
  const From value = load_as<From>(source);
  if (bits() == 64) return put(0, static_cast<std::uint64_t>(converted<std::int64_t>(value, how)));
  put(0, static_cast<std::uint32_t>(converted<std::int32_t>(value, how)));
}

template <typename To> void Execution::from_integer() {
  const unsigned last = visible() - 1;
  const Value value = get(last);
  if (!value) return vector_put(0, nullptr, k_scalar_register);
  const To result = operand(last).size == 64
                        ? static_cast<To>(static_cast<std::int64_t>(*value))
                        : static_cast<To>(static_cast<std::int32_t>(*value));
  std::uint8_t kept[k_scalar_register];
  scalar_rest(last - 1, kept);
  std::memcpy(kept, &result, sizeof result);
  vector_put(0, kept, sizeof kept);
}

// Between floating-point types, or by lane also from and to integers.
template <typename From, typename To> void Execution::convert(bool scalar, bool truncates) {
  constexpr std::size_t k_widest = std::max(sizeof(From), sizeof(To));
  const std::size_t whole = decoded_.instruction.avx.vector_length / 8u;
  const std::size_t count = scalar ? 1 : std::max<std::size_t>(whole, 16) / k_widest;
  const unsigned last = visible() - 1;
  std::uint8_t source[64], result[64];
  if ((scalar && has_mask()) || count * k_widest > sizeof source ||
      !vector_get(last, source, count * sizeof(From)))
    return vector_put(0, nullptr, k_scalar_register);
  if (scalar) scalar_rest(last - 1, result);
  for (std::size_t lane = 0; lane < count; ++lane) {
    const To value = converted<To>(load_as<From>(source + lane * sizeof(From)),
                                   truncates ? Rounding::truncate : Rounding::nearest);
    std::memcpy(result + lane * sizeof(To), &value, sizeof value);
  }
  vector_put(0, result, scalar ? k_scalar_register : count * sizeof(To));
}

// movsd, movss: a load clears the rest of the register, a move between registers keeps it.
template <typename T> void Execution::move_scalar() {
  std::uint8_t value[k_scalar_register] = {};
  const unsigned last = visible() - 1;
  const bool stores = operand(0).type == ZYDIS_OPERAND_TYPE_MEMORY;
  const bool merges = !stores && operand(last).type == ZYDIS_OPERAND_TYPE_REGISTER;
  bool known = !has_mask();
  if (merges) known = known && vector_get(last - 1, value, sizeof value);
  known = known && vector_get(last, value, sizeof(T));
  vector_put(0, known ? value : nullptr, stores ? sizeof(T) : sizeof value);
}

// comisd, ucomiss …: unordered sets both flags; compilers test the parity, which is not tracked.
template <typename T> void Execution::compare_scalars() {
  std::uint8_t left[sizeof(T)], right[sizeof(T)];
  state_.flags_known = 0;
  if (!vector_get(0, left, sizeof left) || !vector_get(1, right, sizeof right)) return;
  const T a = load_as<T>(left), b = load_as<T>(right);
  state_.flags_known = k_all_flags;
  state_.flags = (a >= b ? 0 : k_carry) | (a < b || a > b ? 0 : k_zero);
}

// Predicates of cmppd and similar, numbered as in the manuals; those from 16 on differ from these
// only in the exceptions that they raise.
template <typename T> bool holds(std::uint64_t predicate, T a, T b) {
  const bool unordered = std::isunordered(a, b);
  switch (predicate & 7) {
  case 0:
    return a == b || (unordered && (predicate & 8) != 0);
  case 1:
    return (predicate & 8) != 0 ? !(a >= b) : a < b;
  case 2:
    return (predicate & 8) != 0 ? !(a > b) : a <= b;
  case 3:
    return (predicate & 8) == 0 && unordered;
  case 4:
    return a != b && !(unordered && (predicate & 8) != 0);
  case 5:
    return (predicate & 8) != 0 ? a >= b : !(a < b);
  case 6:
    return (predicate & 8) != 0 ? a > b : !(a <= b);
  default:
    return (predicate & 8) != 0 || !unordered;
  }
}

// cmpltsd, vcmppd …: all bits of a lane or none; compilers use it to choose between two values
// without a branch. False for other instructions (cmpsd of strings, compares into a mask register).
template <typename T> bool Execution::compare_lanes(bool scalar) {
  if (operand(0).type != ZYDIS_OPERAND_TYPE_REGISTER || vector_number(operand(0).reg.value) < 0)
    return false;
  std::uint8_t left[64], right[64];
  const std::size_t bytes = scalar ? k_scalar_register : operand(0).size / 8;
  const std::size_t used = scalar ? sizeof(T) : bytes;
  const unsigned last = visible() - 2; // in front of the predicate
  if (bytes > sizeof left || !vector_get(last == 1 ? 0 : last - 1, left, bytes) ||
      !vector_get(last, right, used)) {
    vector_put(0, nullptr, bytes);
    return true;
  }
  const std::uint64_t predicate = operand(last + 1).imm.value.u;
  for (std::size_t at = 0; at < used; at += sizeof(T))
    std::memset(left + at,
                holds(predicate, load_as<T>(left + at), load_as<T>(right + at)) ? 0xff : 0,
                sizeof(T));
  vector_put(0, left, bytes);
  return true;
}

bool Execution::run_floats() {
  const auto sum = [](auto a, auto b) { return a + b; };
  const auto difference = [](auto a, auto b) { return a - b; };
  const auto product = [](auto a, auto b) { return a * b; };
  const auto quotient = [](auto a, auto b) { return a / b; };
  const auto least = [](auto a, auto b) { return a < b ? a : b; };
  const auto greatest = [](auto a, auto b) { return a > b ? a : b; };
  const auto root = [](auto a) { return std::sqrt(a); };
#define OMPTIER_BOTH(name)                                                                         \
  case ZYDIS_MNEMONIC_##name:                                                                      \
  case ZYDIS_MNEMONIC_V##name:
#define OMPTIER_FLOATS(name, operation)                                                            \
  OMPTIER_BOTH(name##SD) return floats<double>(true, operation), true;                             \
  OMPTIER_BOTH(name##SS) return floats<float>(true, operation), true;                              \
  OMPTIER_BOTH(name##PD) return floats<double>(false, operation), true;                            \
  OMPTIER_BOTH(name##PS) return floats<float>(false, operation), true;
#define OMPTIER_FUSED_AS(name, order, ...)                                                         \
  case ZYDIS_MNEMONIC_V##name##order##SD:                                                          \
    return multiply_add<double>(true, __VA_ARGS__), true;                                          \
  case ZYDIS_MNEMONIC_V##name##order##SS:                                                          \
    return multiply_add<float>(true, __VA_ARGS__), true;                                           \
  case ZYDIS_MNEMONIC_V##name##order##PD:                                                          \
    return multiply_add<double>(false, __VA_ARGS__), true;                                         \
  case ZYDIS_MNEMONIC_V##name##order##PS:                                                          \
    return multiply_add<float>(false, __VA_ARGS__), true;
#define OMPTIER_FUSED(name, product, added)                                                        \
  OMPTIER_FUSED_AS(name, 132, FusedOperands{0, 2, 1}, FusedSigns{product, added})                  \
  OMPTIER_FUSED_AS(name, 213, FusedOperands{0, 1, 2}, FusedSigns{product, added})                  \
  OMPTIER_FUSED_AS(name, 231, FusedOperands{1, 2, 0}, FusedSigns{product, added})
  switch (mnemonic()) {
    OMPTIER_BOTH(MOVSD) return move_scalar<double>(), true;
    OMPTIER_BOTH(MOVSS) return move_scalar<float>(), true;
    OMPTIER_FLOATS(ADD, sum)
    OMPTIER_FLOATS(SUB, difference)
    OMPTIER_FLOATS(MUL, product)
    OMPTIER_FLOATS(DIV, quotient)
    OMPTIER_FLOATS(MIN, least)
    OMPTIER_FLOATS(MAX, greatest)
    OMPTIER_FUSED(FMADD, false, false)
    OMPTIER_FUSED(FMSUB, false, true)
    OMPTIER_FUSED(FNMADD, true, false)
    OMPTIER_FUSED(FNMSUB, true, true)
    OMPTIER_BOTH(SQRTSD) return floats_of_one<double>(true, visible() - 1, root), true;
    OMPTIER_BOTH(SQRTSS) return floats_of_one<float>(true, visible() - 1, root), true;
    OMPTIER_BOTH(SQRTPD) return floats_of_one<double>(false, visible() - 1, root), true;
    OMPTIER_BOTH(SQRTPS) return floats_of_one<float>(false, visible() - 1, root), true;
    OMPTIER_BOTH(ROUNDSD)
  case ZYDIS_MNEMONIC_VRNDSCALESD:
    return round<double>(true), true;
    OMPTIER_BOTH(ROUNDSS)
  case ZYDIS_MNEMONIC_VRNDSCALESS:
    return round<float>(true), true;
    OMPTIER_BOTH(ROUNDPD)
  case ZYDIS_MNEMONIC_VRNDSCALEPD:
    return round<double>(false), true;
    OMPTIER_BOTH(ROUNDPS)
  case ZYDIS_MNEMONIC_VRNDSCALEPS:
    return round<float>(false), true;
    OMPTIER_BOTH(CVTTSD2SI) return to_integer<double>(true), true;
    OMPTIER_BOTH(CVTTSS2SI) return to_integer<float>(true), true;
    OMPTIER_BOTH(CVTSD2SI) return to_integer<double>(false), true;
    OMPTIER_BOTH(CVTSS2SI) return to_integer<float>(false), true;
    OMPTIER_BOTH(CVTSI2SD) return from_integer<double>(), true;
    OMPTIER_BOTH(CVTSI2SS) return from_integer<float>(), true;
    OMPTIER_BOTH(CVTSS2SD) return convert<float, double>(true, false), true;
    OMPTIER_BOTH(CVTSD2SS) return convert<double, float>(true, false), true;
    OMPTIER_BOTH(CVTPS2PD) return convert<float, double>(false, false), true;
    OMPTIER_BOTH(CVTPD2PS) return convert<double, float>(false, false), true;
    OMPTIER_BOTH(CVTTPD2DQ) return convert<double, std::int32_t>(false, true), true;
    OMPTIER_BOTH(CVTTPS2DQ) return convert<float, std::int32_t>(false, true), true;
    OMPTIER_BOTH(CVTPD2DQ) return convert<double, std::int32_t>(false, false), true;
    OMPTIER_BOTH(CVTPS2DQ) return convert<float, std::int32_t>(false, false), true;
    OMPTIER_BOTH(CVTDQ2PD) return convert<std::int32_t, double>(false, false), true;
    OMPTIER_BOTH(CVTDQ2PS) return convert<std::int32_t, float>(false, false), true;
  case ZYDIS_MNEMONIC_VCVTTPD2QQ:
    return convert<double, std::int64_t>(false, true), true;
  case ZYDIS_MNEMONIC_VCVTTPS2QQ:
    return convert<float, std::int64_t>(false, true), true;
  case ZYDIS_MNEMONIC_VCVTQQ2PD:
    return convert<std::int64_t, double>(false, false), true;
    OMPTIER_BOTH(CMPSD) return compare_lanes<double>(true);
    OMPTIER_BOTH(CMPSS) return compare_lanes<float>(true);
    OMPTIER_BOTH(CMPPD) return compare_lanes<double>(false);
    OMPTIER_BOTH(CMPPS) return compare_lanes<float>(false);
    OMPTIER_BOTH(COMISD)
    OMPTIER_BOTH(UCOMISD)
    return compare_scalars<double>(), true;
    OMPTIER_BOTH(COMISS)
    OMPTIER_BOTH(UCOMISS)
    return compare_scalars<float>(), true;
  default:
    return false;
  }
#undef OMPTIER_FUSED
#undef OMPTIER_FUSED_AS
#undef OMPTIER_FLOATS
#undef OMPTIER_BOTH
}

} // namespace omptier
