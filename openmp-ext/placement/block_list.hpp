// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A copy of the live blocks at one moment, so that no lock is held while they are used: users may
// write to pipes, call out, or take locks of their own (the profiler's, which a fork takes before
// ours). In pages of our own, 80 bytes per block.
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
    std::size_t next = 0; // the array does not move from now on
    for (BlockInfo& block : blocks_) {
      if (!block.split) continue;
      block.parts = &parts_[next];
      while (parts_[next].next != nullptr) {
        parts_[next].next = &parts_[next + 1];
        ++next;
      }
      ++next;
    }
    return complete;
  }
  std::span<const BlockInfo> all() const { return blocks_.all(); }

private:
  bool add(const BlockInfo& block) {
    const std::size_t parts = parts_.size();
    bool complete = true;
    for (const ExtentPart* part = block.parts; complete && part != nullptr; part = part->next)
      complete = parts_.add(*part);
    if (complete && blocks_.add(block)) return true;
    while (parts_.size() > parts)
      parts_.remove(parts_.size() - 1);
    return false;
  }

  PageArray<BlockInfo> blocks_;
  PageArray<ExtentPart> parts_; // of the split blocks, in their order
};

} // namespace omptier
