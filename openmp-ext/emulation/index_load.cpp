// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Which load an emulated loop's accesses are indexed by.
#include "emulation/loop_accesses.hpp"

#include <algorithm>
#include <map>
#include <utility>

namespace omptier {
namespace {

// Caches of a core keep the ends of so many streams.
constexpr std::uint64_t k_most_counters = 8192;

// By how much the loop changes most of what these loads find, at places in no order near each
// other; 0: it does not, or not evenly.
template <class Loads> std::int64_t counted_by(const Loads& loads) {
  std::map<std::int64_t, std::size_t> counts;
  std::map<std::uint64_t, std::size_t> steps;
  std::uint64_t lowest = loads.front()->address, highest = lowest, before = lowest;
  for (const auto* load : loads) {
    ++counts[load->counted];
    ++steps[load->address - std::exchange(before, load->address)];
    lowest = std::min(lowest, load->address);
    highest = std::max(highest, load->address);
  }
  const auto count = [](const auto& one) { return one.second; };
  const auto is_most = [&](const auto& one) { return one.second * 4 >= loads.size() * 3; };
  const auto most = *std::ranges::max_element(counts, {}, count);
  const bool in_order = is_most(*std::ranges::max_element(steps, {}, count)); // more may follow
  const bool are_few = (highest - lowest) / loads.front()->bytes <= k_most_counters;
  return is_most(most) && !in_order && are_few ? most.first : 0;
}

// Whether these loads walk along an array, at most of its elements.
template <class Loads> bool are_in_order(const Loads& loads) {
  std::size_t steps = 0, forth = 0;
  for (std::size_t i = 1; i < loads.size(); ++i) {
    const std::uint64_t moved = loads[i]->address - loads[i - 1]->address;
    if (moved == 0) continue; // for several arrays
    ++steps;
    forth += moved == loads[i]->bytes ? 1 : 0;
  }
  return forth * 4 >= steps * 3 && forth > 0;
}

} // namespace

// A load whose values, times a constant, are the steps of these accesses. Both are in the order of
// execution, so one pass finds the load before each access. It may be the instruction itself, a
// step earlier: a chase by index. Variables that only pass an index on are skipped. Of several
// loads (a row found by its key) the last one before the access counts.
LoopAccesses::Index LoopAccesses::index_of(std::span<const Access* const> accesses) const {
  if (accesses.size() < 3) return {};
  const std::uint64_t own = accesses[0]->pc;
  std::map<std::uint64_t, std::vector<const Access*>> candidates; // loads by instruction
  for (const Access& other : accesses_)
    if (!other.store && other.value) candidates[other.pc].push_back(&other);
  const auto wide = [](const Access* access) { // values wrap around like addresses
    return access->bytes == 4
               ? static_cast<std::uint64_t>(static_cast<std::int32_t>(*access->value))
               : *access->value;
  };
  struct Step {
    std::uint64_t moved, index, load_moved; // the address, the value loaded, that load's address
  };
  std::vector<Step> steps;
  Index found;
  std::uint32_t nearest = ~std::uint32_t{0}; // steps from the load to the access
  for (const auto& [pc, loads] : candidates) {
    steps.clear();
    std::uint32_t distance = 0;
    const Access *before = nullptr, *used = nullptr;
    bool moves = false;
    auto next = loads.begin();
    for (std::size_t i = 0; i < accesses.size(); ++i) {
      const Access* latest = before;
      const std::uint32_t up_to = accesses[i]->step + (pc == own ? 0 : 1);
      for (; next != loads.end() && (*next)->step < up_to; ++next)
        latest = *next;
      if (before != nullptr && latest != before) {
        steps.push_back({accesses[i]->address - accesses[i - 1]->address,
                         wide(latest) - wide(before), latest->address - before->address});
        moves = moves || steps.back().load_moved != 0;
        used = latest;
        distance = accesses[i]->step - latest->step;
      }
      before = latest;
    }
    if (steps.size() < 2 || !moves) continue;
    // Arrays with one counter move alike, whatever they hold.
    const auto moves_alike = [&](const Step& one) {
      const auto alike = std::ranges::count_if(steps, [&](const Step& step) {
        return step.moved * one.load_moved == one.moved * step.load_moved;
      });
      return one.moved != 0 && static_cast<std::size_t>(alike) * 4 >= steps.size() * 3;
    };
    if (moves_alike(steps[0]) || moves_alike(steps[1]) || distance >= nearest) continue;
    for (const std::uint64_t scale : {8, 4, 1, 2, 16, 32, 64, 24, 12, 48, 40, 56}) {
      const auto fits = std::ranges::count_if(steps, [scale](const Step& step) {
        return step.moved != 0 && step.moved == scale * step.index;
      });
      if (static_cast<std::size_t>(fits) * 4 < steps.size() * 3) continue;
      found = {used->address, pc == own, static_cast<std::int64_t>(scale) * counted_by(loads), {}};
      if (are_in_order(loads)) found.array = {own, used->address, used->bytes, scale};
      nearest = distance;
      break;
    }
  }
  return found;
}

} // namespace omptier
