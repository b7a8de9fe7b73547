// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Which live object an address lies in. Objects and samples are taken together in the order of time
// (analysis/attribution.cpp). Only for commands: it allocates.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <utility>
#include <vector>

namespace omptier {

// Innermost first: a block may be a thread's stack; blocks, including counted small ones, lie in
// the heap. Objects of one layer do not overlap.
enum class Layer : std::uint8_t { blocks, modules, stacks, small_objects, heap };

class LiveMap {
public:
  // A zero-sized object occupies one byte. Returns the objects of its layer whose memory it takes:
  // they were freed without our knowledge.
  std::vector<std::uint64_t> insert(std::uint64_t address, std::uint64_t bytes,
                                    std::uint64_t object, Layer layer = Layer::blocks) {
    std::vector<std::uint64_t> replaced;
    const Key begin{layer, address};
    Key end{layer, address + (bytes == 0 ? 1 : bytes)};
    if (end < begin) end.second = ~std::uint64_t{0};
    auto at = objects_.upper_bound(begin);
    if (at != objects_.begin() && std::prev(at)->second.end > begin) --at;
    while (at != objects_.end() && at->first < end) {
      replaced.push_back(at->second.object);
      at = objects_.erase(at);
    }
    objects_.emplace_hint(at, begin, Object{end, object});
    return replaced;
  }

  // Ends the object that begins at address (with only: if it is that one); nothing without one.
  std::optional<std::uint64_t> erase(std::uint64_t address, Layer layer = Layer::blocks,
                                     std::optional<std::uint64_t> only = {}) {
    const auto at = objects_.find({layer, address});
    if (at == objects_.end() || at->second.object != only.value_or(at->second.object))
      return std::nullopt;
    const std::uint64_t object = at->second.object;
    objects_.erase(at);
    return object;
  }

  // Of the innermost layer that has one there.
  std::optional<std::uint64_t> find(std::uint64_t address) const {
    for (const Layer layer : {Layer::blocks, Layer::modules, Layer::stacks, Layer::small_objects,
                              Layer::heap}) {
      const auto behind = objects_.upper_bound({layer, address});
      if (behind != objects_.begin() && std::prev(behind)->second.end > Key{layer, address})
        return std::prev(behind)->second.object;
    }
    return std::nullopt;
  }

  std::size_t size() const { return objects_.size(); }

  // Objects of a layer do not overlap and are not empty.
  bool is_consistent() const {
    Key last_end{};
    for (const auto& [begin, object] : objects_) {
      if (begin < last_end || object.end <= begin) return false;
      last_end = object.end;
    }
    return true;
  }

private:
  using Key = std::pair<Layer, std::uint64_t>; // its address
  struct Object {
    Key end;
    std::uint64_t object;
  };
  std::map<Key, Object> objects_;
};

} // namespace omptier
