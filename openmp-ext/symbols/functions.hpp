// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The functions of one ELF file by address and by name, and the calls each makes with the name of
// the callee. Names are those common to source and other builds: demangled, and without suffixes
// that compilers append to parts and copies of a function. Addresses are the file's own (a frame's
// offset).
#pragma once

#include "symbols/elf_calls.hpp"

#include <cstdint>
#include <elfutils/libdwfl.h>
#include <map>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

namespace omptier {

struct NamedFunction {
  std::string name; // shared by its parts and copies: "make(int)"
  std::string part; // this one: "make(int) [clone .cold]"; mostly the same
  std::uint64_t begin = 0, bytes = 0;
};

struct NamedCall {
  std::uint64_t behind = 0; // return address
  std::string callee;       // "" when indirect, or without a symbol
  std::uint64_t target = 0; // address of a function in this file; 0 = elsewhere or unknown
  std::uint64_t runs = 0;   // of a parallel region: the function in this file that it runs
};

// A name that is not mangled is returned unchanged.
std::string demangle(const std::string& name);

// "make.part.0.cold" -> "make"; also without a symbol version.
std::string without_suffixes(std::string name);

// use(name, symbol, address)
template <typename Use> void for_each_symbol(Dwfl_Module* module, Use&& use) {
  const int count = dwfl_module_getsymtab(module);
  for (int i = 0; i < count; ++i) {
    GElf_Sym symbol;
    GElf_Addr address = 0;
    const char* name =
        dwfl_module_getsym_info(module, i, &symbol, &address, nullptr, nullptr, nullptr);
    if (name != nullptr) use(name, symbol, address);
  }
}

class Functions {
public:
  // The caller keeps the module. bias: from dwfl_module_getelf.
  Functions(Dwfl_Module* module, Elf* elf, std::uint64_t bias);

  std::optional<NamedFunction> at(std::uint64_t address);

  // Every part and copy of the functions with that name, or the one part with exactly that name.
  std::vector<NamedFunction> named(const std::string& name);

  const std::vector<NamedCall>& calls_of(const NamedFunction& function);

private:
  std::string callee_of(const Call& call, std::uint64_t& target);
  std::string name_at(std::uint64_t address);
  void read_starts();
  std::vector<std::uint8_t> code(std::uint64_t begin, std::uint64_t bytes) const;
  void read_names();
  void read_slots();

  Dwfl_Module* module_;
  Elf* elf_;
  std::uint64_t bias_;
  // A symbol by its first address, because libdw searches all symbols for every question.
  struct Start {
    std::uint64_t begin = 0, bytes = 0; // 0: libdw is to be asked
    const char* name = nullptr;
  };
  std::vector<Start> starts_; // in order, one an address
  bool starts_read_ = false, names_read_ = false, slots_read_ = false;
  std::unordered_multimap<std::string, NamedFunction> by_name_;
  std::unordered_map<std::uint64_t, std::optional<NamedFunction>> asked_; // of libdw
  // What the loader puts into a slot, by the slot's address: a symbol, or an address of this file.
  std::unordered_map<std::uint64_t, std::string> slots_;
  std::unordered_map<std::uint64_t, std::uint64_t> own_slots_;
  std::map<std::uint64_t, std::vector<NamedCall>> calls_; // by the function's begin
};

} // namespace omptier
