// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Allocation sites: where in a program an allocation is made, by its call stack. A frame is
// identified exactly (module identity + offset) and portably (the function, the callee, and which
// of the calls of that callee). Modules are identified by build-id, else by a hash of their
// executable segments, so that a site is recognised in another run in spite of ASLR.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace omptier {

inline constexpr unsigned k_max_frames = 32;

using ReturnAddress = std::uintptr_t;

struct Frame {
  std::uint32_t module = 0; // index into the module table of the profile or plan
  std::uint64_t offset = 0; // return address - load bias of the module
};

struct ModuleInfo {
  std::string identity;   // "build-id:<hex>" or "segments:<hex>"
  std::string name;       // file name without folders, for people
  std::string path;       // where it was loaded from: for debug information; never in a plan
  std::uint64_t bias = 0; // load bias in the process that was recorded
  bool system = false;    // system library: its frames are dropped from sites
};

// Identifies a frame for people and other builds. Calls are counted per callee, so that a call
// added elsewhere in the function does not renumber the others. Names are demangled, without
// compilers' suffixes for parts and copies of a function (".cold", ".part.0").
struct PortableFrame {
  std::string function;      // "" when unknown
  std::string callee;        // function that is called; "" when indirect
  std::uint32_t ordinal = 0; // which of the function's calls of that callee, from 0
  std::uint32_t calls = 0;   // how many of them the function has; 0 = unknown
  std::string variable;      // variable that gets the call's result; "" when unknown
  std::string file;          // hint only
  std::uint32_t line = 0;    // hint only
};

} // namespace omptier
