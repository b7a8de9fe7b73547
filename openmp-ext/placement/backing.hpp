// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What the address space of a tier is made of, as a table of operations. There are two: pages of
// NUMA nodes by memory policy (node_pages), and a file in a folder with DAX (folder.hpp). Extents
// ask for nothing else; what differs between the two is written there, or follows from
// comes_at_touch.
#pragma once

#include "placement/pages.hpp"

#include <cstddef>
#include <cstdint>

namespace omptier {

class Backing {
public:
  enum class Bound : std::uint8_t { yes, without_policy, no };

  // Memory comes page by page when it is touched, to the nodes of the policy, where the kernel
  // tells of it and moves it. Else all that is committed is there, on no node that has a number,
  // and stays.
  const bool comes_at_touch;

  // A slice of reserved address space, inaccessible yet, is made of it from now on, or cannot be.
  virtual Bound bind(std::uintptr_t begin, std::size_t bytes, const Binding& binding) = 0;
  // A part of a slice may be written from now on; false: there is no memory, nothing has changed.
  virtual bool commit(std::uintptr_t begin, std::size_t bytes) = 0;
  // Gives what lies there back; it reads as zero then. False: it stays.
  virtual bool drop(std::uintptr_t begin, std::size_t bytes) = 0;
  // Where the pages of a part are. False: the kernel does not tell.
  virtual bool census(std::uintptr_t begin, std::size_t bytes, PageCensus& census) const {
    return count_pages(begin, bytes, census);
  }
  // Bytes that may still be committed, where that is known of all there is; else ~0.
  virtual std::uint64_t free_bytes() const { return ~std::uint64_t{0}; }
  virtual const char* folder() const { return nullptr; } // its path

protected:
  explicit constexpr Backing(bool at_touch) : comes_at_touch(at_touch) {}
  ~Backing() = default;
};

// Pages of NUMA nodes: one for all tiers of the process.
Backing& node_pages();

} // namespace omptier
