// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Reads all OMPTIER_* variables at the first use, copies them into one static buffer (the
// environment may change later, and the application's malloc must not be called) and checks them
// against their types. Nothing here has a destructor.
#include "base/options.hpp"

#include "base/notices.hpp"
#include "base/text.hpp"

#include <array>
#include <cstdlib>
#include <cstring>
#include <strings.h>
#include <sys/auxv.h>
#include <unistd.h>

namespace omptier {
namespace {

constexpr OptionInfo k_table[] = {
#define OMPTIER_OPTION(id, name, type, fallback, reader, help)                                     \
  {Option::id, name, OptionType::type, fallback, reader, help},
#include "base/options.def"
#undef OMPTIER_OPTION
};
constexpr std::size_t k_count = std::size(k_table);

bool is_flag(const char* text, bool& value) {
  for (const char* on : {"1", "on", "true", "yes"})
    if (strcasecmp(text, on) == 0) return value = true, true;
  for (const char* off : {"0", "off", "false", "no"})
    if (strcasecmp(text, off) == 0) return value = false, true;
  return false;
}

struct Values {
  std::array<const char*, k_count> text{};
  std::array<bool, k_count> set{};
};

bool has_more_rights() {
  return ::getauxval(AT_SECURE) != 0;
}

Values read_environment() {
  static char copies[16384];
  std::size_t used = 0;
  Values values;
  for (std::size_t i = 0; i < k_count; ++i) {
    values.text[i] = k_table[i].fallback;
    const char* text = std::getenv(k_table[i].name);
    if (text == nullptr || *text == '\0') continue;
    if (has_more_rights()) { // its user must not choose the files that it reads and writes
      warn_once(Notice::variables_ignored,
                "%s: this program has more rights than its user (set-uid, set-gid or "
                "capabilities): OMPTIER_* variables are ignored.",
                k_table[i].name);
      continue;
    }
    if (const std::string problem = problem_with(k_table[i].type, text); !problem.empty()) {
      warn_about_value(k_table[i].id, problem.c_str(), "the default is used");
      continue;
    }
    const std::size_t bytes = std::strlen(text) + 1;
    if (used + bytes > sizeof copies) {
      warn_about_value(k_table[i].id, "it is too long", "the default is used");
      continue;
    }
    std::memcpy(copies + used, text, bytes);
    values.text[i] = copies + used;
    values.set[i] = true;
    used += bytes;
  }
  return values;
}

const Values& values() {
  static const Values read = read_environment();
  return read;
}

} // namespace

std::string problem_with(OptionType type, const char* text) {
  bool flag = false;
  switch (type) {
  case OptionType::text:
  case OptionType::path:
    return {};
  case OptionType::size:
  case OptionType::number: {
    const auto size = parse_size(text);
    return size ? std::string() : size.error();
  }
  case OptionType::flag:
    return is_flag(text, flag) ? std::string() : "\"" + std::string(text) + "\" is neither 0 nor 1";
  case OptionType::capacity: {
    const auto capacity = parse_capacity(text);
    return capacity ? std::string() : capacity.error();
  }
  case OptionType::nodes: {
    const auto nodes = parse_nodes(text);
    return nodes ? std::string() : nodes.error();
  }
  }
  return {};
}

std::span<const OptionInfo> all_options() {
  return k_table;
}

const OptionInfo& info_of(Option option) {
  return k_table[static_cast<std::size_t>(option)];
}

const char* option_text(Option option) {
  return values().text[static_cast<std::size_t>(option)];
}

bool option_is_set(Option option) {
  return values().set[static_cast<std::size_t>(option)];
}

std::uint64_t option_number(Option option) {
  const auto size = parse_size(option_text(option));
  return size ? *size : 0;
}

bool option_flag(Option option) {
  bool flag = false;
  is_flag(option_text(option), flag);
  return flag;
}

void warn_about_value(Option option, const char* why, const char* instead) {
  const char* name = info_of(option).name;
  warn_once_of(Notice::bad_option_value, name, "%s: %s; %s.", name, why, instead);
}

void warn_about_unknown_variables() {
  static constexpr char prefix[] = "OMPTIER_";
  char unknown[512] = "";
  std::size_t used = 0;
  for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry) {
    if (std::strncmp(*entry, prefix, sizeof prefix - 1) != 0) continue;
    const char* equals = std::strchr(*entry, '=');
    const std::string_view name(*entry, equals ? static_cast<std::size_t>(equals - *entry)
                                               : std::strlen(*entry));
    bool known = false;
    for (const OptionInfo& option : k_table)
      known = known || name == option.name;
    if (known || used + name.size() + 3 > sizeof unknown) continue;
    if (used != 0) unknown[used++] = ',', unknown[used++] = ' ';
    std::memcpy(unknown + used, name.data(), name.size());
    used += name.size();
    unknown[used] = '\0';
  }
  if (used != 0)
    warn_once(Notice::unknown_variable,
              "%s: no such variable, ignored ('omptier check --variables' lists the known ones).",
              unknown);
}

} // namespace omptier
