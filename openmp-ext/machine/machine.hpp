// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A machine that can be emulated. One description determines QEMU's NUMA nodes, distances and HMAT
// (qemu_command.cpp), the time model's configuration (timing_setup.cpp) and what the advisor takes
// for the machine (as_platform.cpp). Presets and users' machines are files of one format
// (machine_file.hpp).
#pragma once

#include "base/kind.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace omptier {

inline constexpr std::uint64_t k_mib = 1ull << 20;
inline constexpr std::uint64_t k_gib = 1ull << 30;

// The most CPUs and nodes of a machine: the time model's limits (timing/config.h).
inline constexpr int k_most_cpus = 16, k_most_nodes = 16;

// The performance of one memory node as one initiator sees it, of the whole real machine; units as
// Linux shows the ACPI HMAT.
struct NodePerformance {
  int read_latency;    // ns
  int write_latency;   // ns
  int read_bandwidth;  // MB/s
  int write_bandwidth; // MB/s
};

// Memory in front of a node that keeps copies of its lines, invisible to Linux's allocator: HBM in
// cache mode, DRAM in Memory Mode.
struct MemorySideCache {
  std::uint64_t size; // bytes
  NodePerformance figures;
};

struct MachineNode {
  MemoryKind kind;      // as emulated; the guest has to derive it from attributes
  std::uint64_t size;   // bytes, a multiple of 2 MiB
  int cpus = 0;         // CPUs of this node, numbered in the order of the nodes
  int initiator = -1;   // of a node without CPUs: the node whose CPUs are local to it
  int media_block = 64; // access granularity of the medium in bytes (256: Optane)
  bool duplex = false;  // reads and writes have a path each: they take no bandwidth of each other
  int mixed_bandwidth = 0; // MB/s of as many reads as writes; 0: as their two figures add up
  // Latency over the idle one where so much (0 to 1) of the bandwidth is used.
  std::vector<std::pair<double, double>> load_curve;
  std::optional<MemorySideCache> cache;
  // An NVDIMM that the guest brings online as memory through device DAX; at most one, the last
  // node.
  bool nvdimm = false;
  // One entry for each node that has CPUs, in the order of the nodes.
  std::vector<NodePerformance> seen_from;
};

// A core of the real machine, for the time model (timing/core.h).
struct CoreModel {
  double stands_for;      // cores that one CPU of the emulated machine stands for
  double instruction_ns; // clock time over the instructions that pass in it when nothing waits
  double wrong_branch_ns; // that a wrong prediction costs
  int window;             // instructions of the reorder buffer
  int outstanding;        // misses: line fill buffers of the first level
  int prefetched;         // lines of streams in flight
  int stores;             // lines stored to in flight
};

struct Machine {
  std::string name;
  std::string description;
  std::string cpu_model; // appended to QEMU's -cpu, so that CPUID names the real CPU
  int sockets = 1;
  int cores = 1; // per socket
  std::vector<MachineNode> nodes;
  std::vector<std::vector<int>> distances; // ACPI SLIT: 10 on the diagonal
  // Bytes of a second NVDIMM, with a file system mounted with DAX at /run/pmem0; 0: none.
  std::uint64_t dax_folder = 0;
  CoreModel core = {};
  std::uint64_t last_level = 0; // bytes of all last-level caches of the real machine; 0: unknown
};

std::vector<int> initiators(const Machine& machine);

bool has_nvdimm(const Machine& machine);

// "0-3", or "" without CPUs.
std::string cpu_list(const Machine& machine, std::size_t node);

// The node as the machine's CPUs can use it: each stands for several cores, so bandwidths are that
// part of the whole, as exactly as the HMAT can have it. seen: one of the node's views.
NodePerformance part_of_cpus(const Machine& machine, const NodePerformance& seen);

// For --list: "dram-hbm-nvm  DRAM 1 GiB, HBM 512 MiB, …; description".
std::string describe(const Machine& machine);

} // namespace omptier
