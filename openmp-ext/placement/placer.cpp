// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Places and releases blocks. Each placement checks the ledger (inside the extents), the node, then
// the kernel; a refusal leaves nothing behind. When ledger or node run short, the tier's cached
// extents are dropped once and it is tried again. (placer_*.cpp have the rest of the class.)
#include "placement/placer.hpp"

#include "base/notices.hpp"
#include "base/os.hpp"
#include "placement/own_threads.hpp"

#include <string>

namespace omptier {

const char* describe(Refusal refusal) {
  switch (refusal) {
  case Refusal::none:
    return "granted";
  case Refusal::no_such_kind:
    return "this machine has none";
  case Refusal::nothing_known:
    return "this machine's memory is not known";
  case Refusal::capacity:
    return "its capacity is used up";
  case Refusal::node_full:
    return "its nodes have no room";
  case Refusal::elsewhere:
    return "the kernel put pages elsewhere";
  case Refusal::lock_limit:
    return "the limit of locked memory is reached";
  case Refusal::group_limit:
    return "the control group's memory limit leaves no room";
  case Refusal::not_allowed:
    return "this process may not use its nodes (cpuset)";
  }
  return "";
}

namespace {

NodeBytes capacity_of_nodes(const Platform& platform, std::uint64_t reserve) {
  NodeBytes capacity;
  capacity.fill(JobLedger::k_no_limit);
  for (const Node& node : platform.nodes) {
    const std::uint64_t kept = reserve_of(node.capacity, reserve);
    if (node.number < k_max_nodes)
      capacity[node.number] = node.capacity > kept ? node.capacity - kept : 0;
  }
  return capacity;
}

} // namespace

// Adds a tier for the DAX directory if there is one and the machine has no other NVM.
Platform Placer::with_folder(Platform platform, Folder& folder, const CapacityRules& rules) {
  if (rules.folder.empty()) return platform;
  if (platform.tier(MemoryKind::nvm) != nullptr) {
    inform(Notice::folder_unneeded, "OMPTIER_PMEM=%s is not used: this machine has NVM nodes.",
           rules.folder.c_str());
  } else if (const std::string why_not =
                 folder.open(rules.folder.c_str(), rules.folder_without_dax);
             !why_not.empty()) {
    warn_once(Notice::folder_unusable, "OMPTIER_PMEM=%s; there is no NVM.", why_not.c_str());
  } else {
    Tier tier;
    tier.kind = MemoryKind::nvm;
    tier.capacity = folder.capacity();
    platform.tiers.push_back(std::move(tier));
  }
  return platform;
}

Placer::Placer(Platform platform, const CapacityRules& rules, std::uint64_t decay)
    : platform_(with_folder(std::move(platform), folder_, rules)), choices_(platform_),
      share_(rules.share), reserve_(rules.reserve),
      limits_(limits_of(platform_, rules.capacity, rules.share, rules.reserve)),
      job_(rules.job_ledger.c_str(), capacity_of_nodes(platform_, rules.reserve)),
      ledger_(limits_.limit), decay_(decay) {
  node_kinds_.fill(MemoryKind::unknown);
  node_orders_ = node_orders_of(platform_);
  remember_processors();
  low_watermarks_ = read_low_watermarks();
  group_.find();
  if (group_.limited()) ledger_.keep_below(group_);
  const NodeSet allowed = rules.allowed;
  std::array<NodeSet, k_memory_kinds + 1> nodes_of_kind{};
  for (const Node& node : platform_.nodes) {
    if (node.number >= k_max_nodes) continue;
    node_kinds_[node.number] = node.kind;
    if (allowed.has(node.number))
      nodes_of_kind[static_cast<std::size_t>(node.kind)].add(node.number);
  }
  if (!rules.job_ledger.empty()) ledger_.join(job_, nodes_of_kind);
  for (const Tier& tier : platform_.tiers) {
    if (tier_count_ == k_most_tiers) break;
    TierPlace& place = places_[tier_count_++];
    for (const unsigned node : tier.nodes) {
      if (const Node* known = platform_.node(node); known != nullptr && allowed.has(node))
        place.capacity += known->capacity;
      if (allowed.has(node)) place.nodes.add(node);
      if (node >= k_max_nodes)
        warn_once_of(Notice::unusable_node, std::to_string(node),
                     "Memory node %u: nodes numbered %u and higher are not used for placement; "
                     "its memory serves the runtime's default space only.",
                     node, k_max_nodes);
    }
    if (!place.nodes.empty()) place.backing = &node_backing();
    if (tier.nodes.empty() && folder_.is_open()) {
      place.backing = &folder_;
      place.capacity = tier.capacity;
    }
    place.begin(ranges_, ledger_, tier.kind, decay);
    if (place.backing != nullptr && place.backing->comes_at_touch)
      place.promised = &group_.promised_of(tier_count_ - 1);
    else if (place.backing != nullptr)
      ledger_.leave_to_folder(tier.kind);
  }
}

unsigned Placer::home_in(std::size_t tier) const {
  if (!places_[tier].has_several()) return k_no_node;
  for (const unsigned node : choices_.nodes_of_tier(tier, current_cpu()))
    if (places_[tier].nodes.has(node)) return node;
  return k_no_node;
}

// True when all these bytes are on the tier.
bool Placer::make_present(TierPlace& place, Extent& extent, std::size_t bytes) {
  const ExtentSpace& extents = *extent.space;
  const Binding& binding = extents.binding();
  const bool present = binding.spreading == Spreading::blocked
                           ? populate_parts(extent.begin, bytes, place.nodes,
                                            binding.small_pages ? page_size() : ranges_.unit()) &&
                                 populate(extent.begin, extent.committed)
                           : populate(extent.begin, extent.committed);
  return present &&
         (!extents.bound() || settle(extent.begin, extent.committed, place.nodes, binding.home));
}

// Verified to be on the tier when that is required; null and why.
Extent* Placer::take_extent(TierPlace& place, ExtentSpace& extents, const BlockRequest& request,
                            bool& fresh, Refusal& why) {
  const bool must = request.required || request.pinned;
  GroupRoom::Announcement coming(group_);
  Extent* extent = extents.take(request.bytes, request.bytes, request.alignment, ExtentUse::block,
                                fresh, must, &coming);
  if (extent == nullptr)
    return why = group_.limited() && ledger_.room(extents.kind()) >= request.bytes
                     ? Refusal::group_limit
                     : Refusal::capacity,
           nullptr;
  why = fresh ? refusal_of_nodes(place, extent->committed, extent) : Refusal::none;
  if (why == Refusal::none && !extent->verified &&
      (must || extents.binding().spreading == Spreading::blocked)) {
    extent->verified = make_present(place, *extent, request.bytes);
    if (must && !extent->verified) why = Refusal::elsewhere;
  }
  if (why == Refusal::none && request.pinned) {
    void* begin = reinterpret_cast<void*>(extent->begin);
    extent->locked = os().lock(begin, extent->committed) == 0;
    if (!extent->locked) {
      os().unlock(begin, extent->committed); // a part may be locked, and could not be dropped then
      why = Refusal::lock_limit;
    }
  }
  if (why == Refusal::none) {
    hand_out(*extent, request); // while announced, so that one of the counts has it
    return extent;
  }
  extents.give_back(*extent, false);
  return nullptr;
}

// Other threads see the block with all its data or not at all.
void Placer::hand_out(Extent& extent, const BlockRequest& request) {
  extent.block_bytes = request.bytes;
  extent.caller = request.caller;
  extent.allocator = request.allocator;
  extent.plan_entry = request.plan_entry;
  extent.plan_instance = request.plan_instance;
  extent.reason = static_cast<std::uint8_t>(request.reason);
  extent.required = request.required;
  extent.space->hand_out(extent);
}

void* Placer::place_large(TierPlace& place, Spread& spread, const BlockRequest& request,
                          bool& fresh, Refusal& why) {
  // More than the tier will ever have (it may grow a little): no page table is touched.
  if (request.bytes / 2 > place.capacity) return why = Refusal::node_full, nullptr;
  ExtentSpace& extents = spread.extents;
  Extent* extent = nullptr;
  for (int attempt = 0; extent == nullptr; ++attempt) {
    extent = take_extent(place, extents, request, fresh, why);
    if (extent != nullptr) break;
    if (why == Refusal::group_limit && attempt == 0) {
      make_group_room();
      continue;
    }
    // Cached extents may be in the way: first as much as requested is dropped, then all.
    if (attempt == 2 || why == Refusal::lock_limit ||
        drop_caches(extents.kind(), attempt == 0 ? request.bytes : ~std::size_t{0}) == 0)
      return nullptr;
  }
  return reinterpret_cast<void*>(extent->begin);
}

void* Placer::place(std::size_t tier, const BlockRequest& request, bool& fresh, Refusal& why) {
  fresh = false;
  job_.enter();
  let_decay();
  answer_recount();
  TierPlace& place = places_[tier];
  if (place.backing == nullptr) return why = Refusal::not_allowed, nullptr;
  // Blocks outside of heaps that need not be present may be spread by first touch.
  const bool large = request.bytes >= k_large_block || request.pinned ||
                     (request.plan_entry != 0 && request.bytes >= k_granule) ||
                     (request.partition == Partition::blocked && request.bytes >= k_granule) ||
                     class_of(request.bytes, request.alignment) == k_no_class;
  Spread* spread = place.spread_for({.partition = request.partition,
                                     .present = request.required || request.pinned || !large,
                                     .bytes = request.bytes,
                                     .home = home_in(tier)});
  if (spread == nullptr) return why = Refusal::no_such_kind, nullptr;
  if (large) return place_large(place, *spread, request, fresh, why);
  void* block =
      spread->heap.allocate(request.bytes, request.alignment, request.owner(), request.caller);
  if (block == nullptr) {
    if (!group_.leaves(k_granule)) make_group_room();
    drop_caches(spread->extents.kind(), k_chunk_bytes);
    block =
        spread->heap.allocate(request.bytes, request.alignment, request.owner(), request.caller);
  }
  why = block != nullptr                                   ? Refusal::none
        : ledger_.room(spread->extents.kind()) < k_granule ? Refusal::capacity
                                                           : Refusal::node_full;
  return block;
}

// If the block was freed twice, the values are arbitrary; release checks them again.
HeldBlock Placer::held(const void* block) const {
  HeldBlock held;
  const auto begin = reinterpret_cast<std::uintptr_t>(block);
  if (Span* span = ranges_.span_of(block)) {
    if (BlockRecord* record = Heap::find(*span, block, true))
      held = {begin, record->bytes(), record->allocator(), span, record};
    return held;
  }
  Extent* extent = ranges_.owner(block);
  ExtentSpace* space = extent != nullptr ? extent->space : nullptr;
  if (space != nullptr && extent->begin == begin && extent->use == ExtentUse::block &&
      extent->ready.load(std::memory_order_acquire))
    held = {.begin = begin,
            .bytes = extent->block_bytes,
            .allocator = extent->allocator,
            .extent = extent,
            .space = space};
  return held;
}

bool Placer::release(const HeldBlock& held) {
  let_decay();
  auto* const block = reinterpret_cast<void*>(held.begin);
  if (held.span != nullptr) return Heap::of(*held.span).release(*held.span, block);
  return held.extent != nullptr && held.space->release(*held.extent, block);
}

} // namespace omptier
