// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Which function an address belongs to, and which calls were inlined there, by debug information.
// libdw's own search (0.188) misses what is defined inside a namespace, where clang puts instances
// of templates, and walks the whole unit for every question. Not thread-safe.
#pragma once

#include <elfutils/libdw.h>

#include <map>
#include <vector>

namespace omptier {

class Scopes {
public:
  // Innermost first: inlined calls and blocks, then the function. Empty: none is known. unit: the
  // compilation unit that contains the address; both must stay open.
  std::vector<Dwarf_Die> at(Dwarf_Die* unit, Dwarf_Addr address);

private:
  struct Function {
    Dwarf_Addr begin, end;
    Dwarf_Die die;
  };
  static void add_functions(Dwarf_Die* parent, std::vector<Function>& functions, unsigned depth);

  std::map<Dwarf_Off, std::vector<Function>> units_; // by the unit's place; ascending by begin
};

} // namespace omptier
