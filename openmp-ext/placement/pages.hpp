// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What the kernel says and does about pages: where they are (move_pages as a query), making them
// present, moving them to other nodes with the outcome verified page by page, and how much of a
// node is free. All of it in batches on the stack, without malloc.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace omptier {

inline constexpr unsigned k_max_nodes = 64; // node numbers the tables of this layer hold

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
  } // of a set not empty
  unsigned count() const { return static_cast<unsigned>(__builtin_popcountll(bits)); }
  friend bool operator==(NodeSet, NodeSet) = default;
};

// Bytes of a range by where they are.
struct PageCensus {
  std::array<std::uint64_t, k_max_nodes> node{};
  std::uint64_t untouched = 0; // not in memory
  std::uint64_t unqueried = 0; // the kernel refused to say
  std::uint64_t on(NodeSet nodes) const;
  std::uint64_t present() const;
};

// Counts the pages of [begin, begin + bytes); partial pages at the ends count only their part.
// False when the kernel (or a container) refuses the query altogether; then all is unqueried.
bool count_pages(std::uintptr_t begin, std::size_t bytes, PageCensus& census);

// Makes pages of ours present for writing. False and errno when memory ran out.
bool populate(std::uintptr_t begin, std::size_t bytes);
// Asks the kernel to make the program's own memory present, and writes to none of it: pages that
// are still a file's become the process's own where they may be written, others are mapped as they
// are. Before Linux 5.14 nothing happens.
void map_in(std::uintptr_t begin, std::size_t bytes);

// How the pages of a range spread over the nodes of its tier.
enum class Spreading : std::uint8_t {
  first_touch, // the node of the tier next to the processor that touches a page first
  home,        // one node; when it is full, the tier's nodes nearest to it
  interleaved, // round and round, page by page
  blocked,     // each block in as many parts as there are nodes, one a node
};
inline constexpr unsigned k_no_node = ~0u;

struct Binding {
  NodeSet nodes; // of the tier; empty = anywhere
  Spreading spreading = Spreading::first_touch;
  unsigned home = k_no_node;
  bool small_pages = false; // no huge pages: blocks too small to spread over the nodes in these
};

enum class BindResult : std::uint8_t { bound, refused };
// Memory policy of a range: the nodes preferred, spilling to others when they are full, never the
// kernel's strict binding (a full node would kill the process). A kernel that knows no home nodes
// (before 5.17) takes the node next to the processor that touches, which for a populated range is
// the one that asked. Blocked ranges get no policy: populate_parts places them.
BindResult bind_range(std::uintptr_t begin, std::size_t bytes, const Binding& binding);

// The range has no policy of its own any more.
void unbind_range(std::uintptr_t begin, std::size_t bytes);

// One part of a blocked range.
struct Part {
  std::uintptr_t begin = 0;
  std::size_t bytes = 0;
  unsigned node = 0;
};
// The i-th of the parts that [begin, begin + bytes) falls into: as equal as steps (the size of the
// pages) allow, ascending nodes; bytes is 0 when the steps do not suffice for so many parts.
Part part_of(std::uintptr_t begin, std::size_t bytes, NodeSet nodes, unsigned i, std::size_t step);
// Makes the pages of a blocked range present, each part on its node as far as that has room (then
// where the kernel spills to). False and errno when memory ran out. The calling thread's own memory
// policy is changed meanwhile: for each page to be made where it belongs, without a mapping a part.
bool populate_parts(std::uintptr_t begin, std::size_t bytes, NodeSet nodes, std::size_t step);

// Makes small pages of the huge pages that the range's ends cut: a huge page moves as a whole, and
// part of these is not the range's. Nothing happens to what the pages hold. Memory that is locked,
// or shared with a forked child, stays as it is.
void split_at_ends(std::uintptr_t begin, std::size_t bytes);

struct MoveOutcome {
  std::uint64_t moved = 0;   // bytes on the wanted nodes afterwards that were elsewhere before
  std::uint64_t missing = 0; // bytes that are present but still elsewhere
  std::uint64_t shared = 0;  // of these, pages that other processes map too: those do not move
  bool refused = false;      // the kernel refuses move_pages
  PageCensus after;          // where the pages are now; nothing when it refuses to say
};
// Moves the present pages of a range that are on none of the nodes to one of them, the next one
// when that is full, huge page by huge page where there are any, and counts again afterwards.
// Untouched pages stay untouched. first: the node that is tried first, else the lowest.
MoveOutcome move_to_nodes(std::uintptr_t begin, std::size_t bytes, NodeSet nodes,
                          unsigned first = k_no_node);

// Bytes from the range's begin up to the first page that is not on the nodes; 0 when the kernel
// refuses to say.
std::size_t leading_bytes_on(std::uintptr_t begin, std::size_t bytes, NodeSet nodes);

// True when every present page of the range is on the nodes, if need be after moving the others
// there (the kernel may have preferred to spill rather than to reclaim page cache). Also true when
// the kernel refuses to say where pages are: then nothing is known, and it has been said once.
// home: the node of them that is tried first.
bool settle(std::uintptr_t begin, std::size_t bytes, NodeSet nodes, unsigned home = k_no_node);

// Bytes below which the kernel spills allocations for a node to other nodes (the low watermarks of
// its zones; transparent huge pages raise them to some 25 MiB a node). One entry a node, 0 =
// unknown. Reads a long file: for start-up only.
std::array<std::uint64_t, k_max_nodes> read_low_watermarks();

} // namespace omptier
