// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// See completion.hpp.
#include "cli/completion.hpp"

#include <algorithm>
#include <set>
#include <utility>

namespace omptier {
namespace {

using Words = std::span<const std::string>;

// A menu has one line for each.
std::string brief(const std::string& description) {
  constexpr std::size_t most = 80;
  std::string text = description.substr(0, description.find('\n'));
  if (text.size() <= most) return text;
  const std::size_t space = text.rfind(' ', most);
  return text.substr(0, space == text.npos ? most : space) + " ...";
}

bool is_option(const std::string& word) {
  return word.size() > 1 && word[0] == '-';
}

// What the words before the last one say about it.
struct Before {
  const OptionText* value_of = nullptr; // the last word is this option's value
  std::set<std::string> used;           // all names of the options that are there
  std::size_t positionals = 0;          // words that are none of options
  bool options_end = false;             // "--" was there
  bool program = false;                 // another program's words have begun, at program_at
  std::size_t program_at = 0;
};

const OptionText* positional(const CommandText& command, std::size_t index) {
  if (command.positionals.empty()) return nullptr;
  const OptionText& last = command.positionals.back();
  if (index < command.positionals.size()) return &command.positionals[index];
  return last.repeated ? &last : nullptr;
}

const OptionText* program_of(const CommandText& command) {
  const auto at = std::ranges::find_if(
      command.positionals, [](const OptionText& p) { return p.value.word == k_program_word; });
  return at == command.positionals.end() ? nullptr : &*at;
}

// words: of the subcommand, the last included.
Before read_words(const CommandText& command, Words words) {
  Before before;
  for (std::size_t i = 0; i + 1 < words.size(); ++i) {
    const std::string& word = words[i];
    const OptionText* option = std::exchange(before.value_of, nullptr);
    if (option != nullptr && (option->value_needed || !is_option(word))) continue;
    if (before.options_end || !is_option(word)) {
      if (command.program_follows) {
        before.program = true, before.program_at = i;
        return before;
      }
      ++before.positionals;
      continue;
    }
    if (word == "--") {
      before.options_end = true;
      if (program_of(command) == nullptr) continue;
      before.program = true, before.program_at = i + 1;
      return before;
    }
    option = find_option(command, word.substr(0, word.find('=')));
    if (option == nullptr) continue;
    before.used.insert(option->names.begin(), option->names.end());
    if (option->takes_value && word.find('=') == word.npos) before.value_of = option;
  }
  return before;
}

void add_name(Completion& completion, const std::string& begun, std::string text,
              std::string description) {
  if (text.starts_with(begun))
    completion.names.push_back({std::move(text), std::move(description)});
}

// begun: the value as far as it is typed; front: what stands before it in the same word.
Completion complete_value(const ValueText& value, const std::string& begun,
                          const std::string& front = {}) {
  Completion completion;
  if (value.word == k_file_word || value.word == k_program_word) {
    completion.kind = Completion::Kind::files;
    return completion;
  }
  const std::size_t comma = value.list ? begun.rfind(',') : begun.npos;
  const std::size_t kept = comma == begun.npos ? 0 : comma + 1;
  for (const std::string& choice : value.choices)
    add_name(completion, front + begun, front + begun.substr(0, kept) + choice, {});
  return completion;
}

bool may_follow(const OptionText& option, const std::set<std::string>& used) {
  if (!option.repeated && used.contains(option.names.back())) return false;
  return std::ranges::none_of(option.excludes,
                              [&](const std::string& other) { return used.contains(other); });
}

Completion complete_option(const CommandText& command, const std::string& word,
                           const std::set<std::string>& used) {
  if (const std::size_t equals = word.find('='); equals != word.npos) {
    const OptionText* option = find_option(command, word.substr(0, equals));
    if (option == nullptr || option->value.word.empty()) return {};
    return complete_value(option->value, word.substr(equals + 1), word.substr(0, equals + 1));
  }
  Completion completion;
  for (const OptionText& option : command.options) {
    if (!may_follow(option, used)) continue;
    for (const std::string& name : option.names) // a letter is no shorter when it is completed
      if (name.size() > 2) add_name(completion, word, name, brief(option.description));
  }
  return completion;
}

} // namespace

Completion complete(const CommandText& root, Words words) {
  if (words.empty()) return {};
  const std::string& last = words.back();
  if (words.size() == 1) {
    if (is_option(last) || last == "-") return complete_option(root, last, {});
    Completion completion;
    for (const CommandText& command : root.commands)
      add_name(completion, last, command.name, brief(command.description));
    return completion;
  }
  const CommandText* command = find_command(root, words[0]);
  if (command == nullptr) return {};
  const Before before = read_words(*command, words.subspan(1));
  const auto program_from = [](std::size_t index) {
    Completion completion;
    completion.kind = Completion::Kind::program;
    completion.program_at = index;
    return completion;
  };
  if (before.program) return program_from(before.program_at + 1);
  if (before.value_of != nullptr && (before.value_of->value_needed || !is_option(last)))
    return complete_value(before.value_of->value, last);
  if (!before.options_end && (is_option(last) || last == "-"))
    return complete_option(*command, last, before.used);
  const OptionText* next = positional(*command, before.positionals);
  if (next == nullptr) return {};
  return next->value.word == k_program_word ? program_from(words.size() - 1)
                                            : complete_value(next->value, last);
}

std::string text_of(const Completion& completion) {
  switch (completion.kind) {
  case Completion::Kind::files:
    return ":files\n";
  case Completion::Kind::program:
    return ":program " + std::to_string(completion.program_at + 1) + "\n";
  case Completion::Kind::names:
    break;
  }
  std::string text;
  for (const auto& [name, description] : completion.names)
    text += name + (description.empty() ? "" : "\t" + description) + "\n";
  return text;
}

} // namespace omptier
