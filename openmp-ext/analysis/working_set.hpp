// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Where in its object an access fell, and which part of the object a phase really uses. Offsets are
// counted in 256 equal parts of the object, so that objects of one site with different sizes add
// up. Samples are few: neighbours are joined until a part holds 8 samples on average, for with
// fewer even evenly spread accesses leave parts empty by chance (e^-8 of them, with 8).
#pragma once

#include <cstdint>
#include <vector>

namespace omptier {

// Fractions of the object, [begin, end), and of the weight of the samples in it.
struct HotRange {
  double begin = 0, end = 0;
  double share = 0;
};

class OffsetHistogram {
public:
  // offset < bytes, the object's size.
  void add(std::uint64_t offset, std::uint64_t bytes, double weight);
  // The same; position: the fraction of the object before the access.
  void add_at(double position, double weight);
  bool empty() const { return samples_ == 0; }

  // The fewest parts with 9 of 10 accesses, hottest first, neighbours joined. Empty without
  // samples.
  std::vector<HotRange> hot_ranges() const;

private:
  static constexpr unsigned k_parts = 256;
  std::vector<float> weights_; // none before the first sample
  std::uint64_t samples_ = 0;
};

// Sum of the ranges' lengths.
double fraction_of(const std::vector<HotRange>& ranges);

} // namespace omptier
