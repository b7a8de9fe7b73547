// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// See qemu_command.hpp. Three constraints: the HMAT must give read and write figures for every pair
// of initiator and target, since Linux loses values if these are mixed with combined ones. The
// nodes' RAM comes first, in order, since the time model identifies a node by the order of memory
// blocks. The devices are the same in every run, so that one snapshot serves all runs.
#include "machine/qemu_command.hpp"

#include "base/program_path.hpp"
#include "borders/event_unit.h"
#include "machine/failure.hpp"
#include "machine/guest/protocol.h"

#include <cstdlib>
#include <fstream>

namespace omptier {
namespace {

// All instructions of x86-64-v3. The flags taken away slow emulation down or (la57) only add a
// level to the page tables.
constexpr const char* k_cpu = "max,-erms,-fsrm,-la57,-smap,-smep,-umip,-pku,-pks";

// QEMU passes the host's counter through. The guest is given its rate: its own calibration against
// an emulated timer can be wrong by an order of magnitude on a busy host.
std::string tsc_kilohertz() {
#if defined(__x86_64__)
  std::ifstream information("/proc/cpuinfo");
  for (std::string line; std::getline(information, line);)
    if (line.starts_with("bogomips"))
      return std::to_string(
          static_cast<long>(std::strtod(line.c_str() + line.find(':') + 1, nullptr) * 500));
#endif
  return "1000000"; // on other hosts QEMU counts nanoseconds
}

std::string file_path(int descriptor) {
  return "/proc/self/fd/" + std::to_string(descriptor);
}

using Arguments = std::vector<std::string>;

void add_nodes(Arguments& arguments, const Machine& machine) {
  for (std::size_t i = 0; i < machine.nodes.size(); ++i) {
    const MachineNode& node = machine.nodes[i];
    const std::string number = std::to_string(i);
    arguments.insert(arguments.end(), {"-object", "memory-backend-ram,id=node" + number +
                                                      ",size=" + std::to_string(node.size)});
    std::string text = "node,nodeid=" + number;
    if (!node.nvdimm) text += ",memdev=node" + number;
    if (node.cpus > 0) text += ",cpus=" + cpu_list(machine, i);
    if (node.initiator >= 0) text += ",initiator=" + std::to_string(node.initiator);
    arguments.insert(arguments.end(), {"-numa", text});
  }
  for (std::size_t i = 0; i < machine.nodes.size(); ++i)
    for (std::size_t j = 0; j < machine.nodes.size(); ++j)
      if (i != j)
        arguments.insert(arguments.end(),
                         {"-numa", "dist,src=" + std::to_string(i) + ",dst=" + std::to_string(j) +
                                       ",val=" + std::to_string(machine.distances[i][j])});
}

void add_hmat(Arguments& arguments, const Machine& machine) {
  const std::vector<int> sources = initiators(machine);
  for (std::size_t target = 0; target < machine.nodes.size(); ++target)
    for (std::size_t source = 0; source < sources.size(); ++source) {
      const NodePerformance seen =
          part_of_cpus(machine, machine.nodes[target].seen_from[source]);
      auto add = [&](const std::string& type, const std::string& value) {
        arguments.insert(arguments.end(),
                         {"-numa", "hmat-lb,initiator=" + std::to_string(sources[source]) +
                                       ",target=" + std::to_string(target) +
                                       ",hierarchy=memory,data-type=" + type + "," + value});
      };
      add("read-latency", "latency=" + std::to_string(seen.read_latency));
      add("write-latency", "latency=" + std::to_string(seen.write_latency));
      add("read-bandwidth", "bandwidth=" + std::to_string(seen.read_bandwidth) + "M");
      add("write-bandwidth", "bandwidth=" + std::to_string(seen.write_bandwidth) + "M");
    }
}

void add_memory_side_caches(Arguments& arguments, const Machine& machine) {
  for (std::size_t node = 0; node < machine.nodes.size(); ++node)
    if (const auto& cache = machine.nodes[node].cache)
      arguments.insert(arguments.end(),
                       {"-numa", "hmat-cache,node-id=" + std::to_string(node) +
                                     ",size=" + std::to_string(cache->size) +
                                     ",level=1,associativity=direct,policy=write-back,line=64"});
}

// The NVDIMM that is a node, then the one with the folder; the guest's nvdimm.c relies on this
// order.
void add_nvdimms(Arguments& arguments, const Machine& machine) {
  const std::string node = std::to_string(machine.nodes.size() - 1);
  arguments.insert(arguments.end(),
                   {"-device", "nvdimm,id=nvdimm0,memdev=node" + node + ",node=" + node});
  if (machine.dax_folder == 0) return;
  arguments.insert(arguments.end(),
                   {"-object",
                    "memory-backend-ram,id=folder,size=" + std::to_string(machine.dax_folder),
                    "-device", "nvdimm,id=nvdimm1,memdev=folder,node=" + node});
}

} // namespace

std::string escape_commas(const std::string& value) {
  std::string escaped;
  for (char c : value)
    escaped += c == ',' ? std::string(",,") : std::string(1, c);
  return escaped;
}

std::filesystem::path find_qemu() {
  const std::string program = path_of_program("qemu-system-x86_64");
  if (!program.empty()) return program;
  throw Failure(k_status_our_failure,
                "qemu-system-x86_64 is not in PATH; install it (Debian: apt-get install "
                "qemu-system-x86)");
}

std::vector<std::string> machine_arguments(const Machine& machine) {
  std::uint64_t memory = 0;
  for (const MachineNode& node : machine.nodes)
    if (!node.nvdimm) memory += node.size;
  const bool nvdimm = has_nvdimm(machine);
  std::string cpu = k_cpu;
  if (!machine.cpu_model.empty()) cpu += "," + machine.cpu_model;
  Arguments arguments = {"-machine",
                         std::string("q35,hmat=on,usb=off,smbus=off,sata=off,vmport=off,") +
                             "graphics=off" + (nvdimm ? ",nvdimm=on" : ""),
                         "-cpu",
                         cpu,
                         "-smp",
                         std::to_string(machine.sockets * machine.cores) +
                             ",sockets=" + std::to_string(machine.sockets) +
                             ",cores=" + std::to_string(machine.cores) + ",threads=1",
                         "-m",
                         std::to_string(memory >> 20) + "M" + (nvdimm ? ",slots=2,maxmem=16G" : ""),
                         "-nodefaults",
                         "-no-user-config",
                         "-display",
                         "none",
                         "-no-reboot"};
  add_nodes(arguments, machine);
  add_hmat(arguments, machine);
  add_memory_side_caches(arguments, machine);
  if (nvdimm) add_nvdimms(arguments, machine);
  return arguments;
}

std::string kernel_command_line(const std::string& additions) {
  // panic=-1 with QEMU's -no-reboot: a panic ends QEMU at once; the console has the reason.
  std::string line = "console=ttyS0 quiet panic=-1 tsc=reliable no_timer_check mitigations=off "
                     "nokaslr random.trust_cpu=on audit=0 cryptomgr.notests "
                     "numa_balancing=disable tsc_early_khz=" +
                     tsc_kilohertz();
  return additions.empty() ? line : line + " " + additions;
}

std::vector<std::string> connection_arguments(const Connections& connections) {
  auto socket = [](const char* id, int descriptor) {
    return std::string("socket,id=") + id + ",fd=" + std::to_string(descriptor);
  };
  Arguments arguments = {
      "-accel",
      std::string("tcg,tb-size=256,thread=") + (connections.one_thread ? "single" : "multi"),
      "-kernel", escape_commas(connections.kernel), "-initrd", file_path(connections.initial_files),
      "-append", connections.command_line,
      // The channel to the launcher.
      "-chardev", socket("monitor", connections.monitor), "-mon", "chardev=monitor,mode=control",
      "-chardev", socket("console", connections.console), "-serial", "chardev:console", "-device",
      "virtio-serial-pci,max_ports=2", "-chardev", socket("control", connections.control),
      "-device", std::string("virtserialport,chardev=control,name=") + OMPTIER_PORT_NAME,
      // The host's files.
      "-fsdev", "local,id=host,path=/,security_model=none,readonly=on,multidevs=remap", "-device",
      "virtio-9p-pci,fsdev=host,mount_tag=hostroot", "-fsdev",
      "local,id=shared,security_model=none,multidevs=remap,path=" +
          escape_commas(connections.shared) + (connections.shared_writable ? "" : ",readonly=on"),
      "-device", "virtio-9p-pci,fsdev=shared,mount_tag=shared",
      // The memory-event unit; "master" allows saving and restoring with this device.
      "-object",
      "memory-backend-file,id=events,share=on,mem-path=" + file_path(connections.event_unit) +
          ",size=" + std::to_string(EVENT_UNIT_SIZE),
      "-device", "ivshmem-plain,memdev=events,master=on"};
  if (connections.restore) arguments.insert(arguments.end(), {"-incoming", "defer"});
  if (!connections.plugin.empty())
    arguments.insert(arguments.end(), {"-plugin", connections.plugin});
  return arguments;
}

} // namespace omptier
