// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Reads small files below /sys. A DAX device that the kmem driver turned into memory names its node
// (target_node), and the path behind its link names its origin: ".../ndbus0/..." is an NVDIMM,
// "...region0/..." a CXL region, "hmem" memory that the firmware set aside. A CXL region that the
// firmware itself mapped has no DAX device: its physical address leads to a memory block, and the
// block to its node.
#include "platform/sysfs.hpp"

#include "base/kernel_files.hpp"

#include <algorithm>
#include <array>
#include <climits>
#include <cstdlib>
#include <cstring>
#include <dirent.h>
#include <memory>
#include <unistd.h>

namespace omptier {
namespace {

std::string real_path(const std::string& path) {
  char target[PATH_MAX];
  return ::realpath(path.c_str(), target) != nullptr ? target : "";
}

std::vector<std::string> names_in(const std::string& folder, std::string_view prefix) {
  std::vector<std::string> names;
  struct CloseFolder {
    void operator()(DIR* open) const { ::closedir(open); }
  };
  const std::unique_ptr<DIR, CloseFolder> entries(::opendir(folder.c_str()));
  if (!entries) return names;
  while (const dirent* entry = ::readdir(entries.get()))
    if (std::strncmp(entry->d_name, prefix.data(), prefix.size()) == 0)
      names.emplace_back(entry->d_name);
  std::ranges::sort(names);
  return names;
}

NodeFacts* find_node(MachineFacts& facts, long number) {
  for (NodeFacts& node : facts.nodes)
    if (static_cast<long>(node.number) == number) return &node;
  return nullptr;
}

void read_own_cpus(MachineFacts& facts, const std::string& root) {
  for (NodeFacts& node : facts.nodes) {
    const std::string folder = root + "/devices/system/node/node" + std::to_string(node.number);
    if (::access((folder + "/cpulist").c_str(), R_OK) == 0)
      node.cpus = parse_number_list(read_small_file(folder + "/cpulist"));
    NodeMemory now; // grows while a kernel initialises memory lazily
    if (read_node_memory(node.number, now, root.c_str()))
      node.capacity = std::max(node.capacity, now.total);
  }
}

void read_dax_devices(MachineFacts& facts, const std::string& root) {
  const std::string bus = root + "/bus/dax/devices";
  for (const std::string& name : names_in(bus, "dax")) {
    const std::string device = bus + "/" + name;
    // Only memory that was handed to the kernel; a device used through its file has no node here.
    if (!real_path(device + "/driver").ends_with("/kmem")) continue;
    const std::string target = read_small_file(device + "/target_node");
    NodeFacts* node =
        target.empty() ? nullptr : find_node(facts, std::strtol(target.c_str(), nullptr, 10));
    if (node == nullptr) continue;
    const std::string path = real_path(device);
    node->origin_name = name;
    if (path.find("/ndbus") != std::string::npos)
      node->origin = MemoryOrigin::nvdimm;
    else if (path.find("/region") != std::string::npos || path.find("/cxl") != std::string::npos)
      node->origin = MemoryOrigin::cxl;
    else
      node->origin = MemoryOrigin::reserved;
  }
}

void read_cxl_regions(MachineFacts& facts, const std::string& root) {
  const std::string bus = root + "/bus/cxl/devices";
  const std::string memory = root + "/devices/system/memory";
  const std::uint64_t block_size =
      std::strtoull(read_small_file(memory + "/block_size_bytes").c_str(), nullptr, 16);
  for (const std::string& name : names_in(bus, "region")) {
    const std::uint64_t address =
        std::strtoull(read_small_file(bus + "/" + name + "/resource").c_str(), nullptr, 16);
    if (address == 0 || block_size == 0) continue;
    // The region may begin inside a block that the kernel left out, so take the next whole block.
    const std::uint64_t block = (address + block_size - 1) / block_size;
    for (const std::string& link : names_in(memory + "/memory" + std::to_string(block), "node")) {
      NodeFacts* node = find_node(facts, std::strtol(link.c_str() + 4, nullptr, 10));
      if (node == nullptr) continue;
      node->origin = MemoryOrigin::cxl;
      node->origin_name = name;
    }
  }
}

// True memory type from SMBIOS type 17, which describes one module each: byte 0x0C its size (0 =
// empty slot), 0x12 its type (0x20 HBM, 0x21 HBM2, 0x24 HBM3). "HBM" when all modules are HBM.
std::string firmware_memory(const std::string& root) {
  const std::string entries = root + "/firmware/dmi/entries";
  bool any = false;
  for (const std::string& name : names_in(entries, "17-")) {
    std::array<unsigned char, 256> raw{};
    const std::size_t got = read_small_file((entries + "/" + name + "/raw").c_str(),
                                            reinterpret_cast<char*>(raw.data()), raw.size());
    if (got < 0x15) continue;
    if (raw[0x0C] == 0 && raw[0x0D] == 0) continue;
    if (raw[0x12] != 0x20 && raw[0x12] != 0x21 && raw[0x12] != 0x24) return {};
    any = true;
  }
  return any ? "HBM" : "";
}

} // namespace

void read_sysfs(MachineFacts& facts, const std::string& root) {
  read_own_cpus(facts, root);
  read_dax_devices(facts, root);
  read_cxl_regions(facts, root);
  facts.firmware_memory = firmware_memory(root);
}

} // namespace omptier
