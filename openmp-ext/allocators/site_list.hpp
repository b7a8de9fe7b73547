// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// OMPTIER_SITES: the call stacks of the program's large malloc blocks, with the number of blocks
// and the most bytes alive at one time, written at the end as a plan to be edited by hand. The
// program looks up no names; `omptier sites` adds them. Stacks without room in the list cause one
// warning.
#pragma once

#include "allocators/stock_blocks.hpp"
#include "objects/stack_table.hpp"

namespace omptier {

class SiteList {
public:
  void add(const void* block, std::size_t bytes, const void* caller);
  void remove(const void* block);
  // Writes <path>.<process id>, and <path>.<process id>.modules with the path of each module's
  // file, one per line. Writes nothing if there was no block. Warns once on failure.
  void write(const char* path);

  void lock() { lock_.lock(); }
  void unlock() { lock_.unlock(); }

  static constexpr std::uint32_t k_most_sites = 1 << 16;

private:
  struct SeenFrame {
    const LoadedModule* module;
    std::uint64_t offset;
  };
  struct SeenSite {
    SeenFrame* frames = nullptr;
    unsigned frame_count = 0;
    std::uint64_t blocks = 0, live = 0, peak = 0, largest = 0;
  };

  SeenSite* site_of(const void* caller);

  std::mutex lock_;
  StackTable stacks_;
  StockBlocks live_; // StockBlock::allocator is the site's number here
  SeenSite* sites_ = nullptr;
  PageArena arena_;
};

SiteList& site_list();

} // namespace omptier
