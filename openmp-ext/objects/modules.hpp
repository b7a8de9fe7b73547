// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The modules (program, shared libraries) of this process: which one holds an address, its identity
// in other runs, and whether its frames belong to an allocation site. dl_iterate_phdr serialises
// its callers and counts loads and unloads; the list is read again only when that count has
// changed. Entries are never removed or reused (an unloaded module is only marked), so pointers to
// them stay valid and look-ups need no lock. No malloc.
//
// A forked child could not release the loader's lock if a thread that does not exist there held it.
// So a fork first waits until no thread of ours is inside the loader's list, and none enters until
// it is over. Meanwhile the list is used as it is.
#pragma once

#include "objects/site.hpp"

#include <atomic>
#include <cstdint>

namespace omptier {

// Limit on modules in a process; later ones are treated as unknown.
inline constexpr unsigned k_max_modules = 8192;

// Length of "build-id:<hex>" or "segments:<hex>" and a zero; longer build-ids are cut.
inline constexpr std::size_t k_longest_build_id = 32; // bytes
inline constexpr std::size_t k_identity_size = sizeof "build-id:" + 2 * k_longest_build_id;

struct LoadedModule {
  std::uintptr_t bias = 0;                          // load bias: address - bias = offset
  std::uintptr_t begin = 0, end = 0;                // span of its segments
  std::uintptr_t data_begin = 0, data_end = 0;      // of the writable ones; both 0: none
  const std::uint8_t* unwind_table = nullptr;       // .eh_frame_hdr, or null
  const char* path = "";                            // as the loader opened it
  const char* name = "";                            // path without folders
  std::uint32_t number = 0;                         // index in the list; 0 = the program
  bool system = false;                              // library of the system: frames are dropped
  bool language = false;                            // of these, see is_language_name
  bool runtime = false;                             // OpenMP runtime or OMPTier: frames are dropped
  std::atomic<bool> loaded{false};                  // false after dlclose
  std::atomic<std::uint32_t> seen{0};               // last pass that visited it
  mutable std::atomic<std::uint32_t> identified{0}; // 0 no, 1 in progress, 2 identity is valid
  mutable char identity[k_identity_size] = {};

  bool is_identified() const { return identified.load(std::memory_order_acquire) == 2; }
};

// The module at the address, or null (generated code, vDSO). Follows the loader. Thread-safe.
const LoadedModule* module_of(std::uintptr_t address);

// Uses the list as last read: no lock, no system call, but misses later libraries.
const LoadedModule* known_module_of(std::uintptr_t address);

// All modules ever seen: numbers 0 … module_count() - 1. refresh_modules reads the loader's list.
unsigned module_count();
const LoadedModule& module_at(unsigned number);
void refresh_modules();

// Grows whenever the list changes: tables keyed by run-time addresses are then stale.
std::uint32_t module_generation();

// The module's identity. For a module without build-id, the first call hashes the executable
// segments (1 ms per few MB). Thread-safe, valid for the life of the process.
const char* identity_of(const LoadedModule& module);

// Held while a thread may be inside the loader's list; false while a fork is under way.
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
// For a thread that holds a ModuleListUse.
const char* identity_of(const LoadedModule& module, const ModuleListUse& use);

// Called by the forking thread before the fork, and after it in either process. Waits for threads
// inside the list for at most a second, since one may be stuck in a lock that the program holds.
void close_modules_for_fork();
void open_modules_after_fork(bool in_child);

// False when no module holds the address.
bool identify(ReturnAddress address, const LoadedModule*& module, std::uint64_t& offset);

// Hash of "segments:" and of profiles' checksums, against accidents only. seed: 0, or hash so far.
std::uint64_t hash_bytes(std::uint64_t seed, const void* bytes, std::size_t count);

// Write texts of k_identity_size: from a build-id, and from the hash of the executable segments.
void write_build_id(char* identity, const void* bytes, std::size_t count);
void write_segments_id(char* identity, std::uint64_t hash);

// System libraries (their frames are dropped); OpenMP runtimes and ours. Never the program.
bool is_system_path(const char* path);
bool is_runtime_name(const char* name);
// Libraries that the OpenMP runtime and OMPTier work with: hwloc, libnuma, memkind.
bool is_support_name(const char* name);
// Libraries of a language's implementation: the C library, those of C++ and Fortran.
bool is_language_name(const char* name);

} // namespace omptier
