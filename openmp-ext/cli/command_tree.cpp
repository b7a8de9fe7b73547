// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// See command_tree.hpp.
#include "cli/command_tree.hpp"

#include <algorithm>

namespace omptier {
namespace {

std::vector<std::string> split(std::string_view text) {
  std::vector<std::string> parts;
  while (!text.empty()) {
    const std::size_t comma = std::min(text.find(','), text.size());
    parts.emplace_back(text.substr(0, comma));
    text.remove_prefix(std::min(comma + 1, text.size()));
  }
  return parts;
}

// "INT in [1 - 32]" -> "1 to 32"; else "".
std::string range_of(std::string_view condition) {
  const std::size_t begin = condition.find("in ["), middle = condition.find(" - ");
  if (begin == condition.npos || middle == condition.npos || !condition.ends_with(']')) return {};
  const std::string_view low = condition.substr(begin + 4, middle - begin - 4);
  const std::string_view high = condition.substr(middle + 3, condition.size() - middle - 4);
  return std::string(low) + " to " + std::string(high);
}

// "{a,b}" -> a, b; else nothing.
std::vector<std::string> choices_of(std::string_view text) {
  if (text.size() < 2 || !text.starts_with('{') || !text.ends_with('}')) return {};
  return split(text.substr(1, text.size() - 2));
}

// The parser appends the conditions on a value to its type name: "UINT:INT in [1 - 32]".
ValueText value_of(CLI::Option& option, const NamesOf& names_of) {
  ValueText value;
  value.word = option.get_type_name();
  std::vector<std::string> conditions;
  try {
    for (int i = 0;; ++i)
      conditions.push_back(option.get_validator(i)->get_description());
  } catch (const CLI::OptionNotFound&) { // it has no more
  }
  for (auto at = conditions.rbegin(); at != conditions.rend(); ++at) {
    if (at->empty() || !value.word.ends_with(":" + *at)) continue;
    value.word.resize(value.word.size() - at->size() - 1);
    if (const std::string range = range_of(*at); !range.empty()) value.range = range;
    if (auto choices = choices_of(*at); !choices.empty()) value.choices = std::move(choices);
  }
  constexpr std::string_view more = ",...";
  value.list = value.word.ends_with(more);
  if (value.choices.empty()) value.choices = choices_of(value.word);
  if (value.choices.empty())
    value.choices = names_of(
        std::string_view(value.word).substr(0, value.word.size() - (value.list ? more.size() : 0)));
  return value;
}

std::string first_name(const CLI::Option& option) {
  return !option.get_lnames().empty()   ? "--" + option.get_lnames()[0]
         : !option.get_snames().empty() ? "-" + option.get_snames()[0]
                                        : option.get_name(true);
}

OptionText describe_option(CLI::Option& option, const NamesOf& names_of) {
  OptionText text;
  if (option.get_positional()) {
    text.names.push_back(option.get_name(true));
  } else {
    for (const std::string& name : option.get_snames())
      text.names.push_back("-" + name);
    for (const std::string& name : option.get_lnames())
      text.names.push_back("--" + name);
  }
  text.description = option.get_description();
  text.required = option.get_required();
  // A flag has no type name; "--flag{value}" takes one behind "=" only.
  text.takes_value = option.get_type_size_max() > 0 && option.get_expected_max() > 0;
  text.value_needed = text.takes_value && option.get_expected_min() > 0;
  text.repeated = option.get_expected_max() > 1 && text.takes_value;
  if (text.takes_value) text.value = value_of(option, names_of);
  for (const CLI::Option* other : option.get_excludes())
    text.excludes.push_back(first_name(*other));
  std::ranges::sort(text.excludes); // they are a set of pointers
  return text;
}

} // namespace

CommandText describe_command(CLI::App& app, const NamesOf& names_of) {
  CommandText text;
  text.name = app.get_name();
  text.description = app.get_description();
  text.footer = app.get_footer();
  text.program_follows = app.get_positionals_at_end();
  for (CLI::Option* option : app.get_options())
    if (option->get_positional())
      text.positionals.push_back(describe_option(*option, names_of));
    else if (!option->get_group().empty())
      text.options.push_back(describe_option(*option, names_of));
  for (CLI::App* command : app.get_subcommands([](const CLI::App*) { return true; }))
    if (!command->get_group().empty())
      text.commands.push_back(describe_command(*command, names_of));
  return text;
}

const CommandText* find_command(const CommandText& of, std::string_view name) {
  const auto at = std::ranges::find(of.commands, name, &CommandText::name);
  return at == of.commands.end() ? nullptr : &*at;
}

const OptionText* find_option(const CommandText& of, std::string_view name) {
  const auto at = std::ranges::find_if(of.options, [&](const OptionText& option) {
    return std::ranges::find(option.names, name) != option.names.end();
  });
  return at == of.options.end() ? nullptr : &*at;
}

} // namespace omptier
