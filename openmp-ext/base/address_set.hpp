// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A set of non-zero addresses in pages of its own (no malloc). The caller's lock protects it.
#pragma once

#include "base/page_array.hpp"

#include <cstdint>

namespace omptier {

class AddressSet {
public:
  // True if the address is new; false if it is known, or if there is no memory for it.
  bool add(std::uintptr_t address) {
    if (2 * (used_ + 1) > slots_.size() && !grow()) return false;
    std::uintptr_t& slot = find(address);
    if (slot == address) return false;
    slot = address;
    ++used_;
    return true;
  }
  void clear() {
    slots_.release();
    used_ = 0;
  }
  std::size_t size() const { return used_; }

private:
  std::uintptr_t& find(std::uintptr_t address) {
    std::size_t at = (address * 0x9e3779b97f4a7c15u) >> 20 & (slots_.size() - 1);
    while (slots_[at] != 0 && slots_[at] != address)
      at = (at + 1) & (slots_.size() - 1);
    return slots_[at];
  }
  bool grow() {
    PageArray<std::uintptr_t> old;
    old.swap(slots_);
    if (!slots_.resize(old.empty() ? 512 : 2 * old.size(), 0)) {
      old.swap(slots_);
      return false;
    }
    for (const std::uintptr_t address : old)
      if (address != 0) find(address) = address;
    return true;
  }

  PageArray<std::uintptr_t> slots_; // a power of two; 0 = empty
  std::size_t used_ = 0;
};

} // namespace omptier
