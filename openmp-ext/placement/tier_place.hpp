// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The memory of one tier as placement sees it: its nodes, and one Spread (binding, extents, heap
// for small blocks) for each way in which blocks are distributed over them. A tier of one node has
// one Spread. A tier of several has one per node for blocks of the threads nearest to it, one for
// blocks distributed by first touch, and two each for interleaved and blocked ones: with huge
// pages, and without them for blocks too small to distribute in huge pages. A Spread is created
// when first needed and takes no address space before its first block.
#pragma once

#include "placement/extents.hpp"
#include "placement/heap.hpp"

#include <array>
#include <atomic>
#include <mutex>

namespace omptier {

// How a block's pages are distributed over the nodes of a tier; without effect if it has one node.
enum class Partition : std::uint8_t { environment, nearest, blocked, interleaved };

struct Spread { // one binding: extents and small blocks
  ExtentSpace extents;
  Heap heap;
  Spread(ReservedRanges& ranges, Ledger& ledger, MemoryKind kind, const Binding& binding,
         std::uint64_t decay, Backing& backing, Promised* promised)
      : extents(ranges, ledger, kind, binding, decay, backing, promised), heap(extents) {}
};

struct SpreadChoice {
  Partition partition = Partition::environment;
  bool present = false; // its pages are made present by the calling thread
  std::size_t bytes = 0;
  unsigned home = k_no_node; // node of the tier nearest to that thread
};

class TierPlace {
public:
  NodeSet nodes;
  std::uint64_t capacity = 0;   // bytes of its nodes
  Backing* backing = nullptr;   // null: no memory that this process may use
  Promised* promised = nullptr; // null: granted memory exists before it is touched

  // Called once with nodes set, before the first block. The referenced objects outlive this one.
  void begin(ReservedRanges& ranges, Ledger& ledger, MemoryKind kind, std::uint64_t decay);
  // Used by tests only.
  ~TierPlace();
  bool has_several() const { return several_; }
  // The Spread for a block, created if missing; null without memory for it. Thread-safe.
  Spread* spread_for(const SpreadChoice& choice) {
    const unsigned slot = several_ ? slot_for(choice) : k_first_touch;
    Spread* ready = spreads_[slot].load(std::memory_order_acquire);
    return ready != nullptr ? ready : make_spread(slot);
  }

  template <typename F> void for_each_spread(F&& visit) const {
    for (const auto& slot : spreads_)
      if (Spread* spread = slot.load(std::memory_order_acquire)) visit(*spread);
  }

  // Prevents the creation of a Spread.
  void lock() { making_.lock(); }
  void unlock() { making_.unlock(); }

private:
  // One per node, by number, then the others.
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
