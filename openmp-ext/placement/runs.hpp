// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Free runs of pages: what no extent has, of the slices (whole units) or of the regions of one
// company (whole pages). Runs lie in bins by size, four a doubling, of which bits tell the empty
// ones; neighbours are found through the owners of the adjoining addresses and joined, so two free
// runs adjoin only where one is *open*, its pages committed and charged still, and one is closed.
//
// In regions no run is smaller than a granule: what would be left of one goes with the extent.
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
  // The objects named outlive this one; their owner's lock covers it.
  FreeRuns(ReservedRanges& ranges, ObjectPool<Extent>& pool, ExtentSpace& space, Company company);

  // Bytes (whole units or pages) out of a run, begin aligned; a little more where too little would
  // be left. What it has committed is the run's. Null when there is no such run, or no memory for
  // the bookkeeping.
  Extent* take(std::size_t bytes, std::size_t alignment);
  // An extent is free, its pages wholly committed or not at all. Returns the run it is part of now.
  Extent* put(Extent* extent);

  // The extent of whatever use that adjoins, if it is of the same space and region.
  Extent* before(const Extent& extent) const;
  Extent* after(const Extent& extent) const;
  // Cuts an extent after so many bytes; the second part, or null: no memory, or too little is left.
  Extent* cut(Extent& extent, std::size_t bytes);
  // The same of a free run, which stays among the free ones behind the part that it loses.
  Extent* cut_begin(Extent& run, std::size_t bytes);
  // Two adjoining extents become the first.
  void join(Extent& first, Extent& second);
  // Forgets an extent whose pages are another's now.
  void drop(Extent& extent);
  // Takes a run out, or puts it back as it is.
  void remove(Extent* run);
  void add(Extent* run);

  // Some run with committed pages, or null.
  Extent* open_run() const;
  // Of all runs of the process in regions that are not open: each costs two kernel mappings.
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
