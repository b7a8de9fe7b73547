// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// From what single instructions do to what a program does to an object: its pattern, in the words
// of the access_pattern trait. Unrolled and vector loops are several instructions with one long
// step between them; together they cover the bytes inside that step.
#pragma once

#include "objects/pattern.hpp"

#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace omptier {

enum class PatternKind : std::uint8_t {
  unknown,
  sequential,
  strided,
  tiled,
  random,
  pointer_chase
};
inline constexpr std::size_t k_pattern_kinds = 6;
const char* name_of(PatternKind kind);

struct ObjectPattern {
  PatternKind kind = PatternKind::unknown;
  PatternKind also = PatternKind::unknown; // another one of much of the bytes or the time
  std::int64_t stride = 0;                 // bytes, of strided; the median, of several
  double indirect = 0;     // share of the bytes whose address came out of another load
  bool mixed = false;      // a fifth of the bytes and more are accessed in another pattern
  bool several = false;    // strided: by another stride each time that the loop runs
};

struct PatternParts {
  ObjectPattern whole;
  std::int64_t stride = 0; // of what is strided, if anything
  bool several = false;
  std::array<double, k_pattern_kinds> loaded{}, stored{}; // bytes by kind
  std::map<std::uint64_t, PatternKind> instructions;      // by address; of what is loaded, if both

  double bytes(std::size_t kind) const { return loaded[kind] + stored[kind]; }
};

// Call add() for everything known of one object, then decide().
class PatternEvidence {
public:
  void add(const AccessPattern& pattern);
  ObjectPattern decide() const { return parts().whole; }
  // object: bytes of a block, 0 = not known.
  PatternParts parts(double object = 0) const;
  double bytes() const { return loaded_ + stored_; }
  double stored() const { return stored_; }

private:
  struct Of {                  // one instruction
    std::uint64_t address = 0; // one that it accessed
    std::uint64_t lowest = ~std::uint64_t{0}, highest = 0;
    double bytes = 0, accesses = 0, chased = 0, indirect = 0, known = 0;
    std::map<std::int64_t, double> strides; // by accesses
    struct Steady {
      double bytes = 0;
      unsigned times = 0;
    };
    std::map<std::int64_t, Steady> steady;  // by the one stride of a loop while it was looked at
    std::vector<std::uint64_t> places;      // some that it accessed
  };
  std::map<std::pair<std::uint64_t, AccessKind>, Of> instructions_;
  double loaded_ = 0, stored_ = 0;
};

} // namespace omptier
