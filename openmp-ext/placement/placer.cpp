// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The order of questions is: ledger (inside the extents), node, kernel. Each refusal leaves nothing
// behind. When ledger or node run short, the tier's cached extents are dropped once and the
// question is asked again.
#include "placement/placer.hpp"

#include "base/log.hpp"
#include "base/os.hpp"

#include <algorithm>
#include <sched.h>
#include <sys/mman.h>

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

constexpr std::uint64_t k_least_interval = 10'000'000; // ns between two looks at the time

// True once an interval, for one thread.
bool is_due(std::atomic<std::uint64_t>& next, std::uint64_t now, std::uint64_t interval) {
  std::uint64_t due = next.load(std::memory_order_relaxed);
  return now >= due && next.compare_exchange_strong(due, now + interval, std::memory_order_relaxed);
}

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

// With a tier of the folder where that is wanted and there is no other NVM.
Platform Placer::with_folder(Platform platform, Folder& folder, const CapacityRules& rules) {
  if (rules.folder.empty()) return platform;
  if (platform.tier(MemoryKind::nvm) != nullptr) {
    inform(Notice::bad_option_value, "OMPTIER_PMEM=%s is not used: this machine has NVM nodes.",
           rules.folder.c_str());
  } else if (const std::string why_not = folder.open(rules.folder.c_str()); !why_not.empty()) {
    warn_once(Notice::bad_option_value, "OMPTIER_PMEM=%s; there is no NVM.", why_not.c_str());
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
  low_watermarks_ = read_low_watermarks();
  cgroup_.find();
  if (cgroup_.limited())
    ledger_.ask_also({[](void* placer, std::uint64_t bytes) {
                        return static_cast<Placer*>(placer)->group_leaves(bytes);
                      },
                      this});
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
        warn_once(Notice::unusable_node,
                  "Memory node %u: nodes numbered %u and higher are not used for placement; its "
                  "memory serves the runtime's default space only.",
                  node, k_max_nodes);
    }
    if (tier.nodes.empty() && folder_.is_open()) {
      place.folder = &folder_;
      place.capacity = tier.capacity;
    }
    place.begin(ranges_, ledger_, tier.kind, decay);
  }
}

std::uint64_t Placer::free_on(NodeSet nodes, bool with_file_cache) const {
  std::uint64_t sum = 0;
  for (unsigned node = 0; node < k_max_nodes; ++node) {
    NodeMemory memory;
    if (!nodes.has(node)) continue;
    if (!read_node_memory(node, memory)) return Ledger::k_no_limit; // cannot be known: let it try
    const std::uint64_t free = memory.free + (with_file_cache ? memory.file_cache : 0);
    // What the kernel keeps before it spills, and a little for everybody else.
    const std::uint64_t margin = low_watermarks_[node] + reserve_of(memory.total, reserve_);
    sum += free > margin ? free - margin : 0;
  }
  return sum;
}

// Bytes handed out for first touch and not touched yet; blocks found wholly present are marked so
// that they are not asked again.
std::uint64_t Placer::count_promised(TierPlace& place) {
  std::uint64_t untouched = 0;
  place.for_each_spread([&](Spread& spread) {
    spread.extents.for_each([&](Extent& extent) {
      // What lies in no part of another kind is still promised here.
      const bool elsewhere = extent.moved && extent.parts == nullptr;
      if (extent.use != ExtentUse::block) return;
      if (!extent.ready) { // its thread is at it
        untouched += extent.committed;
        return;
      }
      if (extent.verified || elsewhere) return;
      PageCensus census;
      if (!count_pages(extent.begin, extent.committed, census)) return;
      untouched += census.untouched;
      if (census.on(place.nodes) == extent.committed - extent.apart && census.untouched == 0)
        extent.verified = true;
    });
  });
  place.promised.store(untouched, std::memory_order_relaxed);
  return untouched;
}

bool Placer::has_room(TierPlace& place, std::uint64_t bytes) {
  if (place.folder != nullptr) return true; // what is granted is allocated in its file
  if (!group_leaves(0)) return false;
  // Page cache can be given up for us; whether the kernel does so shows when pages are verified.
  const std::uint64_t free = free_on(place.nodes, true);
  if (free >= bytes && free - bytes >= place.promised.load(std::memory_order_relaxed)) return true;
  if (free < bytes) return false;
  return free - bytes >= count_promised(place);
}

std::uint64_t Placer::room_on(std::size_t tier) {
  TierPlace& place = places_[tier];
  if (place.folder != nullptr)
    return std::min(place.folder->free_bytes(), ledger_.room(kind_of_tier(tier)));
  std::uint64_t cached = 0;
  place.for_each_spread([&](const Spread& spread) { cached += spread.extents.cached_bytes(); });
  const std::uint64_t free = free_on(place.nodes, true);
  const std::uint64_t promised = count_promised(place);
  std::uint64_t room = free == Ledger::k_no_limit ? free : free + cached;
  if (room != Ledger::k_no_limit) room = room > promised ? room - promised : 0;
  const std::uint64_t of_ledger = ledger_.room(kind_of_tier(tier));
  const std::uint64_t of_group = cgroup_.room();
  if (of_ledger != Ledger::k_no_limit) room = std::min(room, of_ledger + cached);
  if (of_group != CgroupLimits::k_no_limit) room = std::min(room, of_group + cached);
  return room;
}

// Memory of a kind is short: what nobody uses goes back, cached extents first, then what heaps and
// threads keep (other threads give theirs back when they next come by). The bytes that came free.
std::size_t Placer::drop_caches(MemoryKind kind, std::size_t bytes) {
  std::size_t dropped = 0;
  const auto each = [&](auto&& drop) {
    for_each_spread([&](Spread& spread) {
      if (spread.extents.kind() == kind) dropped += drop(spread);
    });
  };
  each([&](Spread& spread) { return spread.extents.drop_cache(bytes); });
  if (dropped >= bytes) return dropped;
  // Other threads are asked now and then only: each would empty its magazines at every request.
  if (is_due(next_pressure_, coarse_nanoseconds(), k_least_interval))
    thread_caches::flush_all_later();
  if (ThreadCache* mine = ThreadCache::make_mine()) mine->flush();
  each([](Spread& spread) { return spread.heap.drop_empty(~std::uint64_t{0}); });
  return dropped;
}

void Placer::give_back_unused() {
  thread_caches::flush_all_later();
  if (ThreadCache* mine = ThreadCache::mine()) mine->flush();
  for_each_spread([](Spread& spread) {
    spread.heap.drop_empty(~std::uint64_t{0});
    spread.extents.drop_cache(~std::size_t{0});
  });
}

// Gives back to the system what nobody used for a while. No lock is held.
void Placer::let_decay() {
  if (!is_due(next_decay_, coarse_nanoseconds(), std::max(decay_ / 4, k_least_interval))) return;
  const std::uint64_t now = monotonic_nanoseconds();
  const std::uint64_t since = now > decay_ ? now - decay_ : 0;
  for_each_spread([&](Spread& spread) {
    spread.extents.drop_older(since);
    spread.heap.drop_empty(since);
  });
}

// The node of a tier next to the calling thread.
unsigned Placer::home_in(std::size_t tier) const {
  if (places_[tier].nodes.count() <= 1) return k_no_node;
  const int cpu = ::sched_getcpu();
  for (const unsigned node : choices_.nodes_of_tier(tier, cpu > 0 ? static_cast<unsigned>(cpu) : 0))
    if (places_[tier].nodes.has(node)) return node;
  return k_no_node;
}

// Makes the pages of an extent for a block of so many bytes present; true when they are all on the
// tier.
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

namespace {
// Whoever counts what is promised may be finding out just now.
bool is_verified(Extent& extent) {
  const std::lock_guard guard(*extent.space);
  return extent.verified;
}
} // namespace

// An extent for the block, proven to be where it belongs when that is required; null and why.
Extent* Placer::take_extent(TierPlace& place, ExtentSpace& extents, const BlockRequest& request,
                            bool& fresh, Refusal& why) {
  Extent* extent =
      extents.take(request.bytes, request.bytes, request.alignment, ExtentUse::block, fresh);
  if (extent == nullptr)
    return why = cgroup_.limited() && ledger_.room(extents.kind()) >= request.bytes
                     ? Refusal::group_limit
                     : Refusal::capacity,
           nullptr;
  why = Refusal::none;
  const Announcement announcement(*this, fresh ? extent->committed : 0);
  if (fresh && !group_leaves(0)) {
    why = Refusal::group_limit;
  } else if (fresh && !has_room(place, extent->committed)) {
    why = Refusal::node_full;
  } else if (const bool must = request.required || request.pinned;
             !is_verified(*extent) && (must || extents.binding().spreading == Spreading::blocked)) {
    const bool present = make_present(place, *extent, request.bytes);
    if (must && !present) why = Refusal::elsewhere;
    const std::lock_guard guard(extents);
    extent->verified = present;
  }
  if (why == Refusal::none && request.pinned) {
    void* begin = reinterpret_cast<void*>(extent->begin);
    if (os().lock(begin, extent->committed) == 0) {
      const std::lock_guard guard(extents);
      extent->locked = true;
    } else {
      os().unlock(begin, extent->committed); // a part may be locked, and could not be dropped then
      why = Refusal::lock_limit;
    }
  }
  if (why == Refusal::none) {
    if (!is_verified(*extent))
      place.promised.fetch_add(extent->committed, std::memory_order_relaxed);
    return extent;
  }
  extents.give_back(*extent, false);
  return nullptr;
}

void* Placer::place_large(TierPlace& place, Spread& spread, const BlockRequest& request,
                          bool& fresh, Refusal& why) {
  // Beyond all memory of the tier (which may grow a little after start): no page table is touched.
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
    // Cached extents are in the way: as much as is asked for is dropped first, then all.
    if (attempt == 2 || why == Refusal::lock_limit ||
        drop_caches(extents.kind(), attempt == 0 ? request.bytes : ~std::size_t{0}) == 0)
      return nullptr;
  }
  const std::lock_guard guard(extents); // whoever visits the blocks sees all of it or none
  extent->block_bytes = request.bytes;
  extent->caller = request.caller;
  extent->allocator = request.allocator;
  extent->plan_entry = request.plan_entry;
  extent->plan_instance = request.plan_instance;
  extent->reason = static_cast<std::uint8_t>(request.reason);
  extent->required = request.required;
  extent->ready = true;
  return reinterpret_cast<void*>(extent->begin);
}

void* Placer::place(std::size_t tier, const BlockRequest& request, bool& fresh, Refusal& why) {
  fresh = false;
  let_decay();
  answer_recount();
  TierPlace& place = places_[tier];
  if (place.nodes.empty() && place.folder == nullptr) return why = Refusal::not_allowed, nullptr;
  // What does not come from a heap, and need not be present, may spread as threads touch it.
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
    if (!group_leaves(k_granule)) make_group_room();
    drop_caches(spread->extents.kind(), k_chunk_bytes);
    block =
        spread->heap.allocate(request.bytes, request.alignment, request.owner(), request.caller);
  }
  why = block != nullptr                                   ? Refusal::none
        : ledger_.room(spread->extents.kind()) < k_granule ? Refusal::capacity
                                                           : Refusal::node_full;
  return block;
}

BlockInfo Placer::info_of(const Extent& extent) {
  BlockInfo info;
  info.begin = extent.begin;
  info.bytes = extent.block_bytes;
  info.room = extent.committed;
  info.caller = extent.caller;
  info.space = extent.space;
  info.allocator = extent.allocator;
  info.large = true;
  info.required = extent.required;
  info.locked = extent.locked;
  info.moved = extent.moved;
  info.split = extent.parts != nullptr;
  info.reason = static_cast<PlacementReason>(extent.reason);
  info.charged = extent.charged;
  info.plan_entry = extent.plan_entry;
  info.plan_instance = extent.plan_instance;
  info.parts = extent.parts;
  return info;
}

BlockInfo Placer::info_of(std::uintptr_t begin, std::size_t room, const BlockRecord& record,
                          const ExtentSpace& space) {
  BlockInfo info;
  info.begin = begin;
  info.bytes = record.bytes();
  info.room = room;
  info.caller = record.caller();
  info.space = &space;
  info.allocator = record.allocator();
  return info;
}

namespace {

// In the list's order, linked.
const ExtentPart* copy_parts(const ExtentPart* from, std::span<ExtentPart> to) {
  std::size_t count = 0;
  for (; from != nullptr && count < to.size(); from = from->next) {
    to[count] = *from;
    to[count].next = nullptr;
    if (count != 0) to[count - 1].next = &to[count];
    ++count;
  }
  return count != 0 ? to.data() : nullptr;
}

} // namespace

bool Placer::find(const void* address, bool exact, BlockInfo& info,
                  std::span<ExtentPart> parts) const {
  ExtentSpace* space = ranges_.space_of(address);
  if (space == nullptr) return false;
  if (const Span* span = exact ? ranges_.span_of(address) : nullptr) {
    std::uintptr_t begin = 0;
    const BlockRecord* record = Heap::find(*span, address, true, &begin);
    if (record != nullptr) info = info_of(begin, span->block_bytes, *record, *space);
    return record != nullptr;
  }
  bool found = false, in_heap = false;
  space->visit_at(address, [&](const Extent& extent) {
    in_heap = extent.use == ExtentUse::heap;
    if (in_heap || (exact && extent.begin != reinterpret_cast<std::uintptr_t>(address))) return;
    info = info_of(extent);
    info.parts = copy_parts(extent.parts, parts);
    found = true;
  });
  if (in_heap && !exact && space->heap() != nullptr) // the heap's locks come before the extents'
    space->heap()->visit_at(address,
                            [&](std::uintptr_t begin, std::size_t room, const BlockRecord& record) {
                              info = info_of(begin, room, record, *space);
                              found = info.bytes != 0; // its owner may be freeing it
                            });
  return found;
}

bool Placer::release(void* block) {
  let_decay();
  if (Span* span = ranges_.span_of(block)) return Heap::of(*span).release(*span, block);
  ExtentSpace* space = ranges_.space_of(block);
  // From here on no other thread changes it, but for pages that arrive and are noticed.
  Extent* extent = space != nullptr ? space->begin_leaving(block) : nullptr;
  if (extent == nullptr) return false;
  if (extent->locked) os().unlock(block, extent->committed);
  if (!is_verified(*extent))
    for (std::size_t tier = 0; tier < tier_count_; ++tier) {
      TierPlace& place = places_[tier];
      if (place.nodes != space->nodes()) continue;
      std::uint64_t promised = place.promised.load(std::memory_order_relaxed);
      while (!place.promised.compare_exchange_weak(
          promised, promised > extent->committed ? promised - extent->committed : 0,
          std::memory_order_relaxed)) {
      }
    }
  // Pages where the last block's threads or size had them would be wrong for the next one's.
  const Binding& binding = space->binding();
  const bool reusable = binding.nodes.count() <= 1 || binding.spreading == Spreading::home ||
                        binding.spreading == Spreading::interleaved;
  space->give_back(*extent, reusable);
  return true;
}

bool Placer::resize_in_place(void* block, std::size_t bytes) {
  BlockInfo info;
  if (!find(block, true, info) || bytes == 0) return false;
  if (bytes > info.room || bytes < info.room / 2) return false;
  if (info.large) {
    ranges_.space_of(block)->visit_at(block, [&](Extent& extent) { extent.block_bytes = bytes; });
    return true;
  }
  if (bytes >= k_large_block) return false;
  const Span* span = ranges_.span_of(block);
  BlockRecord* record = span != nullptr ? Heap::find(*span, block, true) : nullptr;
  if (record == nullptr) return false;
  record->resize(static_cast<std::uint32_t>(bytes));
  return true;
}

bool Placer::reassign(void* block, std::uint32_t allocator, bool watched) {
  BlockInfo info;
  if (!find(block, true, info)) return false;
  if (info.large) {
    ranges_.space_of(block)->visit_at(block, [&](Extent& extent) { extent.allocator = allocator; });
    return true;
  }
  Heap::find(*ranges_.span_of(block), block, true)
      ->reassign(allocator | (watched ? BlockRecord::k_watched : 0));
  return true;
}

std::uint64_t Placer::cached_bytes(MemoryKind kind) const {
  std::uint64_t sum = 0;
  for_each_spread([&](const Spread& spread) {
    if (spread.extents.kind() == kind) sum += spread.extents.cached_bytes();
  });
  return sum;
}

bool Placer::is_sound(std::string& why_not) {
  if (!ledger_.is_sound(why_not) || !ranges_.is_sound(why_not)) return false;
  std::array<std::uint64_t, k_memory_kinds + 1> charged{};
  bool sound = true;
  for_each_spread([&](Spread& spread) {
    sound = sound && spread.extents.is_sound(why_not);
    if (!sound) return;
    spread.extents.for_each([&](const Extent& extent) {
      charged[static_cast<std::size_t>(extent.charged)] += extent.committed - extent.apart;
      for (const ExtentPart* part = extent.parts; part != nullptr; part = part->next)
        charged[static_cast<std::size_t>(part->kind)] += part->end - part->begin;
    });
    sound = spread.heap.is_sound(why_not);
    charged[static_cast<std::size_t>(spread.extents.kind())] += spread.extents.cached_bytes();
  });
  if (!sound) return false;
  for (const MemoryKind kind : k_all_memory_kinds)
    if (charged[static_cast<std::size_t>(kind)] != ledger_.used(kind)) {
      why_not = "the ledger of " + std::string(name_of(kind)) + " says " +
                std::to_string(ledger_.used(kind)) + ", the extents " +
                std::to_string(charged[static_cast<std::size_t>(kind)]);
      return false;
    }
  return true;
}

bool Placer::move_block(const void* block, MemoryKind kind, std::uint64_t& moved) {
  moved = 0;
  std::size_t tier = 0;
  while (tier < tier_count_ && kind_of_tier(tier) != kind)
    ++tier;
  if (tier == tier_count_) return false;
  // The block may have been freed meanwhile, and its memory be another's.
  ExtentSpace* space = ranges_.space_of(block);
  Extent* extent = space != nullptr ? space->begin_move(block) : nullptr;
  if (extent == nullptr) return false;
  const bool arrived =
      !extent->required && (extent->charged == kind || move_extent(*extent, tier, moved));
  space->end_move(*extent);
  return arrived;
}

// Ledger and node first, then the pages, then the old kind's account.
bool Placer::move_extent(Extent& extent, std::size_t tier, std::uint64_t& moved) {
  if (extent.parts != nullptr) return false; // split over kinds: each part is where it belongs
  const MemoryKind kind = kind_of_tier(tier);
  const MemoryKind from = extent.charged;
  const NodeSet nodes = places_[tier].nodes;
  if (nodes.empty()) return false; // pages do not become a file's
  if (!ledger_.reserve(kind, extent.committed)) {
    drop_caches(kind, extent.committed);
    if (!ledger_.reserve(kind, extent.committed)) return false;
  }
  if (!has_room(places_[tier], extent.committed)) {
    drop_caches(kind, extent.committed);
    if (!has_room(places_[tier], extent.committed)) {
      ledger_.give_back(kind, extent.committed);
      return false;
    }
  }
  MoveOutcome last;
  for (unsigned node = 0; node < k_max_nodes; ++node) {
    if (!nodes.has(node)) continue;
    last = move_to_node(extent.begin, extent.committed, node);
    moved += last.moved;
    if (last.refused || last.missing == 0) break;
  }
  if (last.refused)
    warn_once(
        Notice::placement_refused,
        "The kernel refuses to move pages (move_pages; a container or sandbox may forbid it): "
        "memory stays where it is.");
  if (last.refused || last.missing > extent.committed / 2) { // most of it did not arrive
    ledger_.give_back(kind, extent.committed);
    return false;
  }
  const std::lock_guard guard(*extent.space);
  extent.charged = kind;
  extent.moved = true;
  ledger_.give_back(from, extent.committed);
  return true;
}

void Placer::lock_all() {
  for (std::size_t tier = 0; tier < tier_count_; ++tier)
    places_[tier].lock(); // held while a heap is registered with the caches
  thread_caches::lock();
  for_each_spread([](Spread& spread) { spread.heap.lock(); });
  for_each_spread([](Spread& spread) { spread.extents.lock(); });
  ranges_.lock();
}

void Placer::forget_other_threads() {
  if (folder_.is_open()) folder_.leave_to_parent();
  thread_caches::forget_others();
  for_each_spread([](Spread& spread) { spread.extents.forget_moves(); });
}

void Placer::unlock_all() {
  ranges_.unlock();
  for_each_spread([](Spread& spread) { spread.extents.unlock(); });
  for_each_spread([](Spread& spread) { spread.heap.unlock(); });
  thread_caches::unlock();
  for (std::size_t tier = 0; tier < tier_count_; ++tier)
    places_[tier].unlock();
}

} // namespace omptier
