// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The program's own mappings, so that munmap of a part leaves the rest. In pages of our own, the
// lowest address last, because the kernel gives ever lower ones. The caller's lock covers it.
//
// Threads report in another order than the kernel acted: addresses that one thread has unmapped may
// be mapped by another before the first reports. So mappings are numbered as reported, and an unmap
// removes only mappings with lower numbers.
#pragma once

#include "base/page_array.hpp"

#include <algorithm>
#include <cstdint>

namespace omptier {

struct Mapping {
  std::uintptr_t begin = 0, end = 0;
  std::uint64_t number = 0; // in order of the reports
  std::uint32_t site = 0;
  bool logged = false; // one by one
};

class Mappings {
public:
  // No known mapping overlaps it. False when there is no memory for it.
  bool add(const Mapping& fresh) {
    if (!list_.add(fresh)) return false;
    Mapping* at = first_not_above(fresh.begin, list_.end() - 1);
    std::move_backward(at, list_.end() - 1, list_.end());
    *at = fresh;
    return true;
  }

  // Removes [begin, end) from all mappings up to that number: gone(mapping) for each that it
  // touches, then left(rest) for each part that stays.
  template <typename Gone, typename Left>
  void remove(std::uintptr_t begin, std::uintptr_t end, std::uint64_t number, Gone&& gone,
              Left&& left) {
    for (std::uintptr_t last = end - 1;;) {
      Mapping* at = first_not_above(last, list_.end());
      if (at == list_.end() || at->end <= begin) return;
      const Mapping old = *at;
      if (old.number <= number) {
        list_.remove(static_cast<std::size_t>(at - list_.begin()));
        gone(old);
        Mapping rest = old;
        rest.begin = end;
        if (old.end > end && add(rest)) left(rest);
        rest.begin = old.begin;
        rest.end = begin;
        if (old.begin < begin && add(rest)) left(rest);
      }
      if (old.begin <= begin) return;
      last = old.begin - 1;
    }
  }

  void clear() { list_.release(); }
  std::size_t size() const { return list_.size(); }

  // In descending order, none empty, no overlap.
  bool is_consistent() const {
    for (std::size_t i = 0; i < list_.size(); ++i)
      if (list_[i].begin >= list_[i].end || (i > 0 && list_[i].end > list_[i - 1].begin))
        return false;
    return true;
  }

private:
  Mapping* first_not_above(std::uintptr_t address, Mapping* last) {
    return std::partition_point(list_.begin(), last,
                                [&](const Mapping& other) { return other.begin > address; });
  }

  PageArray<Mapping> list_;
};

} // namespace omptier
