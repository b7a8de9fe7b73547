// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// QEMU's command line for a machine of the table. Two parts: what the machine is made of, which a
// snapshot depends on, and what one run connects to it, which it does not.
#pragma once

#include "machine/presets.hpp"

#include <filesystem>
#include <string>
#include <vector>

namespace omptier {

// qemu-system-x86_64 in PATH. Throws Failure (125) that names the package when there is none.
std::filesystem::path find_qemu();

// CPUs, memory nodes, distances, HMAT, memory-event unit. unit_file: file descriptor behind the
// memory-event unit, inherited by QEMU.
std::vector<std::string> machine_arguments(const Machine& machine);

// The kernel's command line.
std::string kernel_command_line(const std::string& additions);

// File descriptors (inherited by QEMU) and paths that differ from run to run.
struct Connections {
  int control;        // socket: frames of guest/protocol.h
  int console;        // socket: the kernel's messages
  int monitor;        // socket: QEMU's own control protocol (QMP)
  int initial_files;  // file: first RAM file system
  int event_unit;     // file behind the memory-event unit, of k_event_unit_size bytes
  std::string kernel; // ELF file
  std::string command_line;
  std::string shared;   // host folder that the guest may write to
  bool shared_writable; // otherwise it is there, but read-only
  bool one_thread;      // all CPUs in one thread of the host
  bool restore;         // wait for a saved state instead of booting
  std::string plugin;   // "path,config=…", or empty
};

std::vector<std::string> connection_arguments(const Connections& connections);

// Doubles commas, which separate options in QEMU's values.
std::string escape_commas(const std::string& value);

} // namespace omptier
