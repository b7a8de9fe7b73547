// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Pages of the kernel: where they are (move_pages as a query), making them present, moving them
// with the result verified page by page, and the free memory of nodes. In batches, without malloc.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace omptier {

inline constexpr unsigned k_max_nodes = 64; // largest node number of this layer's tables, plus one

// A set of NUMA nodes by operating-system number.
struct NodeSet {
  std::uint64_t bits = 0;
  bool has(unsigned node) const { return node < k_max_nodes && (bits >> node & 1) != 0; }
  void add(unsigned node) {
    if (node < k_max_nodes) bits |= std::uint64_t{1} << node;
  }
  bool empty() const { return bits == 0; }
  unsigned first() const {
    return static_cast<unsigned>(__builtin_ctzll(bits));
  } // of a non-empty set
  unsigned count() const { return static_cast<unsigned>(__builtin_popcountll(bits)); }
  friend bool operator==(NodeSet, NodeSet) = default;
};

// Bytes of a range by location.
struct PageCensus {
  std::array<std::uint64_t, k_max_nodes> node{};
  std::uint64_t untouched = 0; // not in memory
  std::uint64_t unqueried = 0; // the kernel refused to report them
  std::uint64_t on(NodeSet nodes) const;
  std::uint64_t present() const;
};

// Partial pages at the ends count only their part. False when the kernel (or a container) refuses
// the query; then all is unqueried. process: whose memory it is; 0: our own.
bool count_pages(std::uintptr_t begin, std::size_t bytes, PageCensus& census, int process = 0);

// Present and writable. False and errno when memory ran out.
bool populate(std::uintptr_t begin, std::size_t bytes);
// Makes the program's own memory present without writing: writable pages of a file become the
// process's own, others are mapped as they are. Does nothing before Linux 5.14.
void map_in(std::uintptr_t begin, std::size_t bytes);

enum class Spreading : std::uint8_t {
  first_touch, // the tier's node nearest to the processor that touches first
  home,        // one node; when full, the tier's nodes nearest to it
  interleaved, // round-robin, page by page
  blocked,     // each block in as many parts as nodes, one per node
};
inline constexpr unsigned k_no_node = ~0u;

struct Binding {
  NodeSet nodes; // of the tier; empty = any
  Spreading spreading = Spreading::first_touch;
  unsigned home = k_no_node;
  bool small_pages = false; // no huge pages: blocks too small to distribute in these
};

enum class BindResult : std::uint8_t { bound, refused };
// Prefers the nodes; never binds strictly (a full node would kill the process). Without home nodes
// (before Linux 5.17) the touching processor decides. Blocked ranges get no policy: populate_parts
// places them.
BindResult bind_range(std::uintptr_t begin, std::size_t bytes, const Binding& binding);

void unbind_range(std::uintptr_t begin, std::size_t bytes);

struct Part {
  std::uintptr_t begin = 0;
  std::size_t bytes = 0;
  unsigned node = 0;
};
// The i-th of the parts of [begin, begin + bytes): as equal as the step (the page size) allows, in
// ascending order of nodes; bytes is 0 when there are fewer steps than parts.
Part part_of(std::uintptr_t begin, std::size_t bytes, NodeSet nodes, unsigned i, std::size_t step);
// Makes the pages of a blocked range present, each part on its node as far as that has room (then
// where the kernel spills to). False and errno when memory ran out. Changes the calling thread's
// own memory policy meanwhile, which places each page without a separate mapping per part.
bool populate_parts(std::uintptr_t begin, std::size_t bytes, NodeSet nodes, std::size_t step);

// Splits the huge pages that cross the range's ends, since a huge page moves as a whole. The
// content stays. Locked memory, and memory shared with a forked child, is left as it is.
void split_at_ends(std::uintptr_t begin, std::size_t bytes);

struct MoveOutcome {
  std::uint64_t moved = 0;   // bytes that moved to the wanted nodes
  std::uint64_t missing = 0; // bytes that are present but still elsewhere
  std::uint64_t shared = 0;  // of these, pages that other processes map: they do not move
  bool refused = false;      // the kernel refuses move_pages
  PageCensus after;          // where the pages are now; empty when the kernel refuses
};
struct NodeOrders; // node_orders.hpp
struct MoveTarget {
  NodeSet nodes;
  const NodeOrders* orders = nullptr; // which of the nodes is tried first; null: the lowest
  unsigned first = k_no_node;         // before all others
  int process = 0;                    // whose pages, which move while its threads run; 0: our own
  bool alone = false;                 // no threads of ours help
};
// Moves present pages onto one of the nodes (then the next when that is full), by whole huge pages,
// and counts again. Untouched pages stay untouched.
MoveOutcome move_to_nodes(std::uintptr_t begin, std::size_t bytes, const MoveTarget& target);

// Bytes from the begin up to the first page off the nodes; 0 when the kernel does not report.
std::size_t leading_bytes_on(std::uintptr_t begin, std::size_t bytes, NodeSet nodes);

// True when every present page of the range is on the nodes, if necessary after moving the others
// there (the kernel may have spilled rather than reclaimed page cache). Also true, after one
// warning, when the kernel refuses to report where pages are. home: the node to try first.
bool settle(std::uintptr_t begin, std::size_t bytes, NodeSet nodes, unsigned home = k_no_node);

// Free bytes below which the kernel spills allocations for a node to other nodes (the low
// watermarks of its zones; transparent huge pages raise them to some 25 MiB a node). One entry per
// node, 0 = unknown. Reads a long file: for start-up only.
std::array<std::uint64_t, k_max_nodes> read_low_watermarks();

} // namespace omptier
