// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The live blocks as they were at one moment, copied out from under the locks: what is done with
// them may write to pipes, call out, or take locks of its own (the profiler's, which a fork takes
// before ours). In pages of our own, 48 bytes a small block.
#pragma once

#include "base/page_array.hpp"
#include "placement/placer.hpp"

namespace omptier {

class BlockList {
public:
  // False when the kernel had no memory for all of them.
  bool fill(Placer& placer) {
    bool complete = true;
    placer.for_each_block([&](const BlockInfo& block) { complete = add(block) && complete; });
    std::size_t next = 0, next_part = 0; // the arrays stay where they are from now on
    for (BlockInfo& block : blocks_) {
      if (!block.large) continue;
      Extent& extent = extents_[next++];
      for (ExtentPart** link = &extent.parts; *link != nullptr; link = &(*link)->next)
        *link = &parts_[next_part++];
      block.extent = &extent;
    }
    return complete;
  }
  std::span<const BlockInfo> all() const { return blocks_.all(); }

private:
  bool add(const BlockInfo& block) {
    if (!block.large) return blocks_.add(block);
    const std::size_t parts = parts_.size(), extents = extents_.size();
    bool complete = extents_.add(*block.extent);
    for (const ExtentPart* part = block.extent->parts; complete && part != nullptr;
         part = part->next)
      complete = parts_.add(*part);
    if (complete && blocks_.add(block)) return true;
    while (parts_.size() > parts)
      parts_.remove(parts_.size() - 1);
    while (extents_.size() > extents)
      extents_.remove(extents_.size() - 1);
    return false;
  }

  PageArray<BlockInfo> blocks_;
  PageArray<Extent> extents_;   // of the large ones, in their order
  PageArray<ExtentPart> parts_; // of these, in their order
};

} // namespace omptier
