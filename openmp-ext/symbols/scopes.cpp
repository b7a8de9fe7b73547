// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// See scopes.hpp. The functions of a unit are listed once, wherever they are defined; within a
// function only scopes that contain the address are entered.
#include "symbols/scopes.hpp"

#include <algorithm>
#include <dwarf.h>

namespace omptier {
namespace {

constexpr unsigned k_deepest = 64; // namespaces, classes, blocks within each other

bool holds_functions(int tag) {
  return tag == DW_TAG_namespace || tag == DW_TAG_module || tag == DW_TAG_class_type ||
         tag == DW_TAG_structure_type || tag == DW_TAG_union_type || tag == DW_TAG_subprogram ||
         tag == DW_TAG_lexical_block;
}

bool is_part_of_function(int tag) {
  return tag == DW_TAG_inlined_subroutine || tag == DW_TAG_lexical_block ||
         tag == DW_TAG_try_block || tag == DW_TAG_catch_block || tag == DW_TAG_with_stmt;
}

} // namespace

void Scopes::add_functions(Dwarf_Die* parent, std::vector<Function>& functions, unsigned depth) {
  Dwarf_Die child;
  if (depth == k_deepest || dwarf_child(parent, &child) != 0) return;
  do {
    const int tag = dwarf_tag(&child);
    if (!holds_functions(tag)) continue;
    if (tag == DW_TAG_subprogram) {
      Dwarf_Addr base = 0, begin = 0, end = 0;
      for (std::ptrdiff_t at = 0; (at = dwarf_ranges(&child, at, &base, &begin, &end)) > 0;)
        if (begin != 0) functions.push_back({begin, end, child}); // 0: the linker left it out
    }
    add_functions(&child, functions, depth + 1);
  } while (dwarf_siblingof(&child, &child) == 0);
}

std::vector<Dwarf_Die> Scopes::at(Dwarf_Die* unit, Dwarf_Addr address) {
  const auto [listed, fresh] = units_.try_emplace(dwarf_dieoffset(unit));
  std::vector<Function>& functions = listed->second;
  if (fresh) {
    add_functions(unit, functions, 0);
    std::ranges::sort(functions, {}, &Function::begin);
  }
  const auto behind = std::ranges::upper_bound(functions, address, {}, &Function::begin);
  if (behind == functions.begin() || std::prev(behind)->end <= address) return {};

  std::vector<Dwarf_Die> scopes = {std::prev(behind)->die};
  Dwarf_Die child;
  bool more = true;
  while (more && scopes.size() < k_deepest) {
    more = false;
    if (dwarf_child(&scopes.back(), &child) != 0) break;
    do
      more = is_part_of_function(dwarf_tag(&child)) && dwarf_haspc(&child, address) == 1;
    while (!more && dwarf_siblingof(&child, &child) == 0);
    if (more) scopes.push_back(child);
  }
  std::ranges::reverse(scopes);
  return scopes;
}

} // namespace omptier
