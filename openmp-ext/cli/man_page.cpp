// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// See man_page.hpp. Text becomes groff's in one place, plain(); everything else writes macros.
#include "cli/man_page.hpp"

#include "base/options.hpp"

#include <algorithm>
#include <cctype>

namespace omptier {
namespace {

// A letter that groff would change or take for its own, as itself.
std::string plain(std::string_view text) {
  std::string out;
  for (const char c : text) {
    switch (c) {
    case '\\':
      out += "\\e";
      break;
    case '-':
      out += "\\-";
      break;
    case '\'':
      out += "\\(aq";
      break;
    case '`':
      out += "\\(ga";
      break;
    case '^':
      out += "\\(ha";
      break;
    case '~':
      out += "\\(ti";
      break;
    default:
      out += c;
    }
  }
  return out.starts_with('.') ? "\\&" + out : out;
}

std::string bold(std::string_view text) {
  return "\\fB" + plain(text) + "\\fR";
}

std::string italic(std::string_view text) {
  return "\\fI" + plain(text) + "\\fR";
}

std::string upper(std::string text) {
  for (char& c : text)
    c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  return text;
}

std::string sentence(const std::string& text) {
  return plain(text) + (text.empty() || text.ends_with('.') || text.ends_with('?') ? "" : ".");
}

bool is_program(const OptionText& positional) {
  return positional.value.word == k_program_word && positional.repeated;
}

std::string shown_name(const OptionText& positional) {
  return italic(is_program(positional) ? "PROGRAM" : positional.names[0]);
}

// "-o, --output FILE".
std::string head_of(const OptionText& option) {
  std::string head;
  for (const std::string& name : option.names)
    head += (head.empty() ? "" : ", ") + bold(name);
  if (!option.takes_value) return head;
  // Choices are listed behind the description.
  const bool listed = option.value.word == "TEXT" || option.value.word.starts_with('{');
  const std::string word = listed && !option.value.choices.empty() ? "NAME" : option.value.word;
  return head + (option.value_needed ? " " + italic(word) : " [" + italic(word) + "]");
}

std::string entry(const OptionText& option, bool positional) {
  std::string text = ".TP\n" + (positional ? shown_name(option) : head_of(option)) + "\n" +
                     sentence(option.description);
  if (!option.value.range.empty()) text += "\nFrom " + plain(option.value.range) + ".";
  std::string choices;
  for (const std::string& choice : option.value.choices)
    choices += (choices.empty() ? "\nOne of: " : ", ") + bold(choice);
  if (!choices.empty() && option.value.list) choices.replace(1, 6, "Of:");
  if (!choices.empty()) text += choices + ".";
  std::string excludes;
  for (const std::string& other : option.excludes)
    excludes += (excludes.empty() ? "\nNot with: " : ", ") + bold(other);
  return text + (excludes.empty() ? "" : excludes + ".") + "\n";
}

std::string synopsis(const std::string& name, const CommandText& command) {
  std::string text = bold(name);
  if (!command.commands.empty()) return text + " " + italic("COMMAND") + " [...]\n";
  if (!command.options.empty()) text += " [" + italic("OPTION") + "]...";
  for (const OptionText& option : command.options)
    if (option.required) text += " " + head_of(option);
  for (const OptionText& positional : command.positionals) {
    const bool program = is_program(positional);
    const std::string word =
        program ? plain("-- ") + shown_name(positional) + " [" + italic("ARGUMENT") + "]..."
                : shown_name(positional) + (positional.repeated ? "..." : "");
    text += positional.required || program ? " " + word : " [" + word + "]";
  }
  return text + "\n";
}

// Lines that begin with blanks stay as they are.
std::string footer_text(std::string_view footer) {
  std::string text;
  bool verbatim = false;
  while (!footer.empty()) {
    const std::size_t end = std::min(footer.find('\n'), footer.size());
    const std::string_view line = footer.substr(0, end);
    footer.remove_prefix(std::min(end + 1, footer.size()));
    const bool as_is = line.starts_with(' ');
    if (as_is != verbatim) text += as_is ? ".PP\n.nf\n" : ".fi\n";
    verbatim = as_is;
    if (!line.empty()) text += (as_is ? "" : ".PP\n") + plain(line) + "\n";
  }
  return text + (verbatim ? ".fi\n" : "");
}

std::string entries(const std::vector<OptionText>& options, const char* section, bool positional) {
  std::string text;
  for (const OptionText& option : options)
    text += entry(option, positional);
  return text.empty() ? text : ".SH " + std::string(section) + "\n" + text;
}

std::string head(const std::string& name, const CommandText& command, std::string_view version) {
  std::string page = name;
  for (char& c : page)
    if (c == ' ') c = '-';
  std::string what = command.description;
  if (what.ends_with('.')) what.pop_back();
  return ".TH " + plain(upper(page)) + " 1 \"\" \"OMPTier " + std::string(version) +
         "\" \"OMPTier\"\n.nh\n.ad l\n.SH NAME\n" + plain(page) + " \\- " + plain(what) +
         "\n.SH SYNOPSIS\n" + synopsis(name, command);
}

ManPage page_of_command(const CommandText& root, const CommandText& command,
                        std::string_view version) {
  const std::string name = root.name + " " + command.name;
  std::string text = head(name, command, version) + ".SH DESCRIPTION\n" +
                     sentence(command.description) + "\n" + footer_text(command.footer) +
                     entries(command.positionals, "ARGUMENTS", true) +
                     entries(command.options, "OPTIONS", false);
  text += ".SH SEE ALSO\n" + bold(root.name) + "(1) has the variables and the exit status;\n" +
          bold(root.name + " help") + " lists the pages of the documentation.\n";
  return {root.name + "-" + command.name + ".1", std::move(text)};
}

std::string variables() {
  std::string text = ".SH ENVIRONMENT\n"
                     "Sizes are in bytes, or end in K, M, G or T (powers of 1024). Kinds of memory "
                     "are dram, hbm, nvm and cxl.\n";
  for (const OptionInfo& option : all_options()) {
    text += ".TP\n" + bold(option.name) + "\n" + sentence(option.help);
    if (*option.fallback != '\0') text += "\nDefault: " + bold(option.fallback) + ".";
    text += "\n";
  }
  return text;
}

constexpr const char* k_exit_status =
    ".SH EXIT STATUS\n"
    ".TP\n\\fB0\\fR\nDone.\n"
    ".TP\n\\fB1\\fR\n\\fBcheck\\fR found something that does not work, or \\fBtune\\fR cannot tune "
    "here.\n"
    ".TP\n\\fB2\\fR\nWrong usage.\n"
    ".PP\n\\fBrun\\fR, \\fBrecord\\fR, \\fBsites\\fR and \\fBsandbox\\fR return the program's own "
    "status, else:\n"
    ".TP\n\\fB124\\fR\nTime-out (\\fBsandbox\\fR).\n"
    ".TP\n\\fB125\\fR\nOMPTier failed.\n"
    ".TP\n\\fB126\\fR, \\fB127\\fR\nThe program cannot be executed; there is none.\n"
    ".TP\n\\fB128\\fR + \\fIN\\fR\nThe program was ended by signal \\fIN\\fR.\n";

ManPage main_page(const CommandText& root, std::string_view version) {
  std::string text = head(root.name, root, version) + ".SH DESCRIPTION\n" +
                     sentence(root.description) + "\n" + footer_text(root.footer) +
                     ".SH COMMANDS\n";
  std::string also;
  for (const CommandText& command : root.commands) {
    text += ".TP\n" + bold(command.name) + "\n" + sentence(command.description) + "\n";
    also += (also.empty() ? "" : ",\n") + bold(root.name + "-" + command.name) + "(1)";
  }
  text += entries(root.options, "OPTIONS", false) + variables() + k_exit_status + ".SH SEE ALSO\n" +
          also + "\n";
  return {root.name + ".1", std::move(text)};
}

} // namespace

std::vector<ManPage> man_pages(const CommandText& root, std::string_view version) {
  std::vector<ManPage> pages = {main_page(root, version)};
  for (const CommandText& command : root.commands)
    pages.push_back(page_of_command(root, command, version));
  return pages;
}

} // namespace omptier
