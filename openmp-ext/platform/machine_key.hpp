// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What a machine is recognised by: its processor, and the processors and bytes of each node.
// Figures and kinds are no part of it, since measuring changes both. The kernel's files are read,
// not hwloc's answers: a batch system gives a job a part of the machine, which is the same machine.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace omptier {

struct KeyNode {
  unsigned number = 0;
  std::vector<unsigned> cpus; // ascending; empty = CPU-less
  std::uint64_t bytes = 0;
};

struct MachineKey {
  std::string processor;      // model in the maker's words; "" = unknown
  std::vector<KeyNode> nodes; // with memory, ascending by number; none: the kernel shows none
};

// Of this machine. root: where /sys is.
MachineKey read_machine_key(const std::string& root = "/sys");

// What differs, in words such as "node 2 has 16.00 GiB there and 8.00 GiB here", or "" for the same
// machine. Capacities may differ by 1 %: they are what the kernel leaves, which differs from boot
// to boot.
std::string difference_between(const MachineKey& there, const MachineKey& here);

// "platform-0123456789abcdef.json": the name under which a machine's figures are kept, so that
// machines that share a home directory each have a file. It is of the processor's model and how
// many nodes have memory. Capacities and processors are left out: they change a little (a virtual
// machine's memory, processors that are switched off), and then the file must still be found for
// difference_between() to say so.
std::string platform_file_name(const MachineKey& key);

} // namespace omptier
