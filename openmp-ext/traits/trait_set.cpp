// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Validation of traits. Each value is first held against its key's row of the table, then stored,
// and at the end the whole set is looked at for contradictions.
#include "traits/trait_set.hpp"

#include "traits/interned.hpp"

#include <bit>
#include <cstdio>

namespace omptier {
namespace {

bool value_fits(const KeyInfo& key, OmpValue value, bool (*is_allocator)(OmpValue)) {
  switch (key.form) {
  case ValueForm::names:
    for (const ValueName& name : key.values)
      if (name.number == value) return true;
    return false;
  case ValueForm::boolean:
    return value <= 1;
  case ValueForm::size:
  case ValueForm::number:
    return value >= key.least && value <= key.most &&
           (key.key != TraitKey::alignment || std::has_single_bit(value));
  case ValueForm::allocator:
    return is_allocator != nullptr && is_allocator(value);
  case ValueForm::text:
    return interned_text(value) != nullptr;
  }
  return false;
}

void store(TraitSet& set, TraitKey key, OmpValue value) {
  switch (key) {
  case TraitKey::sync_hint:
    set.sync_hint = value;
    return;
  case TraitKey::alignment:
    set.alignment = value;
    return;
  case TraitKey::access:
    set.access = value;
    return;
  case TraitKey::pool_size:
    set.pool_size = value;
    return;
  case TraitKey::fallback:
    set.fallback = value;
    return;
  case TraitKey::fb_data:
    set.fallback_allocator = value;
    return;
  case TraitKey::pinned:
    set.pinned = value == value::yes;
    return;
  case TraitKey::partition:
    set.partition = value;
    return;
  case TraitKey::access_pattern:
    set.access_pattern = value;
    return;
  case TraitKey::access_stride:
    set.access_stride = value;
    return;
  case TraitKey::access_mode:
    set.access_mode = value;
    return;
  case TraitKey::access_frequency:
    set.access_frequency = value;
    return;
  case TraitKey::access_origin:
    set.access_origin = value;
    return;
  case TraitKey::importance:
    set.importance = value;
    return;
  case TraitKey::sensitivity:
    set.sensitivity = value;
    return;
  case TraitKey::placement:
    set.placement = value;
    return;
  case TraitKey::lifetime:
    set.lifetime = value;
    return;
  case TraitKey::group:
    set.group = value;
    return;
  case TraitKey::label:
    set.label = value;
    return;
  case TraitKey::migratable:
    set.migratable = value == value::yes;
    set.stationary = value == value::no;
    return;
  }
}

// What the key means when omp_atv_default is given for it.
void store_default(TraitSet& set, TraitKey key) {
  const TraitSet defaults;
  switch (key) {
  case TraitKey::alignment:
    set.alignment = defaults.alignment;
    return;
  case TraitKey::pool_size:
    set.pool_size = defaults.pool_size;
    return;
  case TraitKey::fallback:
    set.fallback = defaults.fallback;
    return;
  case TraitKey::partition:
    set.partition = defaults.partition;
    return;
  case TraitKey::access_frequency:
    set.access_frequency = defaults.access_frequency;
    return;
  case TraitKey::importance:
    set.importance = defaults.importance;
    return;
  case TraitKey::migratable:
    set.migratable = set.stationary = false;
    return;
  default:
    store(set, key, 0);
    return;
  }
}

bool refuse(TraitProblem& problem, const char* text) {
  problem.notice = Notice::contradicting_traits;
  std::snprintf(problem.text, sizeof problem.text,
                "%s: no such allocator is made, the null allocator is returned.", text);
  return false;
}

bool agrees_with_itself(Space space, const TraitSet& set, TraitProblem& problem) {
  if (space == Space::automatic && set.placement == value::required)
    return refuse(problem, "Trait placement=required contradicts ompx_auto_mem_space, which takes "
                           "any kind of memory");
  if (set.pinned && set.migratable)
    return refuse(problem, "Trait pinned=true contradicts migratable=true");
  if (set.access_stride != 0 && set.access_pattern != value::strided) {
    char text[160];
    std::snprintf(text, sizeof text, "Trait access_stride=%zu needs access_pattern=strided",
                  static_cast<std::size_t>(set.access_stride));
    return refuse(problem, text);
  }
  return true;
}

} // namespace

bool is_valid_trait(const TraitPair& trait, bool (*is_allocator)(OmpValue)) {
  const KeyInfo* key = find_key(trait.key);
  return key != nullptr &&
         (trait.value == k_default_value || value_fits(*key, trait.value, is_allocator));
}

void describe_value(const KeyInfo& key, OmpValue value, char* text, std::size_t size) {
  if (value == k_default_value) {
    std::snprintf(text, size, "default");
    return;
  }
  for (const ValueName& name : key.values)
    if (name.number == value) {
      std::snprintf(text, size, "%.*s", static_cast<int>(name.name.size()), name.name.data());
      return;
    }
  const char* name = key.form == ValueForm::text ? interned_text(value) : nullptr;
  if (name != nullptr)
    std::snprintf(text, size, "%s", name);
  else if (key.form == ValueForm::boolean && value <= 1)
    std::snprintf(text, size, "%s", value == 1 ? "true" : "false");
  else
    std::snprintf(text, size, "%llu", static_cast<unsigned long long>(value));
}

void TraitSet::change_to(const TraitSet& other) {
  access_pattern = other.access_pattern;
  access_mode = other.access_mode;
  access_origin = other.access_origin;
  sensitivity = other.sensitivity;
  lifetime = other.lifetime;
  group = other.group;
  label = other.label;
  access_stride = other.access_stride;
  access_frequency = other.access_frequency;
  importance = other.importance;
  migratable = other.migratable;
  stationary = other.stationary;
}

bool read_traits(Space space, std::span<const TraitPair> traits, bool (*is_allocator)(OmpValue),
                 TraitSet& set, TraitProblem& problem) {
  for (const TraitPair& trait : traits) {
    const KeyInfo* key = find_key(trait.key);
    if (key == nullptr) {
      problem.notice = Notice::unknown_trait_key;
      std::snprintf(problem.text, sizeof problem.text,
                    "Unknown trait key %d with value %llu: the null allocator is returned.",
                    trait.key, static_cast<unsigned long long>(trait.value));
      return false;
    }
    set.extended = set.extended || is_extended(key->key);
    if (trait.value == k_default_value) {
      store_default(set, key->key);
      continue;
    }
    if (!value_fits(*key, trait.value, is_allocator)) {
      char shown[280];
      describe_value(*key, trait.value, shown, sizeof shown);
      problem.notice = Notice::bad_trait_value;
      std::snprintf(
          problem.text, sizeof problem.text,
          "Trait %.*s does not take the value %.40s (expected %.*s): the null allocator is "
          "returned.",
          static_cast<int>(key->name.size()), key->name.data(), shown,
          static_cast<int>(key->expected.size()), key->expected.data());
      return false;
    }
    store(set, key->key, trait.value);
  }
  return agrees_with_itself(space, set, problem);
}

} // namespace omptier
