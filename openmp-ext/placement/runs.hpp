// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Free runs of pages: the parts of the slices (whole units), or of the regions of one company
// (whole pages), that no extent has. Runs are in bins by size, four per doubling, with a bitmap of
// the non-empty ones. Neighbours are found through the owners of the adjoining addresses and
// joined; so two adjoining free runs exist only if one is *open*, its pages still committed and
// charged, and the other closed.
//
// In regions no run is smaller than a granule: a smaller rest goes with the extent.
#pragma once

#include "base/object_pool.hpp"
#include "placement/extent.hpp"
#include "placement/ranges.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>

namespace omptier {

class FreeRuns {
public:
  // The referenced objects outlive this one; their owner's lock protects it.
  FreeRuns(ReservedRanges& ranges, ObjectPool<Extent>& pool, ExtentSpace& space, Company company);

  // Takes bytes (whole units or pages) out of a run, begin aligned; more if too little would be
  // left. committed is the run's. Null when there is no such run, or no memory for bookkeeping.
  Extent* take(std::size_t bytes, std::size_t alignment);
  // Frees an extent whose pages are all committed or all not. Returns the run that contains it now.
  Extent* put(Extent* extent);

  // The neighbour of any use, if it is of the same space and region.
  Extent* before(const Extent& extent) const;
  Extent* after(const Extent& extent) const;
  // The second part, or null: no memory, or too little left.
  Extent* cut(Extent& extent, std::size_t bytes);
  // For a free run; the rest stays free.
  Extent* cut_begin(Extent& run, std::size_t bytes);
  void join(Extent& first, Extent& second);
  // The extent's pages belong to another now.
  void drop(Extent& extent);
  // Out of its bin; add() puts it back unchanged.
  void remove(Extent* run);
  void add(Extent* run);

  // Any run with committed pages, or null.
  Extent* open_run() const;
  // Number of closed runs in all regions of the process: each costs two kernel mappings.
  static int closed_in_regions();
  bool is_sound(std::string& why_not) const;

private:
  static constexpr unsigned k_bins = 128;
  static unsigned bin_of(std::size_t grains);
  unsigned next_bin(unsigned from) const; // k_bins: all are empty from there on
  bool fits(const Extent& run, std::size_t bytes, std::size_t alignment,
            std::uintptr_t& begin) const;
  Extent* find(std::size_t bytes, std::size_t alignment, std::uintptr_t& begin) const;
  Extent* neighbour(const Extent& extent, std::uintptr_t address) const;
  Extent* make(std::uintptr_t begin, std::size_t bytes);
  void mark(Extent& extent, ReservedRanges::Marks marks);

  ReservedRanges& ranges_;
  ObjectPool<Extent>& pool_;
  ExtentSpace& space_;
  const Company company_;
  const std::size_t grain_; // bytes
  const std::size_t least_; // bytes
  std::array<Extent*, k_bins> bins_{};
  std::array<std::uint64_t, k_bins / 64> filled_{};
};

} // namespace omptier
