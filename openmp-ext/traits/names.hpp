// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Numbers and names of memory spaces, allocators, trait keys and trait values: OpenMP's own (libomp
// 19 to 22; what 20 renumbered has both numbers) and ours (include/ompx_memory.h). For validation,
// the parser of OMP_ALLOCATOR, and tools that print C source.
#pragma once

#include "base/kind.hpp"

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

namespace omptier {

// A trait value or a handle as OpenMP passes it (omp_uintptr_t).
using OmpValue = std::uintptr_t;
inline constexpr OmpValue k_default_value = ~OmpValue{0}; // omp_atv_default
inline constexpr OmpValue k_null_allocator = 0;

// Memory spaces. Standard numbers are libomp's.
enum class Space : std::uint16_t {
  standard_default = 0,
  large_cap = 1,
  constant = 2,
  high_bw = 3,
  low_lat = 4,
  automatic = 500, // ompx_auto
  dram = 501,
  hbm = 502,
  nvm = 503,
  cxl = 504,
};

inline constexpr OmpValue k_newer_default_space = 99;

std::optional<Space> space_of_number(OmpValue number);
// Space of a predefined allocator that we serve; nothing for libomp's own (default, cgroup, …).
std::optional<Space> space_of_predefined(OmpValue allocator);
bool is_extended(Space space);                        // 500 and above
// Nothing for other spaces.
constexpr std::optional<MemoryKind> kind_of(Space space) {
  const auto first = static_cast<unsigned>(Space::dram), number = static_cast<unsigned>(space);
  if (number < first) return {};
  return static_cast<MemoryKind>(number - first);
}
std::string_view space_name(Space space);             // "ompx_hbm_mem_space"
std::string_view predefined_name(OmpValue allocator); // "ompx_hbm_mem_alloc", "" when unknown

enum class TraitKey : std::uint16_t {
  sync_hint = 1,
  alignment,
  access,
  pool_size,
  fallback,
  fb_data,
  pinned,
  partition,
  pin_device, // this and the next five: from LLVM 20 on
  preferred_device,
  device_access,
  target_access,
  atomic_scope,
  part_size,
  access_pattern = 5000,
  access_stride,
  access_mode,
  access_frequency,
  access_origin,
  importance,
  sensitivity,
  placement,
  lifetime,
  group,
  label,
  migratable,
};
inline constexpr unsigned k_first_extended_key = 5000;
inline constexpr unsigned k_extended_keys = 12;

enum class ValueForm : std::uint8_t {
  names,     // one of a list
  boolean,   // omp_atv_true or omp_atv_false
  size,      // bytes, text form with K/M/G/T
  number,    // plain number
  allocator, // an allocator handle
  text,      // an interned name
};

struct ValueName {
  OmpValue number;
  std::string_view name; // short: "random", as OMP_ALLOCATOR spells it
};

struct KeyInfo {
  TraitKey key;
  std::string_view name; // short: "access_pattern", as OMP_ALLOCATOR spells it
  ValueForm form;
  std::span<const ValueName> values; // for ValueForm::names
  OmpValue least, most;              // for size and number, both included
  std::string_view expected;         // for messages: which values are accepted
};

std::span<const KeyInfo> all_keys();
const KeyInfo* find_key(int number);
const KeyInfo* find_key(std::string_view name); // case-insensitive

inline bool is_extended(TraitKey key) {
  return static_cast<unsigned>(key) >= k_first_extended_key;
}

// Values by name, for code that compares them.
namespace value {
inline constexpr OmpValue no = 0, yes = 1; // omp_atv_false, omp_atv_true
inline constexpr OmpValue all = 7, thread = 8, pteam = 9, cgroup = 10;
// From LLVM 20 on all is 19, and 7 is device. On the host all of these mean every thread.
inline constexpr OmpValue newer_all = 19, memspace = 22;
constexpr bool is_everybody(OmpValue access) {
  return access == all || access == newer_all || access == memspace;
}
inline constexpr OmpValue default_mem_fb = 11, null_fb = 12, abort_fb = 13, allocator_fb = 14;
inline constexpr OmpValue environment = 15, nearest = 16, blocked = 17, interleaved = 18;
inline constexpr OmpValue sequential = 5100, strided = 5101, tiled = 5102;
inline constexpr OmpValue random = 5103, pointer_chase = 5104;
inline constexpr OmpValue read_only = 5140, read_mostly = 5141, read_write = 5142;
inline constexpr OmpValue write_mostly = 5143, write_only = 5144;
inline constexpr OmpValue latency = 5220, bandwidth = 5221, both = 5222, none = 5223;
inline constexpr OmpValue required = 5240, preferred = 5241;
} // namespace value

} // namespace omptier
