// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The statics of one ELF file: from its symbol table (or that of its debug file), with the names
// that debug information gives them. Addresses are the file's own.
#pragma once

#include "analysis/areas.hpp"

#include <cstdint>
#include <elfutils/libdwfl.h>
#include <map>
#include <string>
#include <vector>

namespace omptier {

// A static's name in the source: "grid", "fields::rho", "/fields/" for a Fortran COMMON block.
struct SourceVariable {
  std::string name;
  std::string file; // without folders; "" when unknown
  std::uint32_t line = 0;
};

// From least bytes on, in any order. bias: from dwfl_module_getelf.
std::vector<StaticVariable> variables_in(Dwfl_Module* module, std::uint64_t bias,
                                         std::uint64_t least);

// Without debug information: "work.0" -> "work", "__fields_MOD_rho" -> "fields::rho".
std::string plain_name(const std::string& symbol);

// Variables of the debug information with a place in memory, by address. Read at first use.
class VariableNames {
public:
  explicit VariableNames(Dwfl_Module* module) : module_(module) {}
  SourceVariable at(std::uint64_t address, const std::string& symbol, std::uint64_t bias);

private:
  void read();
  void add_children(Dwarf_Die* parent, std::uint64_t bias);
  void add(Dwarf_Die* die, bool common, std::uint64_t bias);

  Dwfl_Module* module_;
  bool read_ = false;
  std::map<std::string, SourceVariable> common_blocks_; // by the linker's name
  std::map<std::uint64_t, SourceVariable> by_address_;  // of the session, as libdwfl counts
};

} // namespace omptier
