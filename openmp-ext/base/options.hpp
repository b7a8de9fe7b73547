// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The one table of OMPTIER_* variables, base/options.def, from which the code, `omptier check` and
// docs/environment.md are generated. Values are read from the environment once, at the first use,
// without the application's malloc. A value that does not parse gives one warning and the default;
// OMPTIER_* variables that the table lacks are named in one warning.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

namespace omptier {

enum class Option : std::uint8_t {
#define OMPTIER_OPTION(id, name, type, fallback, reader, help) id,
#include "base/options.def"
#undef OMPTIER_OPTION
};

enum class OptionType : std::uint8_t { text, path, size, number, flag, capacity, nodes };

struct OptionInfo {
  Option id;
  const char* name; // "OMPTIER_PLAN"
  OptionType type;
  const char* fallback; // text of the default; "" = unset
  const char* reader;   // which part reads it: "runtime", "profiler", "command"
  const char* help;     // one sentence
};

std::span<const OptionInfo> all_options();
const OptionInfo& info_of(Option option);

// The variable's text, or its default; never null ("" = unset). Valid for the life of the process.
const char* option_text(Option option);
bool option_is_set(Option option);
std::uint64_t option_number(Option option); // size and number types
bool option_flag(Option option);

// One line on why the text is not a value of that type; "" when it is.
std::string problem_with(OptionType type, const char* text);

// Warns once per variable: "OMPTIER_SHARE: <why>; <what is done instead>."
void warn_about_value(Option option, const char* why, const char* instead);

void warn_about_unknown_variables();

} // namespace omptier
