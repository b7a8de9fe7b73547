// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The machines that can be emulated. One description determines QEMU's NUMA nodes, distances and
// HMAT (qemu_command.cpp), the time model's configuration (timing_setup.cpp), and the output of
// `omptier sandbox --list`. To add a machine, add a function to presets.cpp; the unit test
// runs check_machine on it.
#pragma once

#include "base/kind.hpp"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace omptier {

inline constexpr std::uint64_t k_mib = 1ull << 20;
inline constexpr std::uint64_t k_gib = 1ull << 30;

// The performance of one memory node as one initiator sees it; units as Linux shows the ACPI HMAT.
struct NodePerformance {
  int read_latency;    // ns
  int write_latency;   // ns
  int read_bandwidth;  // MB/s
  int write_bandwidth; // MB/s
};

struct MachineNode {
  MemoryKind kind;      // as emulated; the guest has to derive it from attributes
  std::uint64_t size;   // bytes, a multiple of 2 MiB
  int cpus = 0;         // CPUs of this node, numbered in the order of the nodes
  int initiator = -1;   // of a node without CPUs: the node whose CPUs are local to it
  int media_block = 64; // access granularity of the medium in bytes (256: Optane)
  // An NVDIMM that the guest brings online as memory through device DAX; at most one, the last
  // node.
  bool nvdimm = false;
  // One entry for each node that has CPUs, in the order of the nodes.
  std::vector<NodePerformance> seen_from;
};

// A core of the real machine, for the time model (timing/core.h).
struct CoreModel {
  double stands_for;     // cores that one CPU of the emulated machine stands for
  double instruction_ns; // clock time over the instructions that pass in it when nothing waits
  double wrong_branch_ns; // that a wrong prediction costs
  int window;            // instructions of the reorder buffer
  int outstanding;       // misses: line fill buffers of the first level
  int prefetched;        // lines of streams in flight
  int stores;            // lines stored to in flight
};

struct Machine {
  std::string_view name;
  std::string_view description;
  std::string_view cpu_model; // appended to QEMU's -cpu, so that CPUID names the real CPU
  int sockets;
  int cores; // per socket
  std::vector<MachineNode> nodes;
  std::vector<std::vector<int>> distances; // ACPI SLIT: 10 on the diagonal
  // Bytes of a second NVDIMM, with a file system mounted with DAX at /run/pmem0; 0: none.
  std::uint64_t dax_folder = 0;
  CoreModel core = {5, 0.2, 6, 224, 12, 32, 24};
};

// Built at the first call, never destroyed; thread-safe.
const std::vector<Machine>& machines();

const Machine* find_machine(std::string_view name);

// "dram-hbm-nvm, icelake-optane, …"
std::string machine_names();

std::vector<int> initiators(const Machine& machine);

bool has_nvdimm(const Machine& machine);

// "0-3", or "" without CPUs.
std::string cpu_list(const Machine& machine, std::size_t node);

// Checks what QEMU and Linux rely on: square distances, a performance for each pair, CPUs that add
// up, sizes in whole huge pages. Returns the first violation, or "".
std::string check_machine(const Machine& machine);

// For --list: "dram-hbm-nvm  DRAM 1 GiB, HBM 512 MiB, …; description".
std::string describe(const Machine& machine);

} // namespace omptier
