// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// QEMU's command line for a preset, in two parts: the machine itself, which a snapshot depends on,
// and the connections of one run, which it does not depend on.
#pragma once

#include "machine/machine.hpp"

#include <filesystem>
#include <string>
#include <vector>

namespace omptier {

// In PATH. Throws Failure (125) that names the package to install.
std::filesystem::path find_qemu();

// CPUs, memory nodes, distances, HMAT, memory-event unit.
std::vector<std::string> machine_arguments(const Machine& machine);

std::string kernel_command_line(const std::string& additions);

// File descriptors (inherited by QEMU) and paths of one run.
struct Connections {
  int control;        // socket: frames of guest/protocol.h
  int console;        // socket: the kernel's messages
  int monitor;        // socket: QMP
  int initial_files;  // file: initial RAM file system
  int event_unit;     // file behind the memory-event unit, of EVENT_UNIT_SIZE bytes
  std::string kernel; // ELF file
  std::string command_line;
  std::string shared;   // the host folder that is mounted separately
  bool shared_writable; // else read-only
  bool one_thread;      // all CPUs in one thread of the host
  bool restore;         // wait for a snapshot instead of booting
  std::string plugin;   // "path,config=…", or empty
};

std::vector<std::string> connection_arguments(const Connections& connections);

// Doubles commas, which QEMU takes for separators of options.
std::string escape_commas(const std::string& value);

} // namespace omptier
