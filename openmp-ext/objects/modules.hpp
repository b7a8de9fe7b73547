// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The modules (program, shared libraries) of this process: which one an address lies in, by what
// identity the module is known in other runs, and whether its frames belong to an allocation site.
//
// The list is read with dl_iterate_phdr, which serialises its callers and counts what was loaded
// and unloaded, so the list is read again only when that count has changed. Entries are never
// removed or reused (an unloaded module is only marked), so a pointer to one stays good for the
// life of the process and look-ups need no lock. Nothing here calls malloc.
//
// The loader's lock is nobody's to release in a forked child: so whoever may hold it for us is let
// out before a fork, and nobody in until it is over. Meanwhile the list is used as it is.
#pragma once

#include "objects/site.hpp"

#include <atomic>
#include <cstdint>

namespace omptier {

// Those of a process that are known: what more it loads is in no module.
inline constexpr unsigned k_max_modules = 8192;

// "build-id:<hex>" or "segments:<hex>" and a zero; longer build-ids are cut.
inline constexpr std::size_t k_longest_build_id = 32; // bytes
inline constexpr std::size_t k_identity_size = sizeof "build-id:" + 2 * k_longest_build_id;

struct LoadedModule {
  std::uintptr_t bias = 0;                          // load bias: address - bias = offset
  std::uintptr_t begin = 0, end = 0;                // span of its segments
  std::uintptr_t data_begin = 0, data_end = 0;      // of those that can be written; both 0: none
  const std::uint8_t* unwind_table = nullptr;       // .eh_frame_hdr, or null
  const char* path = "";                            // as the loader opened it
  const char* name = "";                            // path without folders
  std::uint32_t number = 0;                         // place in the list, from 0 = the program
  bool system = false;                              // library of the system: frames are dropped
  bool language = false;                            // of these, the C library and its like
  bool runtime = false;                             // OpenMP runtime or OMPTier: frames are dropped
  std::atomic<bool> loaded{false};                  // false after dlclose
  std::atomic<std::uint32_t> seen{0};               // pass that saw it last
  mutable std::atomic<std::uint32_t> identified{0}; // 0 no, 1 being made, 2 identity is valid
  mutable char identity[k_identity_size] = {};

  bool is_identified() const { return identified.load(std::memory_order_acquire) == 2; }
};

// The module that holds the address now, or null (generated code, the kernel's page). Reads the
// list again when the loader has changed it since. Thread-safe.
const LoadedModule* module_of(std::uintptr_t address);

// The same, from what is known: a library loaded since is not found. No lock, no system call.
const LoadedModule* known_module_of(std::uintptr_t address);

// All modules ever seen: numbers 0 … module_count() - 1. refresh_modules reads the loader's list.
unsigned module_count();
const LoadedModule& module_at(unsigned number);
void refresh_modules();

// Grows whenever the list has changed: tables keyed by run-time addresses are stale then.
std::uint32_t module_generation();

// The module's identity; the hash of the executable segments is made at the first call for a module
// without build-id (1 ms per few MB). Thread-safe, valid for the life of the process.
const char* identity_of(const LoadedModule& module);

// Held by a thread that may be inside the loader's list; false while a fork is under way.
class ModuleListUse {
public:
  ModuleListUse();
  ~ModuleListUse();
  ModuleListUse(const ModuleListUse&) = delete;
  ModuleListUse& operator=(const ModuleListUse&) = delete;
  explicit operator bool() const { return entered_; }

private:
  bool entered_;
};
// identity_of for a thread that holds one.
const char* identity_of(const LoadedModule& module, const ModuleListUse& use);

// In the forking thread: before, and after in either process. Waits for whoever is inside, a second
// at most: a thread may be stuck in a lock that the program holds.
void close_modules_for_fork();
void open_modules_after_fork(bool in_child);

// A return address as (module identity, offset); false when no module holds it.
bool identify(ReturnAddress address, const LoadedModule*& module, std::uint64_t& offset);

// The hash behind "segments:" and a profile's checksums: against accidents, not attackers. seed: 0,
// or the hash so far.
std::uint64_t hash_bytes(std::uint64_t seed, const void* bytes, std::size_t count);

// Texts of k_identity_size: from a build-id, and from the hash of the executable segments.
void write_build_id(char* identity, const void* bytes, std::size_t count);
void write_segments_id(char* identity, std::uint64_t hash);

// By its path: is it the system's (its frames are dropped), is it an OpenMP runtime or ours? The
// program itself is neither.
bool is_system_path(const char* path);
bool is_runtime_name(const char* name);
// What programs are written in, not with: the C library, those of C++ and Fortran.
bool is_language_name(const char* name);

} // namespace omptier
