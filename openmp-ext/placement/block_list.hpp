// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The live blocks as they were at one moment, copied out from under the locks: what is done with
// them may write to pipes, call out, or take locks of its own (the profiler's, which a fork takes
// before ours). In pages of our own, 48 bytes a small block.
#pragma once

#include "objects/page_array.hpp"
#include "placement/placer.hpp"

namespace omptier {

class BlockList {
public:
  // False when the kernel had no memory for all of them.
  bool fill(Placer& placer) {
    bool complete = true;
    placer.for_each_block([&](const BlockInfo& block) {
      if (block.large && !extents_.add(*block.extent)) return void(complete = false);
      if (!blocks_.add(block)) {
        if (block.large) extents_.remove(extents_.size() - 1);
        complete = false;
      }
    });
    std::size_t next = 0; // a large block's extent may be another's soon: the copy is meant
    for (BlockInfo& block : blocks_)
      if (block.large) block.extent = &extents_[next++];
    return complete;
  }
  std::span<const BlockInfo> all() const { return blocks_.all(); }

private:
  PageArray<BlockInfo> blocks_;
  PageArray<Extent> extents_; // of the large ones, in their order
};

} // namespace omptier
