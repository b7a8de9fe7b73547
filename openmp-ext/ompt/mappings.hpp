// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What the program has mapped itself, so that munmap of a part leaves the rest. In pages of its
// own, the lowest address last: the kernel gives ever lower ones. The caller's lock covers it.
#pragma once

#include "base/page_array.hpp"

#include <algorithm>
#include <cstdint>

namespace omptier {

class Mappings {
public:
  // [begin, end) holds nothing known. False when there is no memory for it.
  bool add(std::uintptr_t begin, std::uintptr_t end, std::uint32_t site) {
    const Mapping fresh{begin, end, site};
    if (!list_.add(fresh)) return false;
    Mapping* at = first_not_above(begin, list_.end() - 1);
    std::move_backward(at, list_.end() - 1, list_.end());
    *at = fresh;
    return true;
  }

  // Takes [begin, end) away: gone(address) for each mapping that it touches, then left(address,
  // end, site) for each part that stays.
  template <typename Gone, typename Left>
  void remove(std::uintptr_t begin, std::uintptr_t end, Gone&& gone, Left&& left) {
    for (;;) {
      Mapping* at = first_not_above(end - 1, list_.end());
      if (at == list_.end() || at->end <= begin) return;
      const Mapping old = *at;
      list_.remove(static_cast<std::size_t>(at - list_.begin()));
      gone(old.begin);
      if (old.end > end && add(end, old.end, old.site)) left(end, old.end, old.site);
      if (old.begin < begin && add(old.begin, begin, old.site)) left(old.begin, begin, old.site);
    }
  }

  void clear() { list_.release(); }
  std::size_t size() const { return list_.size(); }

  // In descending order, none empty, none in another.
  bool is_consistent() const {
    for (std::size_t i = 0; i < list_.size(); ++i)
      if (list_[i].begin >= list_[i].end || (i > 0 && list_[i].end > list_[i - 1].begin))
        return false;
    return true;
  }

private:
  struct Mapping {
    std::uintptr_t begin, end;
    std::uint32_t site;
  };
  Mapping* first_not_above(std::uintptr_t address, Mapping* last) {
    return std::partition_point(list_.begin(), last,
                                [&](const Mapping& other) { return other.begin > address; });
  }

  PageArray<Mapping> list_;
};

} // namespace omptier
