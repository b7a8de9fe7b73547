// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Finds a static: a global or file-local array, a Fortran COMMON block or module variable, by its
// linker name ("grid", "work.0", "blk_", "__fields_MOD_rho"). Read from the symbol table of the
// module's file, or of its debug file as Debian installs it.
#pragma once

#include "objects/modules.hpp"

namespace omptier {

struct StaticObject {
  std::uintptr_t begin = 0;
  std::size_t bytes = 0;
  bool in_file = false; // .data: its pages are the file's until written; else .bss
};

enum class StaticSearch : std::uint8_t {
  found,
  unknown,    // no static of that name
  several,    // several of that name, at different places
  no_symbols, // the file cannot be read, or holds no symbol table
};

// Maps the file during the search; no malloc. Thread-safe.
StaticSearch find_static(const LoadedModule& module, const char* symbol, StaticObject& found);

struct NamedStatic {
  const char* symbol;
  std::uint64_t bytes;
};
// Calls visit(argument, static) for each static of at least least_bytes in a program file or
// library, in the file's order; false when the file has no symbol table.
bool list_statics(const char* path, std::uint64_t least_bytes,
                  void (*visit)(void* argument, const NamedStatic& named), void* argument);

} // namespace omptier
