// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Facts from a /sys laid out in a temporary folder as Linux lays it out.
#include "platform/sysfs.hpp"
#include "platform_samples.hpp"

#include <filesystem>
#include <fstream>
#include <unistd.h>

namespace omptier {
namespace {

namespace fs = std::filesystem;

class Sysfs : public testing::Test {
protected:
  void SetUp() override {
    root_ = fs::path(testing::TempDir()) / ("sysfs-" + std::to_string(::getpid()));
    fs::remove_all(root_);
    for (unsigned node = 0; node < 3; ++node) {
      const std::string folder = "devices/system/node/node" + std::to_string(node);
      write(folder + "/cpulist", node == 0 ? "0-2,5\n" : "\n");
      write(folder + "/meminfo", "Node " + std::to_string(node) + " MemTotal:       2097152 kB\n" +
                                     "Node " + std::to_string(node) + " MemFree:  5 kB\n");
      machine_.nodes.push_back(facts(node, {0, 1, 2, 5}, {0}, {}, k_gib));
    }
  }
  void TearDown() override { fs::remove_all(root_); }

  void write(const std::string& path, const std::string& text) {
    fs::create_directories((root_ / path).parent_path());
    std::ofstream(root_ / path) << text;
  }
  void link(const std::string& path, const std::string& target) {
    fs::create_directories((root_ / path).parent_path());
    fs::create_directories(root_ / target);
    fs::create_symlink(root_ / target, root_ / path);
  }
  void dax_device(const std::string& device, const char* driver, const char* node) {
    const std::string name = fs::path(device).filename();
    write(device + "/target_node", node);
    link("bus/dax/devices/" + name, device);
    link(device + "/driver", std::string("bus/dax/drivers/") + driver);
  }
  const NodeFacts& node(unsigned number) {
    read_sysfs(machine_, root_.string());
    return machine_.nodes[number];
  }

  fs::path root_;
  MachineFacts machine_;
};

TEST_F(Sysfs, OwnProcessorsAndGrownCapacity) {
  EXPECT_EQ(node(0).cpus, (std::vector{0u, 1u, 2u, 5u}));
  EXPECT_TRUE(node(1).cpus.empty());
  EXPECT_EQ(node(1).capacity, 2 * k_gib);
  EXPECT_EQ(node(1).origin, MemoryOrigin::unknown);
}

TEST_F(Sysfs, NvdimmGivenToTheKernel) {
  dax_device("devices/LNXSYSTM:00/ndbus0/region0/dax0.0/dax0.0", "kmem", "2\n");
  EXPECT_EQ(node(2).origin, MemoryOrigin::nvdimm);
  EXPECT_EQ(node(2).origin_name, "dax0.0");
  EXPECT_EQ(node(1).origin, MemoryOrigin::unknown);
}

TEST_F(Sysfs, DeviceUsedThroughItsFileIsNoNode) {
  dax_device("devices/LNXSYSTM:00/ndbus0/region0/dax0.0/dax0.0", "device_dax", "2\n");
  EXPECT_EQ(node(2).origin, MemoryOrigin::unknown);
}

TEST_F(Sysfs, CxlAndReservedByThePathOfTheDevice) {
  dax_device("devices/platform/ACPI0017:00/root0/decoder0.0/region0/dax_region0/dax0.0", "kmem",
             "1\n");
  dax_device("devices/platform/hmem.0/dax1.0", "kmem", "2\n");
  EXPECT_EQ(node(1).origin, MemoryOrigin::cxl);
  EXPECT_EQ(node(2).origin, MemoryOrigin::reserved);
}

TEST_F(Sysfs, CxlRegionMappedByTheFirmware) {
  link("bus/cxl/devices/region0", "devices/platform/ACPI0017:00/root0/decoder0.0/region0");
  write("devices/platform/ACPI0017:00/root0/decoder0.0/region0/resource", "0x180000000\n");
  write("devices/system/memory/block_size_bytes", "8000000\n"); // 128 MiB: block 48
  link("devices/system/memory/memory48/node1", "devices/system/node/node1");
  EXPECT_EQ(node(1).origin, MemoryOrigin::cxl);
  EXPECT_EQ(node(1).origin_name, "region0");
  EXPECT_EQ(node(2).origin, MemoryOrigin::unknown);
}

TEST_F(Sysfs, FirmwareThatListsHbmOnly) {
  std::string module(0x22, '\0');
  module[0x0C] = 64;
  module[0x12] = 0x24; // HBM3
  write("firmware/dmi/entries/17-0/raw", module);
  std::string empty_slot(0x22, '\0');
  empty_slot[0x12] = 2;
  write("firmware/dmi/entries/17-1/raw", empty_slot);
  read_sysfs(machine_, root_.string());
  EXPECT_EQ(machine_.firmware_memory, "HBM");
  module[0x12] = 0x22; // DDR5 beside it
  write("firmware/dmi/entries/17-2/raw", module);
  read_sysfs(machine_, root_.string());
  EXPECT_EQ(machine_.firmware_memory, "");
}

TEST_F(Sysfs, WhatIsMissingOrNonsenseChangesNothing) {
  write("devices/system/node/node1/meminfo", "nonsense\n");
  write("devices/system/node/node1/cpulist", "4294967295-1,x\n");
  dax_device("devices/platform/hmem.0/dax1.0", "kmem", "-1\n");
  EXPECT_EQ(node(1).capacity, k_gib);
  EXPECT_TRUE(node(1).cpus.empty());
  MachineFacts untouched;
  untouched.nodes = {facts(0, {0, 1}, {0}, {}, k_gib)};
  read_sysfs(untouched, "/nonexistent");
  EXPECT_EQ(untouched.nodes[0].capacity, k_gib);
  EXPECT_EQ(untouched.nodes[0].cpus, (std::vector{0u, 1u}));
}

} // namespace
} // namespace omptier
