// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Places one block on one tier: checks the ledger and the node's free memory, takes memory from
// extents or heap, and for *required* memory verifies the pages with the kernel. Higher layers
// decide which tier to try, and what to do when it refuses.
//
// required:  the ledger grants, the node has room, pages are made present and each is verified to
//            be on the tier's nodes; a page elsewhere (that cannot be moved there) releases the
//            block.
// preferred: the ledger grants and the node has room; pages come at first touch, from the threads
//            that touch them, and are counted on request.
#pragma once

#include "base/os.hpp"
#include "placement/folder.hpp"
#include "placement/group_room.hpp"
#include "placement/job.hpp"
#include "placement/ledger.hpp"
#include "placement/node_orders.hpp"
#include "placement/tier_place.hpp"
#include "platform/choice.hpp"
#include "platform/platform.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <span>

namespace omptier {

inline constexpr std::size_t k_most_tiers = GroupRoom::k_most;

enum class Refusal : std::uint8_t {
  none,
  no_such_kind,
  nothing_known, // of this machine's memory: reported at discovery
  capacity,
  node_full,
  elsewhere,
  lock_limit,
  group_limit,
  not_allowed
};
const char* describe(Refusal refusal);

// Stored with the block, for ompx_get_placement and ompx_dump.
enum class PlacementReason : std::uint8_t {
  required,
  preferred,
  next_best,
  plan,
  strategy,
  declared // decided together with others
};

struct BlockRequest {
  std::size_t bytes = 0;
  std::size_t alignment = 1;
  bool required = false;
  bool pinned = false;
  Partition partition = Partition::environment;
  PlacementReason reason = PlacementReason::required;
  std::uint32_t allocator = 0;
  bool watched = false; // the allocator must be notified of the block's end
  std::uint32_t plan_entry = 0;
  std::uint32_t plan_instance = 0;
  const void* caller = nullptr;

  std::uint32_t owner() const { return allocator | (watched ? BlockRecord::k_watched : 0); }
};

// A live block of ours, for its owner: no other thread changes these values.
struct HeldBlock {
  std::uintptr_t begin = 0;
  std::size_t bytes = 0;         // requested; 0: there is no such block
  std::uint32_t allocator = 0;   // its number
  Span* span = nullptr;          // small block: its span,
  BlockRecord* record = nullptr; // and its record there
  Extent* extent = nullptr;      // large block: its extent,
  ExtentSpace* space = nullptr;  // and that one's space
};

struct BlockInfo {
  std::uintptr_t begin = 0;
  std::size_t bytes = 0; // requested
  std::size_t room = 0;  // usable in place; for a large block, what is counted
  const void* caller = nullptr;
  const ExtentSpace* space = nullptr; // where it was placed: binding, kind, directory
  std::uint32_t allocator = 0;
  bool large = false;
  // Of a large block only.
  KindBytes besides{}; // counted under other kinds in addition: left behind or to come
  bool required = false, locked = false, moved = false, split = false;
  PlacementReason reason = PlacementReason::required;
  MemoryKind charged = MemoryKind::unknown;
  std::uint32_t plan_entry = 0, plan_instance = 0; // as Extent's
  const ExtentPart* parts = nullptr;               // latest first; see who fills this
};

// What limits a process's memory besides the machine.
struct CapacityRules {
  CapacityByKind capacity;                 // OMPTIER_CAPACITY
  RankShare share;                         // of kinds that it does not name
  std::uint64_t reserve = k_usual_reserve; // bytes of each node left to others
  NodeSet allowed{~std::uint64_t{0}};      // nodes that may be used
  std::string folder;                      // OMPTIER_PMEM: memory where no node is NVM; "" = none
  bool folder_without_dax = false;         // for tests
  std::string job_ledger;                  // file that the job's processes share; "" = none
  CapacityRules(const CapacityByKind& by_kind = {}) : capacity(by_kind) {}
};

// For periodic work, done by whichever thread comes by.
class Interval {
public:
  explicit Interval(std::uint64_t ns) : ns_(std::max(ns, k_least)) {}
  // True once per interval, for one thread.
  bool is_due() {
    const std::uint64_t now = coarse_nanoseconds();
    std::uint64_t next = next_.load(std::memory_order_relaxed);
    return now >= next && next_.compare_exchange_strong(next, now + ns_, std::memory_order_relaxed);
  }

private:
  static constexpr std::uint64_t k_least = 10'000'000;
  const std::uint64_t ns_;
  std::atomic<std::uint64_t> next_{0}; // ns
};

enum class MoveResult : std::uint8_t {
  moved,   // most of it is there now, or was before
  no_room, // ledger or nodes, or there is no such memory
  refused, // the kernel refuses to move pages
  stays,   // more than half of the pages did not follow
  held     // may not move (required, pinned, split, in a file), is being moved, or is gone
};

// One of several blocks that move at once, each to a kind (Placer::exchange).
struct Exchange {
  const void* block = nullptr;
  MemoryKind kind = MemoryKind::unknown; // that it is to lie in
  MoveResult result = MoveResult::held;
  std::uint64_t moved = 0; // bytes that arrived there

  // While it is under way.
  Extent* extent = nullptr;
  MemoryKind from = MemoryKind::unknown;  // where it was
  MemoryKind to = MemoryKind::unknown;    // kind, or back to from if it cannot be finished
  MemoryKind spare = MemoryKind::unknown; // some of it waits there
  bool stuck = false;                     // its pages do not move
};

class Placer {
public:
  // decay: nanoseconds that freed memory is kept for reuse before it goes back to the system.
  // Checked when blocks come and go by a slow path; there is no helper thread.
  Placer(Platform platform, const CapacityRules& rules, std::uint64_t decay = k_usual_decay);

  const Platform& platform() const { return platform_; }
  const ChoiceTable& choices() const { return choices_; }
  Ledger& ledger() { return ledger_; }
  JobLedger& job() { return job_; }
  const RankShare& share() const { return share_; }
  // Whether the kind's limit is the rank's share, not OMPTIER_CAPACITY.
  bool is_shared(MemoryKind kind) const {
    return kind != MemoryKind::unknown && limits_.shared[static_cast<std::size_t>(kind)];
  }
  const CgroupLimits& cgroup() const { return group_.limits(); }
  ReservedRanges& ranges() { return ranges_; }
  std::size_t tier_count() const { return tier_count_; }
  MemoryKind kind_of_tier(std::size_t tier) const { return platform_.tiers[tier].kind; }
  NodeSet nodes_of_tier(std::size_t tier) const { return places_[tier].nodes; }
  MemoryKind kind_of_node(unsigned node) const {
    return node < k_max_nodes ? node_kinds_[node] : MemoryKind::unknown;
  }
  const NodeOrders& node_orders() const { return node_orders_; }

  // Null and why. fresh: the block reads as zero.
  void* place(std::size_t tier, const BlockRequest& request, bool& fresh, Refusal& why);
  // held: from held(). False when another thread has already released the block.
  bool release(const HeldBlock& held);
  bool release(const void* block) { return release(held(block)); }
  // The live block that begins at (exact) or contains an address. Without exact any address is
  // allowed, whatever other threads free meanwhile; exact is for a block that the caller owns, or
  // for a large one. parts: receives the parts of a split block, as many as fit.
  bool find(const void* address, bool exact, BlockInfo& info,
            std::span<ExtentPart> parts = {}) const;
  // The live block of ours that begins there; bytes is 0 when there is none. The caller owns the
  // block, so no lock is needed: this is also called while a fork holds them all.
  HeldBlock held(const void* block) const;
  // False when the block does not fit.
  bool resize_in_place(void* block, std::size_t bytes);

  // False: no live block begins there.
  bool reassign(void* block, std::uint32_t allocator, bool watched);

  bool holds(const void* address) const { return ranges_.holds(address); }
  const ReservedRanges& ranges() const { return ranges_; }
  // Whether bytes more fit on the tier's nodes, as node and cgroup are now.
  bool has_room_on(std::size_t tier, std::uint64_t bytes) { return has_room(places_[tier], bytes); }

  // Moves a large block's present pages to another kind, if ledger and node have room for all of
  // it; the ledger follows, page by page if some stay behind. moved: bytes that arrived. If most
  // stay, the others are moved back as far as possible.
  MoveResult move_block(const void* block, MemoryKind kind, std::uint64_t& moved);
  // The same for several large blocks at once, each to its kind, where those kinds are full: in
  // pieces, each into the room that the last one left; where there is none at all, through a few
  // MiB of another kind, or above the process's own limit (Ledger::k_beyond). The ledger counts
  // each piece where it lies, at every moment. A block that cannot be finished goes back; if even
  // that is impossible (others took the room), it stays in parts, each counted under its kind.
  // Thread-safe; no lock is held while pages move. At most as many blocks as the caller has.
  void exchange(std::span<Exchange> blocks);
  // Makes the front of a fresh large block present on the tier, as far as ledger and node allow, as
  // first touch would; returns its bytes. Later pages are moved back. Content may be lost.
  std::size_t fill_front(void* block, std::size_t tier);
  // Puts bytes [begin, end) of a fresh large block on a tier, from its begin on as far as ledger
  // and nodes have room; borders are rounded to pages. Returns the bytes that arrived (counted from
  // the rounded begin); 0 also if an earlier part overlaps. The pages' content is lost.
  std::size_t place_part(void* block, std::size_t begin, std::size_t end, std::size_t tier);
  // Including cached bytes.
  std::uint64_t room(MemoryKind kind) const { return ledger_.room(kind) + cached_bytes(kind); }

  // Bytes of a tier that large blocks could take now: by ledger, nodes and control group, including
  // cached bytes, without promised bytes that are not touched yet.
  std::uint64_t room_on(std::size_t tier);

  // Calls visit(const BlockInfo&) for every live block; may miss blocks that come or go meanwhile.
  // visit must not allocate, free or find; parts are valid until it returns.
  template <typename F> void for_each_block(F&& visit);

  std::uint64_t cached_bytes(MemoryKind kind) const;
  // Includes the calling thread's magazines.
  void give_back_unused();
  // Checks all invariants. with_pages: also that every page is counted under its kind, which holds
  // while nothing runs and the kernel has put no preferred block's page elsewhere.
  bool is_sound(std::string& why_not, bool with_pages = false);

  // Publishes this process's untouched bytes if another of the job requested a recount. Called at
  // allocations and when parallel regions begin; costs nothing without a control group's limit.
  void answer_recount() {
    if (group_.limited()) recount();
  }

  // Held during a fork: all locks.
  void lock_all();
  void unlock_all();
  // In the child, before unlock_all: takes a slot of the job's ledger, ends other threads' moves.
  void forget_other_threads();

private:
  // Heaps, extents, address space, the job's ledger.
  void lock_memory();
  void unlock_memory();
  // The caller holds the space's lock.
  static BlockInfo info_of(const Extent& extent);
  static BlockInfo info_of(std::uintptr_t begin, std::size_t room, const BlockRecord& record,
                           const ExtentSpace& space);
  void* place_large(TierPlace& place, Spread& spread, const BlockRequest& request, bool& fresh,
                    Refusal& why);
  Extent* take_extent(TierPlace& place, ExtentSpace& extents, const BlockRequest& request,
                      bool& fresh, Refusal& why);
  static void hand_out(Extent& extent, const BlockRequest& request);
  void make_group_room();
  void recount();
  // own: the extent that already has the bytes, if any.
  Refusal refusal_of_nodes(TierPlace& place, std::uint64_t bytes, const Extent* own = nullptr);
  // Also checks the control group.
  bool has_room(TierPlace& place, std::uint64_t bytes) {
    return (place.promised == nullptr || group_.leaves(0)) &&
           refusal_of_nodes(place, bytes) == Refusal::none;
  }
  std::uint64_t count_promised(TierPlace& place, const Extent* own = nullptr);
  struct Piece {
    std::size_t begin = 0, end = 0;
    MemoryKind from = MemoryKind::unknown;
  };
  bool fit_together(std::span<const Exchange> blocks);
  bool next_piece(const Exchange& one, Piece& piece) const;
  bool move_piece(Exchange& one, MemoryKind kind, std::uint64_t most, bool beyond);
  std::uint64_t counted_besides(const Extent& extent, const Piece& piece, MemoryKind kind) const;
  void leave_piece(Extent& extent, const Piece& piece, MemoryKind kind, const MoveOutcome& outcome);
  using OpenedBeyond = std::array<bool, k_memory_kinds + 1>; // by kind
  void end_beyond(OpenedBeyond& opened);
  bool move_all_pieces(std::span<Exchange> blocks, OpenedBeyond& opened);
  bool make_way(std::span<Exchange> blocks, OpenedBeyond& opened);
  void turn_back(std::span<Exchange> blocks, bool all);
  void finish(Exchange& one);
  std::size_t tier_of_kind(MemoryKind kind) const;
  MoveResult move_extent(Extent& extent, std::size_t tier, std::uint64_t& moved);
  bool reserve_move(Extent& extent, std::size_t tier);
  ExtentPages by_kind(const Extent& extent, const PageCensus& census) const;
  NodeSet nodes_under(const Extent& extent, MemoryKind kind) const;
  MoveTarget way_back(const Extent& extent, MemoryKind kind) const;
  bool counts_its_pages(const Extent& extent, std::string& why_not) const;
  std::size_t fill_part(Extent& extent, std::size_t begin, std::size_t end, std::size_t tier,
                        std::size_t least);
  std::size_t move_part(Extent& extent, std::size_t begin, std::size_t bytes, NodeSet nodes,
                        std::size_t least);
  void uncount_rest(Extent& extent, std::size_t begin, std::size_t end, MemoryKind kind);
  bool part_border(Extent& extent, std::size_t at);
  std::size_t drop_caches(MemoryKind kind, std::size_t bytes);
  // What was unused for a while goes back to the system. The caller holds no lock.
  void let_decay() {
    if (look_for_unused_.is_due()) drop_unused();
  }
  void drop_unused();
  std::uint64_t free_on(NodeSet nodes, bool with_file_cache) const;
  unsigned home_in(std::size_t tier) const;
  bool make_present(TierPlace& place, Extent& extent, std::size_t bytes);
  void leave_folder_to_parent();
  template <typename F> void for_each_spread(F&& visit) const {
    for (std::size_t tier = 0; tier < tier_count_; ++tier)
      places_[tier].for_each_spread(visit);
  }

  static Platform with_folder(Platform platform, Folder& folder, const CapacityRules& rules);

  Folder folder_; // open: the last tier is its
  Platform platform_;
  ChoiceTable choices_;
  const RankShare share_;
  const std::uint64_t reserve_;
  const KindLimits limits_;
  JobLedger job_;
  GroupRoom group_{job_};
  Ledger ledger_;
  ReservedRanges ranges_;
  std::array<TierPlace, k_most_tiers> places_;
  std::size_t tier_count_ = 0;
  std::array<MemoryKind, k_max_nodes> node_kinds_{};
  NodeOrders node_orders_;
  std::array<std::uint64_t, k_max_nodes> low_watermarks_{};
  const std::uint64_t decay_;
  Interval look_for_unused_{decay_ / 4};
  Interval pressure_{0}; // until threads may be asked for their blocks again
};

template <typename F> void Placer::for_each_block(F&& visit) {
  for_each_spread([&](Spread& spread) {
    spread.extents.for_each([&](const Extent& extent) {
      if (extent.use == ExtentUse::block && extent.ready) visit(info_of(extent));
    });
    // Not inside the loop above: the heap's locks come before the extents'.
    spread.heap.for_each([&](std::uintptr_t begin, const BlockRecord& record) {
      visit(info_of(begin, record.bytes(), record, spread.extents));
    });
  });
}

} // namespace omptier
