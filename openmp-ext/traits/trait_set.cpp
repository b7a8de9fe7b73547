// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Each value is checked against its key's row and stored; then contradictions are checked.
#include "traits/trait_set.hpp"

#include "traits/interned.hpp"

#include <bit>
#include <cstdarg>
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

// Exactly one of the two members is set. pinned and migratable are flags.
struct Field {
  TraitKey key;
  OmpValue TraitSet::* fixed;
  Relaxed<OmpValue> TraitSet::* changeable;
};
constexpr Field k_fields[] = {
    {TraitKey::sync_hint, &TraitSet::sync_hint, nullptr},
    {TraitKey::alignment, &TraitSet::alignment, nullptr},
    {TraitKey::access, &TraitSet::access, nullptr},
    {TraitKey::pool_size, &TraitSet::pool_size, nullptr},
    {TraitKey::fallback, &TraitSet::fallback, nullptr},
    {TraitKey::fb_data, &TraitSet::fallback_allocator, nullptr},
    {TraitKey::partition, &TraitSet::partition, nullptr},
    {TraitKey::placement, &TraitSet::placement, nullptr},
    {TraitKey::access_pattern, nullptr, &TraitSet::access_pattern},
    {TraitKey::access_stride, nullptr, &TraitSet::access_stride},
    {TraitKey::access_mode, nullptr, &TraitSet::access_mode},
    {TraitKey::access_frequency, nullptr, &TraitSet::access_frequency},
    {TraitKey::access_origin, nullptr, &TraitSet::access_origin},
    {TraitKey::importance, nullptr, &TraitSet::importance},
    {TraitKey::sensitivity, nullptr, &TraitSet::sensitivity},
    {TraitKey::lifetime, nullptr, &TraitSet::lifetime},
    {TraitKey::group, nullptr, &TraitSet::group},
    {TraitKey::label, nullptr, &TraitSet::label},
};

// k_default_value means the key's default.
void store(TraitSet& set, TraitKey key, OmpValue value) {
  const TraitSet defaults;
  const bool is_default = value == k_default_value;
  if (key == TraitKey::access && value::is_everybody(value)) value = value::all;
  for (const Field& field : k_fields) {
    if (field.key != key) continue;
    if (field.fixed != nullptr)
      set.*field.fixed = is_default ? defaults.*field.fixed : value;
    else if (is_default)
      set.*field.changeable = defaults.*field.changeable;
    else
      set.*field.changeable = value;
    return;
  }
  if (key == TraitKey::pinned) set.pinned = value == value::yes;
  if (key == TraitKey::migratable) {
    set.migratable = value == value::yes;
    set.stationary = value == value::no;
  }
}

bool agrees_with_itself(Space space, const TraitSet& set, TraitProblem& problem) {
  constexpr Notice k_notice = Notice::contradicting_traits;
  if (space == Space::automatic && set.placement == value::required)
    return problem.set(k_notice, "Trait placement=required contradicts ompx_auto_mem_space, which "
                                 "takes any kind of memory");
  if (set.pinned && set.migratable)
    return problem.set(k_notice, "Trait pinned=true contradicts migratable=true");
  if (set.access_stride != 0 && set.access_pattern != value::strided)
    return problem.set(k_notice, "Trait access_stride=%zu needs access_pattern=strided",
                       static_cast<std::size_t>(set.access_stride));
  return true;
}

} // namespace

bool TraitProblem::set(Notice number, const char* format, ...) {
  notice = number;
  va_list arguments;
  va_start(arguments, format);
  std::vsnprintf(text, sizeof text, format, arguments);
  va_end(arguments);
  return false;
}

void TraitProblem::warn_that(const char* consequence, OmpValue space) const {
  char subject[sizeof text + 24];
  std::snprintf(subject, sizeof subject, "%llu %s", static_cast<unsigned long long>(space), text);
  warn_once_of(notice, subject, "%s: %s.", text, consequence);
}

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
  for (const Field& field : k_fields)
    if (field.changeable != nullptr) this->*field.changeable = other.*field.changeable;
  migratable = other.migratable;
  stationary = other.stationary;
}

bool read_traits(Space space, std::span<const TraitPair> traits, bool (*is_allocator)(OmpValue),
                 TraitSet& set, TraitProblem& problem) {
  for (const TraitPair& trait : traits) {
    const KeyInfo* key = find_key(trait.key);
    if (key == nullptr)
      return problem.set(Notice::unknown_trait_key, "Unknown trait key %d with value %llu",
                         trait.key, static_cast<unsigned long long>(trait.value));
    set.extended = set.extended || is_extended(key->key);
    if (trait.value != k_default_value && !value_fits(*key, trait.value, is_allocator)) {
      char shown[280];
      describe_value(*key, trait.value, shown, sizeof shown);
      return problem.set(Notice::bad_trait_value,
                         "Trait %.*s does not take the value %.40s (expected %.*s)",
                         static_cast<int>(key->name.size()), key->name.data(), shown,
                         static_cast<int>(key->expected.size()), key->expected.data());
    }
    store(set, key->key, trait.value);
  }
  return agrees_with_itself(space, set, problem);
}

} // namespace omptier
