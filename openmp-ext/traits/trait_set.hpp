// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The validated traits of one allocator. Refused are unknown keys, wrong values, and three
// contradictions (required in the auto space, pinned and migratable, stride without strided).
#pragma once

#include "base/notices.hpp"
#include "base/relaxed.hpp"
#include "traits/names.hpp"

#include <span>
#include <string_view>

namespace omptier {

// One trait as OpenMP lays it out (omp_alloctrait_t).
struct TraitPair {
  std::int32_t key;
  OmpValue value;
};

struct TraitSet {
  std::size_t alignment = 1;                      // bytes, power of two
  std::size_t pool_size = k_default_value;        // bytes; the largest value: no limit
  OmpValue fallback = value::default_mem_fb;      // value::*_fb
  OmpValue fallback_allocator = k_null_allocator; // fb_data
  OmpValue partition = value::environment;
  // 0 = default; accepted, without effect on placement. Traits of devices and part_size are not
  // even stored. Access is value::all for each of its numbers.
  OmpValue sync_hint = 0, access = 0;
  bool pinned = false;
  bool extended = false; // at least one extended key was given

  // Extended traits; 0 = not given. ompx_update_traits may change Relaxed ones at any time.
  OmpValue placement = 0; // value::required, value::preferred
  Relaxed<OmpValue> access_pattern = 0, access_mode = 0, access_origin = 0, sensitivity = 0,
                    lifetime = 0;
  Relaxed<OmpValue> group = 0, label = 0;
  Relaxed<std::size_t> access_stride = 0; // bytes
  // Accesses per second, and per mille of memory time; k_default_value = not given.
  Relaxed<OmpValue> access_frequency = k_default_value, importance = k_default_value;
  Relaxed<bool> migratable = false; // migratable=true was given
  Relaxed<bool> stationary = false; // migratable=false was given

  // All traits of ours but placement: those that may change during an allocator's life.
  void change_to(const TraitSet& other);
};

// Why traits were refused: the warning's number, and its text without the consequence.
struct TraitProblem {
  Notice notice = Notice::bad_trait_value;
  char text[320] = "";

  bool set(Notice number, const char* format, ...) __attribute__((format(printf, 3, 4))); // false
  // Warns once per text and memory space. consequence: "the null allocator is returned".
  void warn_that(const char* consequence, OmpValue space) const;
};

// For a new allocator. The last of several with one key counts. is_allocator: whether a value may
// be an allocator (fb_data). False, with problem, if refused. No malloc.
bool read_traits(Space space, std::span<const TraitPair> traits, bool (*is_allocator)(OmpValue),
                 TraitSet& set, TraitProblem& problem);

// omp_atv_default is valid for every key; false for unknown keys.
bool is_valid_trait(const TraitPair& trait, bool (*is_allocator)(OmpValue));

// Value of a trait for messages, zero-terminated: "random", "65536", the text of a name.
void describe_value(const KeyInfo& key, OmpValue value, char* text, std::size_t size);

} // namespace omptier
