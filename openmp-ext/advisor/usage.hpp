// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Bytes in use of one tier over time: what makes two objects compete is being alive together. Time
// is cut at every begin and end of a live stretch; each piece holds the bytes placed in it.
#pragma once

#include "advisor/workload.hpp"

#include <cstdint>
#include <vector>

namespace omptier {

class Usage {
public:
  // cuts: all moments at which any site's live bytes change, ascending, without repeats.
  Usage(std::vector<std::uint64_t> cuts, std::uint64_t capacity);

  // Whether the site's bytes fit at every moment.
  bool fits(const SiteDemand& site) const;
  // Largest number of bytes by which the site does not fit; 0 when it does.
  std::uint64_t shortage(const SiteDemand& site) const;
  void add(const SiteDemand& site);
  void remove(const SiteDemand& site);
  std::uint64_t peak() const;
  bool is_consistent() const; // never over capacity

private:
  template <typename Use> void for_each_piece(const SiteDemand& site, Use use) const;

  std::vector<std::uint64_t> cuts_;
  std::vector<std::uint64_t> used_; // used_[i]: bytes from cuts_[i] to cuts_[i + 1]
  std::uint64_t capacity_;
};

// All moments of change in a workload, for the constructor above.
std::vector<std::uint64_t> moments_of_change(const Workload& workload);

} // namespace omptier
