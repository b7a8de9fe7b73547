// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Chooses the binding of a block. Memory that is made present at once goes to the node nearest to
// the calling thread; the rest is left to first touch.
#include "placement/tier_place.hpp"

namespace omptier {
namespace {

// Huge pages pay from this number of units per node on; with fewer the parts would be unequal.
constexpr std::size_t k_units_a_node = 8;

} // namespace

void TierPlace::begin(ReservedRanges& ranges, Ledger& ledger, MemoryKind kind,
                      std::uint64_t decay) {
  ranges_ = &ranges;
  ledger_ = &ledger;
  kind_ = kind;
  decay_ = decay;
  several_ = nodes.count() > 1;
}

TierPlace::~TierPlace() {
  for_each_spread([](Spread& spread) { spread.~Spread(); });
}

// For a tier of several nodes.
unsigned TierPlace::slot_for(const SpreadChoice& choice) const {
  const unsigned home = nodes.has(choice.home) ? choice.home : nodes.first();
  const unsigned small = choice.bytes < k_units_a_node * nodes.count() * ranges_->unit() ? 1 : 0;
  switch (choice.partition) {
  case Partition::nearest:
    return home;
  case Partition::interleaved:
    return k_interleaved + small;
  case Partition::blocked:
    return choice.bytes < k_granule ? home : k_blocked + small;
  case Partition::environment:
    break;
  }
  return choice.present ? home : k_first_touch;
}

Binding TierPlace::binding_of(unsigned slot) const {
  if (slot == k_first_touch) return {.nodes = nodes};
  if (slot < k_max_nodes) return {.nodes = nodes, .spreading = Spreading::home, .home = slot};
  const bool blocked = slot < k_interleaved;
  return {.nodes = nodes,
          .spreading = blocked ? Spreading::blocked : Spreading::interleaved,
          .small_pages = slot != (blocked ? k_blocked : k_interleaved)};
}

Spread* TierPlace::make_spread(unsigned slot) {
  const std::lock_guard guard(making_);
  if (Spread* ready = spreads_[slot].load(std::memory_order_acquire)) return ready;
  void* storage = arena_.take(sizeof(Spread));
  if (storage == nullptr) return nullptr;
  Spread* made = new (storage)
      Spread(*ranges_, *ledger_, kind_, binding_of(slot), decay_, *backing, promised);
  spreads_[slot].store(made, std::memory_order_release);
  return made;
}

} // namespace omptier
