// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The memory of one tier as placement sees it: its nodes, and one Spread (binding, extents, heap
// for small blocks) for each way in which blocks spread over them. A tier of one node has one
// Spread. A tier of several has one a node for blocks of the threads next to it, one for blocks
// that threads spread by touching them first, and two each for interleaved and blocked ones: with
// huge pages, and without for blocks too small to spread over the nodes in these. A Spread is made
// when it is first needed and takes no address space before its first block.
#pragma once

#include "placement/extents.hpp"
#include "placement/heap.hpp"

#include <array>
#include <atomic>
#include <mutex>

namespace omptier {

// How a block's pages spread over the nodes of a tier that has several. What a tier of one node
// makes of it is the same for all.
enum class Partition : std::uint8_t { environment, nearest, blocked, interleaved };

struct Spread { // one binding: extents and small blocks
  ExtentSpace extents;
  Heap heap;
  Spread(ReservedRanges& ranges, Ledger& ledger, MemoryKind kind, const Binding& binding,
         std::uint64_t decay, Backing& backing, Promised* promised)
      : extents(ranges, ledger, kind, binding, decay, backing, promised), heap(extents) {}
};

// What a block wants of the nodes of its tier.
struct SpreadChoice {
  Partition partition = Partition::environment;
  bool present = false; // its pages are made present by the thread that asks
  std::size_t bytes = 0;
  unsigned home = k_no_node; // node of the tier next to that thread
};

class TierPlace {
public:
  NodeSet nodes;
  std::uint64_t capacity = 0;             // bytes of its nodes
  Promised promised;

  Backing* backing = nullptr; // null: nothing that this process may use

  // Before the first block, once; nodes are set. The objects named outlive this one. decay as for
  // ExtentSpace.
  void begin(ReservedRanges& ranges, Ledger& ledger, MemoryKind kind, std::uint64_t decay);
  // Only tests end a placer.
  ~TierPlace();
  // Its nodes: are there several?
  bool has_several() const { return several_; }
  // The Spread for a block, made when missing; null when there is no memory for that. The tier has
  // a backing. Thread-safe.
  Spread* spread_for(const SpreadChoice& choice) {
    const unsigned slot = several_ ? slot_for(choice) : k_first_touch;
    Spread* ready = spreads_[slot].load(std::memory_order_acquire);
    return ready != nullptr ? ready : make_spread(slot);
  }

  // Calls visit(Spread&) for each there is.
  template <typename F> void for_each_spread(F&& visit) const {
    for (const auto& slot : spreads_)
      if (Spread* spread = slot.load(std::memory_order_acquire)) visit(*spread);
  }

  // No Spread is made meanwhile.
  void lock() { making_.lock(); }
  void unlock() { making_.unlock(); }

private:
  // One a node, by number, then the others.
  static constexpr unsigned k_first_touch = k_max_nodes, k_blocked = k_max_nodes + 1,
                            k_interleaved = k_max_nodes + 3, k_slots = k_max_nodes + 5;
  unsigned slot_for(const SpreadChoice& choice) const;
  Binding binding_of(unsigned slot) const;
  Spread* make_spread(unsigned slot);

  ReservedRanges* ranges_ = nullptr;
  Ledger* ledger_ = nullptr;
  MemoryKind kind_ = MemoryKind::unknown;
  std::uint64_t decay_ = 0;
  bool several_ = false;
  std::array<std::atomic<Spread*>, k_slots> spreads_{};
  std::mutex making_;
  PageArena arena_;
};

} // namespace omptier
