// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The memory behind a tier's address space, as a table of operations. There are two kinds: pages of
// NUMA nodes by memory policy (node_backing), and a file in a DAX directory (folder.hpp). Extents use
// nothing else; differences between the two are implemented there, or follow from comes_at_touch.
#pragma once

#include "placement/pages.hpp"

#include <cstddef>
#include <cstdint>

namespace omptier {

class Backing {
public:
  enum class Bound : std::uint8_t { yes, without_policy, no };

  // True: a page gets memory at its first touch, on the policy's nodes; the kernel reports and
  // moves it. False: committed memory exists at once, without a node number, and does not move.
  const bool comes_at_touch;

  // Makes an inaccessible slice of reserved address space use this memory, if it can.
  virtual Bound bind(std::uintptr_t begin, std::size_t bytes, const Binding& binding) = 0;
  // Makes a part of a slice writable; false: there is no memory, nothing has changed.
  virtual bool commit(std::uintptr_t begin, std::size_t bytes) = 0;
  // The part then reads as zero. False: the memory stays.
  virtual bool drop(std::uintptr_t begin, std::size_t bytes) = 0;
  // False: the kernel does not report it.
  virtual bool census(std::uintptr_t begin, std::size_t bytes, PageCensus& census) const {
    return count_pages(begin, bytes, census);
  }
  // Bytes that can still be committed, if the backing knows; else ~0.
  virtual std::uint64_t free_bytes() const { return ~std::uint64_t{0}; }
  virtual const char* folder() const { return nullptr; } // its path; null for nodes

protected:
  explicit constexpr Backing(bool at_touch) : comes_at_touch(at_touch) {}
  ~Backing() = default;
};

// Pages of NUMA nodes: one object for all tiers of the process.
Backing& node_backing();

} // namespace omptier
