// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The presets. Latencies are idle ones, bandwidths those of the whole machine, rounded from
// published measurements of the real machines. Capacities are scaled down (a gigabyte for about a
// hundred), in roughly the real proportions. A row has read and write latency in ns, read and write
// bandwidth in MB/s.
#include "machine/presets.hpp"

#include <utility>

namespace omptier {
namespace {

// Reorder buffer and line fill buffers as the vendors' optimisation manuals give them; lines of
// streams as the bandwidth of one core times the latency needs them.
CoreModel golden_cove(double stands_for) {
  return {stands_for, 0.19, 6, 512, 16, 32, 32};
}

CoreModel sunny_cove(double stands_for) {
  return {stands_for, 0.17, 6, 352, 12, 16, 20};
}

CoreModel knights_landing(double stands_for) {
  return {stands_for, 0.7, 9, 72, 12, 16, 16};
}


// A machine of clusters. Nodes: those with each cluster's CPUs, then, in the same order, its HBM.
struct Clusters {
  int sockets, per_socket;
  int cpus; // of a cluster
  std::uint64_t dram, hbm;
  // Performance and distance of a cluster's own memory, another cluster's, another socket's, as
  // seen by its CPUs (to its own DRAM the distance is 10).
  NodePerformance dram_seen[3], hbm_seen[3];
  int dram_distance[3], hbm_distance[3];
};

void add_clusters(Machine& machine, const Clusters& clusters) {
  const int count = clusters.sockets * clusters.per_socket;
  // 0: same cluster, 1: same socket, 2: other socket.
  const auto apart = [&](int a, int b) {
    return a == b ? 0 : a / clusters.per_socket == b / clusters.per_socket ? 1 : 2;
  };
  for (int node = 0; node < 2 * count; ++node) {
    const bool dram = node < count;
    MachineNode& added = machine.nodes.emplace_back();
    added.kind = dram ? MemoryKind::dram : MemoryKind::hbm;
    added.size = dram ? clusters.dram : clusters.hbm;
    added.cpus = dram ? clusters.cpus : 0;
    added.initiator = dram ? -1 : node - count;
    // References first: with -fsanitize=undefined, gcc 12 warns of a wrong index where ?: chooses
    // between the arrays.
    const auto& seen = dram ? clusters.dram_seen : clusters.hbm_seen;
    for (int from = 0; from < count; ++from)
      added.seen_from.push_back(seen[apart(from, node % count)]);
    std::vector<int>& row = machine.distances.emplace_back();
    for (int to = 0; to < 2 * count; ++to) {
      const auto& distance = dram && to < count ? clusters.dram_distance : clusters.hbm_distance;
      row.push_back(to == node ? 10 : distance[apart(node % count, to % count)]);
    }
  }
}

MachineNode with_cpus(int cpus, std::uint64_t size, std::vector<NodePerformance> seen_from) {
  return {.kind = MemoryKind::dram, .size = size, .cpus = cpus, .seen_from = std::move(seen_from)};
}

// A node without CPUs, local to those of `node`.
MachineNode beside(int node, MemoryKind kind, std::uint64_t size,
                   std::vector<NodePerformance> seen_from) {
  return {.kind = kind,
          .size = size,
          .initiator = node,
          .media_block = kind == MemoryKind::nvm ? 256 : 64,
          .seen_from = std::move(seen_from)};
}

MachineNode as_nvdimm(MachineNode node) {
  node.nvdimm = true;
  return node;
}

// No real machine has all three; this one tries everything at once. Its NVM writes three times
// slower than it reads, so that the difference shows.
Machine dram_hbm_nvm() {
  return {
      .name = "dram-hbm-nvm",
      .description = "one socket with DRAM, HBM and NVM",
      .cpu_model = "",
      .sockets = 1,
      .cores = 4,
      .nodes =
          {
              with_cpus(4, 1 * k_gib, {{80, 80, 100000, 100000}}),
              beside(0, MemoryKind::hbm, 512 * k_mib, {{130, 130, 400000, 400000}}),
              beside(0, MemoryKind::nvm, 1536 * k_mib, {{300, 900, 30000, 10000}}),
          },
      .distances = {{10, 15, 30}, {15, 10, 30}, {30, 30, 10}},
  };
}

// Two Ice Lake sockets with Optane DIMMs as system RAM: Linux shows the Optane of each socket as a
// node without CPUs.
Machine icelake_optane() {
  return {
      .name = "icelake-optane",
      .description = "two Ice Lake sockets, each with DRAM and Optane as system RAM",
      .cpu_model = "vendor=GenuineIntel,family=6,model=106,stepping=6",
      .sockets = 2,
      .cores = 2,
      .nodes =
          {
              with_cpus(2, 1 * k_gib, {{80, 80, 180000, 140000}, {140, 140, 60000, 60000}}),
              with_cpus(2, 1 * k_gib, {{140, 140, 60000, 60000}, {80, 80, 180000, 140000}}),
              beside(0, MemoryKind::nvm, 1 * k_gib,
                     {{300, 300, 40000, 12000}, {380, 380, 20000, 6000}}),
              beside(1, MemoryKind::nvm, 1 * k_gib,
                     {{380, 380, 20000, 6000}, {300, 300, 40000, 12000}}),
          },
      .distances = {{10, 20, 17, 28}, {20, 10, 28, 17}, {17, 28, 10, 28}, {28, 17, 28, 10}},
      .core = sunny_cove(20), // of 40 a socket
  };
}

// Xeon CPU Max in flat mode, one socket as one cluster.
Machine xeon_max_flat() {
  return {
      .name = "xeon-max-flat",
      .description = "one Xeon Max socket in flat mode, DRAM and HBM",
      .cpu_model = "vendor=GenuineIntel,family=6,model=143,stepping=8",
      .sockets = 1,
      .cores = 4,
      .nodes =
          {
              with_cpus(4, 1 * k_gib, {{110, 110, 250000, 220000}}),
              beside(0, MemoryKind::hbm, 512 * k_mib, {{140, 140, 700000, 500000}}),
          },
      .distances = {{10, 13}, {13, 10}},
      .core = golden_cove(14), // of 56
  };
}

// A CXL memory expander that the firmware presents as a node without CPUs.
Machine dram_cxl() {
  return {
      .name = "dram-cxl",
      .description = "one socket with DRAM and a CXL memory expander",
      .cpu_model = "vendor=GenuineIntel,family=6,model=143,stepping=8",
      .sockets = 1,
      .cores = 4,
      .nodes =
          {
              with_cpus(4, 1 * k_gib, {{110, 110, 250000, 220000}}),
              beside(0, MemoryKind::cxl, 2 * k_gib, {{250, 260, 55000, 45000}}),
          },
      .distances = {{10, 20}, {20, 10}},
      .core = golden_cove(14), // of 56
  };
}

// Knights Landing (Xeon Phi 7250) with MCDRAM in flat mode and sub-NUMA clustering by quadrants.
// The distances are the firmware's: other quadrants' DRAM is nearer than the own MCDRAM. It has no
// real CPU name: for a Knights Landing, hwloc replaces the HMAT's figures by its own.
Machine knl_snc4_flat() {
  Machine machine = {.name = "knl-snc4-flat",
                     .description = "Knights Landing, four quadrants, each with DRAM and MCDRAM",
                     .cpu_model = "",
                     .sockets = 1,
                     .cores = 4,
                     .nodes = {},
                     .distances = {},
                     .dax_folder = 0,
                     .core = knights_landing(17)}; // of 17 a quadrant
  add_clusters(machine, {.sockets = 1,
                         .per_socket = 4,
                         .cpus = 1,
                         .dram = 512 * k_mib,
                         .hbm = 256 * k_mib,
                         .dram_seen = {{130, 130, 21000, 17000}, {145, 145, 20000, 16000}, {}},
                         .hbm_seen = {{155, 155, 105000, 75000}, {170, 170, 95000, 70000}, {}},
                         .dram_distance = {10, 21, 0},
                         .hbm_distance = {31, 41, 0}});
  return machine;
}

// Two sockets of Xeon CPU Max 9480 in flat mode, four clusters (SNC4) each.
Machine xeon_max_snc4_2s() {
  Machine machine = {.name = "xeon-max-snc4-2s",
                     .description = "two Xeon Max sockets of four clusters, each with DRAM and HBM",
                     .cpu_model = "vendor=GenuineIntel,family=6,model=143,stepping=8",
                     .sockets = 2,
                     .cores = 4,
                     .nodes = {},
                     .distances = {},
                     .dax_folder = 0,
                     .core = golden_cove(14)}; // of 14 a cluster
  add_clusters(
      machine,
      {.sockets = 2,
       .per_socket = 4,
       .cpus = 1,
       .dram = 384 * k_mib,
       .hbm = 256 * k_mib,
       .dram_seen = {{105, 105, 62000, 55000}, {120, 120, 58000, 50000}, {190, 190, 30000, 28000}},
       .hbm_seen = {{130, 130, 175000, 125000},
                    {145, 145, 150000, 110000},
                    {215, 215, 45000, 40000}},
       .dram_distance = {10, 12, 21},
       .hbm_distance = {13, 14, 23}});
  return machine;
}

// One socket with DRAM and two NVDIMMs: one becomes memory through device DAX and kmem, one holds a
// file system (App Direct).
Machine nvdimm() {
  return {
      .name = "nvdimm",
      .description = "one socket with DRAM, an NVDIMM as memory and one as a folder with DAX",
      .cpu_model = "vendor=GenuineIntel,family=6,model=106,stepping=6",
      .sockets = 1,
      .cores = 2,
      .nodes =
          {
              with_cpus(2, 1 * k_gib, {{80, 80, 180000, 140000}}),
              as_nvdimm(beside(0, MemoryKind::nvm, 2 * k_gib, {{300, 300, 40000, 12000}})),
          },
      .distances = {{10, 17}, {17, 10}},
      .dax_folder = 256 * k_mib,
      .core = sunny_cove(20), // of 40
  };
}

} // namespace

const std::vector<Machine>& machines() {
  static const auto* table =
      new std::vector<Machine>{dram_hbm_nvm(),  icelake_optane(),   xeon_max_flat(), dram_cxl(),
                               knl_snc4_flat(), xeon_max_snc4_2s(), nvdimm()};
  return *table;
}

} // namespace omptier
