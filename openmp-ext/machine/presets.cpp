// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The table of machines. Latencies are idle, bandwidths those of the whole machine, from published
// measurements of the real ones, rounded; capacities are scaled down (a gigabyte where the machine
// has a hundred) in about the real proportion. In each row: read and write latency in ns, read and
// write bandwidth in MB/s.
#include "machine/presets.hpp"

namespace omptier {
namespace {

constexpr std::uint64_t k_mib = 1ull << 20;
constexpr std::uint64_t k_gib = 1ull << 30;

// A machine of clusters: first the node of each cluster's CPUs, then, in the same order, its HBM.
struct Clusters {
  int sockets, per_socket;
  int cpus; // of a cluster
  std::uint64_t dram, hbm;
  // What a cluster's CPUs see of their own memory, of another cluster's, of another socket's; the
  // distance of each (to DRAM it is 10 at home).
  NodePerformance dram_seen[3], hbm_seen[3];
  int dram_distance[3], hbm_distance[3];
};

void add_clusters(Machine& machine, const Clusters& clusters) {
  const int count = clusters.sockets * clusters.per_socket;
  // 0 the same cluster, 1 the same socket, 2 farther.
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
    // Arrays are named before they are indexed: gcc 12 takes a wrong index for one chosen by ?:
    // where -fsanitize=undefined is on.
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

std::vector<Machine> make_machines() {
  std::vector<Machine> table;

  // No real machine has all three; this one is for trying everything at once. Its NVM writes three
  // times slower than it reads, so that the difference shows.
  table.push_back({
      .name = "dram-hbm-nvm",
      .description = "one socket with DRAM, HBM and NVM",
      .cpu_model = "",
      .sockets = 1,
      .cores = 4,
      .nodes =
          {
              {.kind = MemoryKind::dram,
               .size = 1 * k_gib,
               .cpus = 4,
               .seen_from = {{80, 80, 100000, 100000}}},
              {.kind = MemoryKind::hbm,
               .size = 512 * k_mib,
               .initiator = 0,
               .seen_from = {{130, 130, 400000, 400000}}},
              {.kind = MemoryKind::nvm,
               .size = 1536 * k_mib,
               .initiator = 0,
               .media_block = 256,
               .seen_from = {{300, 900, 30000, 10000}}},
          },
      .distances = {{10, 15, 30}, {15, 10, 30}, {30, 30, 10}},
  });

  // Two sockets of Ice Lake with Optane DIMMs as system RAM: Linux shows the Optane of each socket
  // as a node without CPUs.
  table.push_back({
      .name = "icelake-optane",
      .description = "two Ice Lake sockets, each with DRAM and Optane as system RAM",
      .cpu_model = "vendor=GenuineIntel,family=6,model=106,stepping=6",
      .sockets = 2,
      .cores = 2,
      .nodes =
          {
              {.kind = MemoryKind::dram,
               .size = 1 * k_gib,
               .cpus = 2,
               .seen_from = {{80, 80, 180000, 140000}, {140, 140, 60000, 60000}}},
              {.kind = MemoryKind::dram,
               .size = 1 * k_gib,
               .cpus = 2,
               .seen_from = {{140, 140, 60000, 60000}, {80, 80, 180000, 140000}}},
              {.kind = MemoryKind::nvm,
               .size = 1 * k_gib,
               .initiator = 0,
               .media_block = 256,
               .seen_from = {{300, 300, 40000, 12000}, {380, 380, 20000, 6000}}},
              {.kind = MemoryKind::nvm,
               .size = 1 * k_gib,
               .initiator = 1,
               .media_block = 256,
               .seen_from = {{380, 380, 20000, 6000}, {300, 300, 40000, 12000}}},
          },
      .distances = {{10, 20, 17, 28}, {20, 10, 28, 17}, {17, 28, 10, 28}, {28, 17, 28, 10}},
  });

  // Xeon CPU Max in flat mode, one socket as one cluster.
  table.push_back({
      .name = "xeon-max-flat",
      .description = "one Xeon Max socket in flat mode, DRAM and HBM",
      .cpu_model = "vendor=GenuineIntel,family=6,model=143,stepping=8",
      .sockets = 1,
      .cores = 4,
      .nodes =
          {
              {.kind = MemoryKind::dram,
               .size = 1 * k_gib,
               .cpus = 4,
               .seen_from = {{110, 110, 250000, 220000}}},
              {.kind = MemoryKind::hbm,
               .size = 512 * k_mib,
               .initiator = 0,
               .seen_from = {{140, 140, 700000, 500000}}},
          },
      .distances = {{10, 13}, {13, 10}},
  });

  // A CXL memory expander that the firmware gives out as a node without CPUs.
  table.push_back({
      .name = "dram-cxl",
      .description = "one socket with DRAM and a CXL memory expander",
      .cpu_model = "vendor=GenuineIntel,family=6,model=143,stepping=8",
      .sockets = 1,
      .cores = 4,
      .nodes =
          {
              {.kind = MemoryKind::dram,
               .size = 1 * k_gib,
               .cpus = 4,
               .seen_from = {{110, 110, 250000, 220000}}},
              {.kind = MemoryKind::cxl,
               .size = 2 * k_gib,
               .initiator = 0,
               .seen_from = {{250, 260, 55000, 45000}}},
          },
      .distances = {{10, 20}, {20, 10}},
  });

  // Knights Landing (Xeon Phi 7250) with MCDRAM in flat mode and sub-NUMA clusters of a quadrant.
  // The distances are the firmware's: the other quadrants' DRAM counts as nearer than one's own
  // MCDRAM. No real CPU name: of a Knights Landing hwloc believes its own figures, not the HMAT's.
  table.push_back({.name = "knl-snc4-flat",
                   .description = "Knights Landing, four quadrants, each with DRAM and MCDRAM",
                   .cpu_model = "",
                   .sockets = 1,
                   .cores = 4,
                   .nodes = {},
                   .distances = {},
                   .dax_folder = 0});
  add_clusters(table.back(), {.sockets = 1,
                              .per_socket = 4,
                              .cpus = 1,
                              .dram = 512 * k_mib,
                              .hbm = 256 * k_mib,
                              .dram_seen = {{130, 130, 21000, 17000}, {145, 145, 20000, 16000}, {}},
                              .hbm_seen = {{155, 155, 105000, 75000}, {170, 170, 95000, 70000}, {}},
                              .dram_distance = {10, 21, 0},
                              .hbm_distance = {31, 41, 0}});

  // Two sockets of Xeon CPU Max 9480 in flat mode, four clusters (SNC4) each.
  table.push_back({.name = "xeon-max-snc4-2s",
                   .description = "two Xeon Max sockets of four clusters, each with DRAM and HBM",
                   .cpu_model = "vendor=GenuineIntel,family=6,model=143,stepping=8",
                   .sockets = 2,
                   .cores = 4,
                   .nodes = {},
                   .distances = {},
                   .dax_folder = 0});
  add_clusters(
      table.back(),
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

  // One socket with DRAM and two NVDIMMs: one is brought online as memory, through device DAX and
  // kmem, one holds a file system (App Direct).
  table.push_back({
      .name = "nvdimm",
      .description = "one socket with DRAM, an NVDIMM as memory and one as a folder with DAX",
      .cpu_model = "vendor=GenuineIntel,family=6,model=106,stepping=6",
      .sockets = 1,
      .cores = 2,
      .nodes =
          {
              {.kind = MemoryKind::dram,
               .size = 1 * k_gib,
               .cpus = 2,
               .seen_from = {{80, 80, 180000, 140000}}},
              {.kind = MemoryKind::nvm,
               .size = 2 * k_gib,
               .initiator = 0,
               .media_block = 256,
               .nvdimm = true,
               .seen_from = {{300, 300, 40000, 12000}}},
          },
      .distances = {{10, 17}, {17, 10}},
      .dax_folder = 256 * k_mib,
  });

  return table;
}

std::string size_text(std::uint64_t bytes) {
  return bytes % k_gib == 0 ? std::to_string(bytes / k_gib) + " GiB"
                            : std::to_string(bytes / k_mib) + " MiB";
}

} // namespace

const std::vector<Machine>& machines() {
  static const auto* table = new std::vector<Machine>(make_machines());
  return *table;
}

const Machine* find_machine(std::string_view name) {
  for (const Machine& machine : machines())
    if (machine.name == name) return &machine;
  return nullptr;
}

std::string machine_names() {
  std::string names;
  for (const Machine& machine : machines())
    names += (names.empty() ? "" : ", ") + std::string(machine.name);
  return names;
}

std::vector<int> initiators(const Machine& machine) {
  std::vector<int> nodes;
  for (std::size_t node = 0; node < machine.nodes.size(); ++node)
    if (machine.nodes[node].cpus > 0) nodes.push_back(static_cast<int>(node));
  return nodes;
}

bool has_nvdimm(const Machine& machine) {
  return !machine.nodes.empty() && machine.nodes.back().nvdimm;
}

std::string cpu_list(const Machine& machine, std::size_t node) {
  int first = 0;
  for (std::size_t before = 0; before < node; ++before)
    first += machine.nodes[before].cpus;
  int count = machine.nodes[node].cpus;
  if (count == 0) return "";
  return count == 1 ? std::to_string(first)
                    : std::to_string(first) + "-" + std::to_string(first + count - 1);
}

std::string check_machine(const Machine& machine) {
  const std::size_t count = machine.nodes.size();
  const std::size_t sources = initiators(machine).size();
  int cpus = 0;
  if (machine.distances.size() != count) return "distances need one row for each node";
  if (machine.nodes.empty() || machine.nodes[0].cpus == 0) return "node 0 needs CPUs";
  for (std::size_t i = 0; i < count; ++i) {
    const MachineNode& node = machine.nodes[i];
    const std::string where = "node " + std::to_string(i) + ": ";
    cpus += node.cpus;
    if (node.size == 0 || node.size % (2 * k_mib) != 0) return where + "size not in huge pages";
    if (node.nvdimm && (i + 1 != count || node.cpus > 0))
      return where + "an NVDIMM is the last node and has no CPUs";
    if (node.seen_from.size() != sources) return where + "one performance for each initiator";
    for (const NodePerformance& seen : node.seen_from)
      if (seen.read_latency <= 0 || seen.write_latency <= 0 || seen.read_bandwidth <= 0 ||
          seen.write_bandwidth <= 0)
        return where + "latencies and bandwidths must be positive";
    if (node.cpus == 0 && (node.initiator < 0 || node.initiator >= static_cast<int>(count) ||
                           machine.nodes[static_cast<std::size_t>(node.initiator)].cpus == 0))
      return where + "a node without CPUs needs an initiator that has some";
    if (machine.distances[i].size() != count) return where + "distances need one for each node";
    for (std::size_t j = 0; j < count; ++j)
      if ((machine.distances[i][j] == 10) != (i == j) || machine.distances[i][j] < 10)
        return where + "distance 10 is to itself and to nothing else";
  }
  if (machine.dax_folder != 0 && !has_nvdimm(machine)) return "the folder is the second NVDIMM";
  if (cpus != machine.sockets * machine.cores) return "CPUs of the nodes must be all there are";
  return "";
}

std::string describe(const Machine& machine) {
  std::string text = std::string(machine.name);
  text.resize(text.size() < 18 ? 18 : text.size() + 1, ' ');
  for (std::size_t i = 0; i < machine.nodes.size(); ++i) {
    const MachineNode& node = machine.nodes[i];
    text += (i > 0 ? ", " : "") + std::string(title_of(node.kind)) + " " + size_text(node.size);
  }
  if (machine.dax_folder != 0) text += ", folder " + size_text(machine.dax_folder);
  return text + "; " + std::string(machine.description);
}

} // namespace omptier
