// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What `omptier check` needs to know of an executable or library, read from its ELF file.
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
  bool same_machine = false; // of the architecture and width of this process
  bool executable = false;   // a program (else a library)
  bool dynamic = false;      // has a dynamic section
  bool interpreter = false;  // is started through ld.so
  std::vector<std::string> needed;
  std::string rpath; // DT_RPATH, honoured before LD_LIBRARY_PATH; "" when DT_RUNPATH is there too
  std::vector<NeededVersion> needed_versions;
  std::set<std::string> defined_versions;
  std::set<std::string> undefined_symbols; // dynamic, not weak
  std::set<std::string> defined_symbols;   // dynamic
  std::set<std::string> own_symbols;       // defined in the full symbol table, where there is one
  std::string build_id;                    // hexadecimal, "" = none
  bool debug_lines = false;                // .debug_line is in the file
};

// Fails with one line for what is no ELF file.
Parsed<ElfFacts> read_elf(const std::string& path);

} // namespace omptier
