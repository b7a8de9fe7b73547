// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The machine's memory: NUMA nodes with their kind and the rule that decided it, capacities, and
// latency and bandwidth as seen from each initiator. Made once from hwloc and the platform file (or
// from an XML file, for tests and for advising on another machine) and never changed afterwards.
#pragma once

#include "base/kind.hpp"
#include "base/text.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace omptier {

// One memory as seen from one place; 0 = unknown. Nanoseconds and bytes per second.
struct Figures {
  double read_latency = 0;
  double write_latency = 0;
  double read_bandwidth = 0;
  double write_bandwidth = 0;
  double block = 64; // bytes that the medium moves for a single line
  double mixed_bandwidth = 0; // of as many reads as writes; 0: as the two figures add up
  bool block_is_known = false; // measured; else block is what most media have
};

struct InitiatorView {
  std::vector<unsigned> cpus; // operating-system numbers, ascending
  Figures figures;
  unsigned distance = 0; // the firmware's relative distance (10 = local), 0 = unknown
};

struct Node {
  unsigned number = 0; // operating-system node number
  MemoryKind kind = MemoryKind::unknown;
  std::string rule; // which rule of docs/design.md decided the kind, in words
  std::uint64_t capacity = 0;
  std::vector<unsigned> cpus; // processors of this node itself; empty = CPU-less
  std::vector<InitiatorView> views;
  bool measured = false; // figures of a platform file (omptier calibrate) are among its views
  bool measured_in_part = false; // and some latency or bandwidth is of another source, or unknown
};

struct Tier {
  MemoryKind kind = MemoryKind::unknown;
  std::vector<unsigned> nodes; // node numbers, ascending; none: a DAX directory
  std::uint64_t capacity = 0;
  Figures figures; // best view of its nodes
};

// Nanoseconds until a last-level cache answers: 15 of a Zen 4 EPYC's, 20 to 70 of Xeons' meshes.
inline constexpr double k_usual_cache_latency = 30;

// Of a last-level cache, what a program's threads have of it. 0 bytes = unknown.
struct CachePart {
  double bytes = 0;
  double latency = k_usual_cache_latency; // nanoseconds
};

// The outermost caches of all cores together; 0 = unknown.
struct LastLevel {
  std::uint64_t bytes = 0;
  unsigned cores = 0;
  double latency = k_usual_cache_latency;

  // Of so many threads, one a core: others may use the rest.
  CachePart of(unsigned threads) const;
};

struct Platform {
  std::vector<Node> nodes; // ascending by number
  std::vector<Tier> tiers; // fastest first (mean bandwidth; within 10 % the lower latency)
  bool this_machine = true;
  LastLevel last_level;    // only of other machines than this one
  std::string fingerprint; // changes when kinds, capacities (to 1 %) or figures change
  // The platform file (omptier calibrate) whose figures go before the firmware's; "" = none is
  // here.
  std::string figures_file;
  std::string figures_date;    // when they were measured; "" = the file is not used
  std::string figures_problem; // why it is not used and what to do, one line

  const Node* node(unsigned number) const;
  const Tier* tier(MemoryKind kind) const; // first of that kind, or null
  // 0 = unknown.
  Figures view(unsigned node_number, unsigned cpu) const;
};

struct DiscoverOptions {
  std::string xml;    // path of an hwloc XML export instead of this machine; "" = this machine
  NodesByKind forced; // OMPTIER_NODES
  bool without_measured = false; // as if there were no platform file
};

// Discovers and classifies the memory. Fails with one line when the XML cannot be read. Takes about
// a millisecond and allocates: an allocation path must set a guard before it calls this.
Parsed<Platform> discover_platform(const DiscoverOptions& options);

// Every node is in exactly one tier, capacities add up, kinds agree.
bool is_consistent(const Platform& platform, std::string& why_not);

} // namespace omptier
