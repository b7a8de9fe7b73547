// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A plan made for one build, for another build of the same program: frames whose module has another
// identity now are found again by function name and ordinal of the call. Done before the program
// starts (`omptier run`), so that the program itself needs neither symbol tables nor a decoder:
// what the runtime gets matches exactly, or not at all.
#pragma once

#include "plan/plan.hpp"
#include "profile/symbols.hpp"

#include <span>
#include <string>
#include <vector>

namespace omptier {

struct Rebinding {
  unsigned exact = 0;                 // entries whose modules are the same build
  unsigned portable = 0;              // entries found again by names
  std::vector<std::string> unmatched; // labels of the others: they will place nothing

  bool same_build() const { return portable == 0 && unmatched.empty(); }
};

// Rewrites the entries of plan for the modules that the program has now. Modules are paired by file
// name; an entry is taken only when every frame of its site and region is found and unique.
Rebinding rebind_plan(Plan& plan, std::span<const ModuleInfo> present, Symbols& symbols);

// The program and the libraries that the loader would give it, with their identities; empty when it
// is no program of this machine. library_path: put in front of LD_LIBRARY_PATH, may be "".
std::vector<ModuleInfo> modules_of_program(const std::string& path,
                                           const std::string& library_path);

} // namespace omptier
