// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Parser of the text form of allocators. A trait list ends at the first character that cannot
// belong to it (the variable may go on), each trait at a comma.
#include "traits/trait_text.hpp"

#include "base/text.hpp"
#include "traits/interned.hpp"

#include <cctype>
#include <cstdio>

namespace omptier {
namespace {

bool is_word(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '.' || c == '-';
}

std::string_view word_at(std::string_view text, std::size_t from) {
  std::size_t end = from;
  while (end < text.size() && is_word(text[end]))
    ++end;
  return text.substr(from, end - from);
}

std::string_view without_prefix(std::string_view word, std::string_view prefix) {
  return word.size() > prefix.size() && same_ignoring_case(word.substr(0, prefix.size()), prefix)
             ? word.substr(prefix.size())
             : word;
}

// Digits with an optional K, M, G or T; no malloc, unlike parse_size.
bool read_size(std::string_view word, OmpValue& result) {
  std::size_t i = 0;
  OmpValue number = 0;
  for (; i < word.size() && std::isdigit(static_cast<unsigned char>(word[i])) != 0; ++i)
    if (__builtin_mul_overflow(number, OmpValue{10}, &number) ||
        __builtin_add_overflow(number, static_cast<OmpValue>(word[i] - '0'), &number))
      return false;
  if (i == 0) return false;
  if (i < word.size()) {
    constexpr std::string_view units = "kmgtKMGT";
    const std::size_t unit = units.find(word[i]);
    if (unit == units.npos || i + 1 != word.size()) return false;
    if (__builtin_mul_overflow(number, OmpValue{1} << (10 * (unit % 4 + 1)), &number)) return false;
  }
  result = number;
  return true;
}

bool read_allocator_name(std::string_view word, OmpValue& handle) {
  for (OmpValue number = 1; number <= 504; number = number == 8 ? 500 : number + 1)
    if (same_ignoring_case(predefined_name(number), word)) return handle = number, true;
  return read_size(word, handle);
}

bool read_value(const KeyInfo& key, std::string_view word, OmpValue& result) {
  word = without_prefix(without_prefix(word, "omp_atv_"), "ompx_atv_");
  if (same_ignoring_case(word, "default")) return result = k_default_value, true;
  switch (key.form) {
  case ValueForm::names: {
    if (word.size() > key.name.size() + 1 && word[key.name.size()] == '_' &&
        same_ignoring_case(word.substr(0, key.name.size()), key.name))
      word = word.substr(key.name.size() + 1);
    for (const ValueName& name : key.values)
      if (same_ignoring_case(name.name, word)) return result = name.number, true;
    return false;
  }
  case ValueForm::boolean:
    if (same_ignoring_case(word, "true") || word == "1") return result = 1, true;
    if (same_ignoring_case(word, "false") || word == "0") return result = 0, true;
    return false;
  case ValueForm::size:
  case ValueForm::number:
    return read_size(word, result);
  case ValueForm::allocator:
    return read_allocator_name(word, result);
  case ValueForm::text:
    result = intern_name(word);
    return result != 0;
  }
  return false;
}

std::optional<Space> space_named(std::string_view word) {
  for (OmpValue number = 0; number <= 504; number = number == 4 ? 500 : number + 1) {
    const auto space = space_of_number(number);
    if (space && same_ignoring_case(space_name(*space), word)) return space;
  }
  return {};
}

bool refuse(TraitProblem& problem, Notice notice, const char* what, std::string_view word) {
  return problem.set(notice, "OMP_ALLOCATOR: %s \"%.*s\"", what, static_cast<int>(word.size()),
                     word.data());
}

std::size_t after_blanks(std::string_view text, std::size_t at) {
  while (at < text.size() && std::isspace(static_cast<unsigned char>(text[at])) != 0)
    ++at;
  return at;
}

// Text ":key=value,…" at this position; false when a trait is wrong.
bool read_trait_list(std::string_view text, std::size_t at, AllocatorText& result,
                     TraitProblem& problem) {
  do {
    at = after_blanks(text, at + 1); // ':' or ','
    const std::string_view key_word = word_at(text, at);
    const KeyInfo* key =
        find_key(without_prefix(without_prefix(key_word, "omp_atk_"), "ompx_atk_"));
    at += key_word.size();
    result.length = at;
    if (key == nullptr)
      return refuse(problem, Notice::unknown_trait_key, "unknown trait", key_word);
    at = after_blanks(text, at);
    if (at >= text.size() || text[at] != '=')
      return refuse(problem, Notice::bad_trait_value, "no value for trait", key_word);
    at = after_blanks(text, at + 1);
    const std::string_view value_word = word_at(text, at);
    at += value_word.size();
    result.length = at;
    OmpValue value = 0;
    if (!read_value(*key, value_word, value))
      return problem.set(
          Notice::bad_trait_value,
          "OMP_ALLOCATOR: trait %.*s does not take the value \"%.*s\" (expected %.*s)",
          static_cast<int>(key->name.size()), key->name.data(), static_cast<int>(value_word.size()),
          value_word.data(), static_cast<int>(key->expected.size()), key->expected.data());
    // libomp reads plain numbers only.
    const bool suffix = key->form == ValueForm::size &&
                        std::isalpha(static_cast<unsigned char>(value_word.back())) != 0;
    result.for_us = result.for_us || is_extended(key->key) || suffix;
    if (result.trait_count < static_cast<int>(result.traits.size()))
      result.traits[static_cast<std::size_t>(result.trait_count++)] = {
          static_cast<std::int32_t>(key->key), value};
    at = after_blanks(text, at);
  } while (at < text.size() && text[at] == ',');
  return true;
}

} // namespace

bool read_allocator_text(std::string_view text, AllocatorText& result, TraitProblem& problem) {
  result = {};
  std::size_t at = after_blanks(text, 0);
  const std::string_view first = word_at(text, at);
  const bool ours = first.size() > 5 && same_ignoring_case(first.substr(0, 5), "ompx_");

  // libomp's own default allocator is 1.
  for (OmpValue number = 2; number <= 504; number = number == 8 ? 500 : number + 1)
    if (same_ignoring_case(predefined_name(number), first)) {
      result.predefined = number;
      result.length = at + first.size();
      return true;
    }

  const auto space = space_named(first);
  if (!space) {
    if (!ours) return true; // libomp's
    result.length = at + first.size();
    return refuse(problem, Notice::unknown_memory_space, "unknown memory space or allocator",
                  first);
  }
  at += first.size();
  const std::size_t next = after_blanks(text, at);
  const bool traits = next < text.size() && text[next] == ':';
  if (*space == Space::standard_default && !traits) return true; // libomp's
  result.space = *space;
  result.length = at;
  result.for_us = ours;
  return !traits || read_trait_list(text, next, result, problem);
}

} // namespace omptier
