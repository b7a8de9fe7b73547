// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Facts about an executable or library that `omptier check` needs, read from its ELF file.
#pragma once

#include "base/text.hpp"

#include <set>
#include <string>
#include <vector>

namespace omptier {

struct NeededVersion {
  std::string library; // "libgomp.so.1"
  std::string version; // "OMP_5.0.1"
};

struct ElfFacts {
  bool same_machine = false; // architecture and width are this process's
  bool executable = false;   // else a library
  bool dynamic = false;      // has a dynamic section
  bool interpreter = false;  // started through ld.so
  std::vector<std::string> needed;
  std::string rpath;   // DT_RPATH, searched before LD_LIBRARY_PATH; "" if DT_RUNPATH is set too
  std::string runpath; // DT_RUNPATH, searched after it
  std::vector<NeededVersion> needed_versions;
  std::set<std::string> defined_versions;
  std::set<std::string> undefined_symbols; // dynamic, not weak
  std::set<std::string> defined_symbols;   // dynamic
  std::set<std::string> own_symbols;       // defined in .symtab, if present
  std::string build_id;                    // hexadecimal, "" = none
  bool debug_lines = false;                // the file has .debug_line
};

bool is_allocator_symbol(const std::string& name);

// A file that is no ELF file fails with one line.
Parsed<ElfFacts> read_elf(const std::string& path);

} // namespace omptier
