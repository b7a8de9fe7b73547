// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// See variables.hpp.
#include "symbols/variables.hpp"

#include "symbols/functions.hpp"

#include <cctype>
#include <dwarf.h>
#include <elfutils/libdw.h>
#include <filesystem>
#include <optional>

namespace omptier {
namespace {

bool is_static(const GElf_Sym& symbol) {
  const auto type = GELF_ST_TYPE(symbol.st_info);
  return (type == STT_OBJECT || type == STT_COMMON) && symbol.st_shndx != SHN_UNDEF;
}

// Nothing if the place is not constant.
std::optional<std::uint64_t> address_of(Dwarf_Die* die) {
  Dwarf_Attribute attribute;
  Dwarf_Op* operations = nullptr;
  std::size_t count = 0;
  if (dwarf_attr(die, DW_AT_location, &attribute) == nullptr ||
      dwarf_getlocation(&attribute, &operations, &count) != 0 || count != 1)
    return std::nullopt;
  if (operations[0].atom == DW_OP_addr) return operations[0].number;
  Dwarf_Attribute indexed; // DW_OP_addrx: what clang writes
  Dwarf_Addr address = 0;
  if (dwarf_getlocation_attr(&attribute, operations, &indexed) == 0 &&
      dwarf_formaddr(&indexed, &address) == 0)
    return address;
  return std::nullopt;
}

} // namespace

std::vector<StaticVariable> variables_in(Dwfl_Module* module, std::uint64_t bias,
                                         std::uint64_t least) {
  std::vector<StaticVariable> variables;
  for_each_symbol(module, [&](const char* name, const GElf_Sym& symbol, GElf_Addr address) {
    if (is_static(symbol) && symbol.st_size >= least)
      variables.push_back({name, address - bias, symbol.st_size});
  });
  return variables;
}

std::string plain_name(const std::string& symbol) {
  const std::string linked = symbol.substr(0, symbol.find('@'));
  std::string name = demangle(linked);
  if (const auto dot = name.find('.'); name == linked && dot != std::string::npos && dot > 0)
    name.resize(dot);
  return name;
}

// clang's and flang's units have no children of their own that libdw would skip; skeletons of split
// debug information have none at all.
void VariableNames::read() {
  read_ = true;
  Dwarf_Addr bias = 0;
  for (Dwarf_Die* unit = nullptr; (unit = dwfl_module_nextcu(module_, unit, &bias)) != nullptr;)
    add_children(unit, bias);
}

void VariableNames::add_children(Dwarf_Die* parent, std::uint64_t bias) {
  Dwarf_Die child;
  if (dwarf_child(parent, &child) != 0) return;
  do
    switch (dwarf_tag(&child)) {
    case DW_TAG_variable:
      add(&child, false, bias);
      break;
    case DW_TAG_common_block:
      add(&child, true, bias);
      break;
    case DW_TAG_namespace:
    case DW_TAG_module:
    case DW_TAG_subprogram:
    case DW_TAG_lexical_block:
      add_children(&child, bias);
      break;
    default:
      break;
    }
  while (dwarf_siblingof(&child, &child) == 0);
}

void VariableNames::add(Dwarf_Die* die, bool common, std::uint64_t bias) {
  Dwarf_Attribute attribute;
  const auto text = [&](unsigned what) {
    return dwarf_formstring(dwarf_attr_integrate(die, what, &attribute));
  };
  const auto address = common ? std::nullopt : address_of(die);
  const char* name = text(DW_AT_name);
  const char* symbol = common ? text(DW_AT_linkage_name) : nullptr; // gfortran gives no place
  if (name == nullptr || (!address && symbol == nullptr)) return;
  SourceVariable found;
  found.name = common ? "/" + std::string(name) + "/" : name;
  Dwarf_Die unit;
  const char* file = dwarf_decl_file(die);
  // DWARF 5's file 0 is the unit's own; libdw treats it as none, which it is in DWARF 4.
  if (file == nullptr && dwarf_diecu(die, &unit, nullptr, nullptr) != nullptr)
    file = dwarf_diename(&unit);
  if (file != nullptr) found.file = std::filesystem::path(file).filename().string();
  int line = 0;
  if (dwarf_decl_line(die, &line) == 0 && line > 0) found.line = static_cast<std::uint32_t>(line);
  if (address)
    by_address_.try_emplace(*address + bias, std::move(found));
  else
    common_blocks_.try_emplace(symbol, std::move(found));
}

SourceVariable VariableNames::at(std::uint64_t address, const std::string& symbol,
                                 std::uint64_t bias) {
  if (!read_) read();
  if (const auto block = common_blocks_.find(symbol); block != common_blocks_.end())
    return block->second;
  const auto found = by_address_.find(address + bias);
  if (found == by_address_.end()) return {plain_name(symbol), "", 0};
  SourceVariable variable = found->second;
  // Only the linker's name has the scopes.
  if (symbol.rfind("_Z", 0) == 0 || symbol.find("_MOD_") != std::string::npos)
    variable.name = plain_name(symbol);
  return variable;
}

} // namespace omptier
