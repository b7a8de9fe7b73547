// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The tables behind names.hpp, one row per key. The order of the extended keys' rows fixes their
// numbers; static assertions after the tables check it.
#include "traits/names.hpp"

#include "base/text.hpp"

#include <array>
#include <cstddef>

namespace omptier {
namespace {

constexpr ValueName k_sync_hints[] = {
    {3, "contended"}, {4, "uncontended"}, {5, "serialized"}, {5, "sequential"}, {6, "private"}};
constexpr ValueName k_accesses[] = {{value::all, "all"},       {value::newer_all, "all"},
                                    {value::all, "device"},    {value::memspace, "memspace"},
                                    {value::thread, "thread"}, {value::pteam, "pteam"},
                                    {value::cgroup, "cgroup"}};
constexpr ValueName k_device_accesses[] = {{20, "single"}, {21, "multiple"}};
constexpr ValueName k_scopes[] = {{value::newer_all, "all"}, {value::all, "device"}};
constexpr ValueName k_fallbacks[] = {{value::default_mem_fb, "default_mem_fb"},
                                     {value::null_fb, "null_fb"},
                                     {value::abort_fb, "abort_fb"},
                                     {value::allocator_fb, "allocator_fb"}};
constexpr ValueName k_partitions[] = {{value::environment, "environment"},
                                      {value::nearest, "nearest"},
                                      {value::blocked, "blocked"},
                                      {value::interleaved, "interleaved"}};

// Values of the k-th extended key begin at 5100 + 20 k.
constexpr OmpValue first_value(TraitKey key) {
  return 5100 + 20 * (static_cast<OmpValue>(key) - k_first_extended_key);
}
template <std::size_t N>
constexpr std::array<ValueName, N> numbered(TraitKey key, const std::string_view (&names)[N]) {
  std::array<ValueName, N> values{};
  for (std::size_t i = 0; i < N; ++i)
    values[i] = {first_value(key) + i, names[i]};
  return values;
}

constexpr auto k_patterns = numbered(TraitKey::access_pattern,
                                     {"sequential", "strided", "tiled", "random", "pointer_chase"});
constexpr auto k_modes = numbered(TraitKey::access_mode, {"read_only", "read_mostly", "read_write",
                                                          "write_mostly", "write_only"});
constexpr auto k_origins = numbered(TraitKey::access_origin, {"single_thread", "multiple_threads"});
constexpr auto k_sensitivities =
    numbered(TraitKey::sensitivity, {"latency", "bandwidth", "both", "none"});
constexpr auto k_placements = numbered(TraitKey::placement, {"required", "preferred"});
constexpr auto k_lifetimes = numbered(TraitKey::lifetime, {"program", "phase", "temporary"});

static_assert(k_patterns[0].number == value::sequential && k_patterns[1].number == value::strided);
static_assert(k_patterns[2].number == value::tiled && k_patterns[3].number == value::random);
static_assert(k_patterns[4].number == value::pointer_chase);
static_assert(k_modes[0].number == value::read_only && k_modes[1].number == value::read_mostly);
static_assert(k_modes[3].number == value::write_mostly && k_modes[4].number == value::write_only);
static_assert(k_sensitivities[0].number == value::latency);
static_assert(k_sensitivities[1].number == value::bandwidth);
static_assert(k_sensitivities[2].number == value::both && k_sensitivities[3].number == value::none);
static_assert(k_placements[0].number == value::required);
static_assert(k_placements[1].number == value::preferred);

constexpr OmpValue k_most = k_default_value - 1;

constexpr KeyInfo named(TraitKey key, std::string_view name, std::span<const ValueName> values,
                        std::string_view expected) {
  return {key, name, ValueForm::names, values, 0, 0, expected};
}
constexpr KeyInfo ranged(TraitKey key, std::string_view name, ValueForm form, OmpValue least,
                         OmpValue most, std::string_view expected) {
  return {key, name, form, {}, least, most, expected};
}

constexpr KeyInfo k_keys[] = {
    named(TraitKey::sync_hint, "sync_hint", k_sync_hints,
          "contended, uncontended, serialized or private"),
    ranged(TraitKey::alignment, "alignment", ValueForm::size, 1, OmpValue{1} << 40,
           "a power of two"),
    named(TraitKey::access, "access", k_accesses, "all, cgroup, pteam or thread"),
    ranged(TraitKey::pool_size, "pool_size", ValueForm::size, 1, k_most, "1 or more bytes"),
    named(TraitKey::fallback, "fallback", k_fallbacks,
          "default_mem_fb, null_fb, abort_fb or allocator_fb"),
    ranged(TraitKey::fb_data, "fb_data", ValueForm::allocator, 1, k_most, "an allocator"),
    ranged(TraitKey::pinned, "pinned", ValueForm::boolean, 0, 1, "true or false"),
    named(TraitKey::partition, "partition", k_partitions,
          "environment, nearest, blocked or interleaved"),
    ranged(TraitKey::pin_device, "pin_device", ValueForm::number, 0, k_most, "a device"),
    ranged(TraitKey::preferred_device, "preferred_device", ValueForm::number, 0, k_most,
           "a device"),
    named(TraitKey::device_access, "device_access", k_device_accesses, "single or multiple"),
    named(TraitKey::target_access, "target_access", k_device_accesses, "single or multiple"),
    named(TraitKey::atomic_scope, "atomic_scope", k_scopes, "all or device"),
    ranged(TraitKey::part_size, "part_size", ValueForm::size, 1, k_most, "1 or more bytes"),
    named(TraitKey::access_pattern, "access_pattern", k_patterns,
          "sequential, strided, tiled, random or pointer_chase"),
    ranged(TraitKey::access_stride, "access_stride", ValueForm::size, 1, OmpValue{1} << 40,
           "1 or more bytes"),
    named(TraitKey::access_mode, "access_mode", k_modes,
          "read_only, read_mostly, read_write, write_mostly or write_only"),
    ranged(TraitKey::access_frequency, "access_frequency", ValueForm::number, 0, OmpValue{1} << 62,
           "accesses per second"),
    named(TraitKey::access_origin, "access_origin", k_origins, "single_thread or multiple_threads"),
    ranged(TraitKey::importance, "importance", ValueForm::number, 0, 1000, "0 to 1000 per mille"),
    named(TraitKey::sensitivity, "sensitivity", k_sensitivities,
          "latency, bandwidth, both or none"),
    named(TraitKey::placement, "placement", k_placements, "required or preferred"),
    named(TraitKey::lifetime, "lifetime", k_lifetimes, "program, phase or temporary"),
    ranged(TraitKey::group, "group", ValueForm::text, 0, 0, "a name made by ompx_name"),
    ranged(TraitKey::label, "label", ValueForm::text, 0, 0, "a name made by ompx_name"),
    ranged(TraitKey::migratable, "migratable", ValueForm::boolean, 0, 1, "true or false"),
};
static_assert(static_cast<unsigned>(TraitKey::migratable) == 5011);
static_assert(std::size(k_keys) == 14 + k_extended_keys);

struct SpaceNames {
  Space space;
  OmpValue allocator;
  std::string_view space_name, allocator_name;
};
constexpr SpaceNames k_spaces[] = {
    {Space::standard_default, 1, "omp_default_mem_space", "omp_default_mem_alloc"},
    {Space::large_cap, 2, "omp_large_cap_mem_space", "omp_large_cap_mem_alloc"},
    {Space::constant, 3, "omp_const_mem_space", "omp_const_mem_alloc"},
    {Space::high_bw, 4, "omp_high_bw_mem_space", "omp_high_bw_mem_alloc"},
    {Space::low_lat, 5, "omp_low_lat_mem_space", "omp_low_lat_mem_alloc"},
    {Space::standard_default, 6, "omp_default_mem_space", "omp_cgroup_mem_alloc"},
    {Space::standard_default, 7, "omp_default_mem_space", "omp_pteam_mem_alloc"},
    {Space::standard_default, 8, "omp_default_mem_space", "omp_thread_mem_alloc"},
    {Space::automatic, 500, "ompx_auto_mem_space", "ompx_auto_mem_alloc"},
    {Space::dram, 501, "ompx_dram_mem_space", "ompx_dram_mem_alloc"},
    {Space::hbm, 502, "ompx_hbm_mem_space", "ompx_hbm_mem_alloc"},
    {Space::nvm, 503, "ompx_nvm_mem_space", "ompx_nvm_mem_alloc"},
    {Space::cxl, 504, "ompx_cxl_mem_space", "ompx_cxl_mem_alloc"},
};

const SpaceNames* row_of(Space space) {
  for (const SpaceNames& row : k_spaces)
    if (row.space == space) return &row;
  return nullptr;
}

} // namespace

std::optional<Space> space_of_number(OmpValue number) {
  // From LLVM 20 on the default space is 99; 0 is the null space, used like the default.
  if (number == k_newer_default_space) return Space::standard_default;
  for (const SpaceNames& row : k_spaces)
    if (static_cast<OmpValue>(row.space) == number) return row.space;
  return {};
}

std::optional<Space> space_of_predefined(OmpValue allocator) {
  for (const SpaceNames& row : k_spaces)
    if (row.allocator == allocator && row.space != Space::standard_default) return row.space;
  return {};
}

bool is_extended(Space space) {
  return static_cast<unsigned>(space) >= static_cast<unsigned>(Space::automatic);
}

std::string_view space_name(Space space) {
  const SpaceNames* row = row_of(space);
  return row != nullptr ? row->space_name : std::string_view{};
}

std::string_view predefined_name(OmpValue allocator) {
  for (const SpaceNames& row : k_spaces)
    if (row.allocator == allocator) return row.allocator_name;
  return {};
}

std::span<const KeyInfo> all_keys() {
  return k_keys;
}

const KeyInfo* find_key(int number) {
  for (const KeyInfo& info : k_keys)
    if (static_cast<int>(info.key) == number) return &info;
  return nullptr;
}

const KeyInfo* find_key(std::string_view name) {
  for (const KeyInfo& info : k_keys)
    if (same_ignoring_case(info.name, name)) return &info;
  return nullptr;
}

} // namespace omptier
