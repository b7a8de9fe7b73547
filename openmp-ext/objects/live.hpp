// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Which live object an address lies in. Fed with objects in the order of time; samples are looked
// up at their own time by stepping through both in order (analysis/aggregate.cpp). For the commands
// that read profiles, not for the recorded process: it allocates.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <vector>

namespace omptier {

class LiveMap {
public:
  // The object now occupies [address, address + bytes); a zero-sized one occupies one byte. Returns
  // the objects whose memory it takes (they were freed without our knowledge).
  std::vector<std::uint64_t> insert(std::uint64_t address, std::uint64_t bytes,
                                    std::uint64_t object) {
    std::vector<std::uint64_t> replaced;
    std::uint64_t end = address + (bytes == 0 ? 1 : bytes);
    if (end < address) end = ~std::uint64_t{0};
    auto at = blocks_.upper_bound(address);
    if (at != blocks_.begin() && std::prev(at)->second.end > address) --at;
    while (at != blocks_.end() && at->first < end) {
      replaced.push_back(at->second.object);
      at = blocks_.erase(at);
    }
    blocks_.emplace_hint(at, address, Block{end, object});
    return replaced;
  }

  // The object that begins at address ends; nothing when none does.
  std::optional<std::uint64_t> erase(std::uint64_t address) {
    const auto at = blocks_.find(address);
    if (at == blocks_.end()) return std::nullopt;
    const std::uint64_t object = at->second.object;
    blocks_.erase(at);
    return object;
  }

  std::optional<std::uint64_t> find(std::uint64_t address) const {
    auto at = blocks_.upper_bound(address);
    if (at == blocks_.begin()) return std::nullopt;
    --at;
    if (address >= at->second.end) return std::nullopt;
    return at->second.object;
  }

  std::size_t size() const { return blocks_.size(); }

  // Blocks do not overlap and are not empty.
  bool is_consistent() const {
    std::uint64_t last_end = 0;
    for (const auto& [address, block] : blocks_) {
      if (address < last_end || block.end <= address) return false;
      last_end = block.end;
    }
    return true;
  }

private:
  struct Block {
    std::uint64_t end;
    std::uint64_t object;
  };
  std::map<std::uint64_t, Block> blocks_;
};

} // namespace omptier
