// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// See help_topics.hpp.
#include "cli/help_topics.hpp"

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <fstream>

namespace omptier {
namespace {

std::string first_heading(const std::string& path) {
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);)
    if (line.starts_with("# ")) return line.substr(2);
  return {};
}

std::vector<const CLI::App*> commands_of(const CLI::App& app) {
  return app.get_subcommands([](const CLI::App*) { return true; });
}

} // namespace

std::vector<HelpPage> help_pages(const CommandContext& context) {
  namespace fs = std::filesystem;
  std::vector<HelpPage> pages;
  std::error_code none;
  const fs::path folder = fs::path(context.self).parent_path() / "share/omptier/docs";
  for (const auto& entry : fs::directory_iterator(folder, none)) {
    if (entry.path().extension() != ".md") continue;
    std::string name = entry.path().stem().string();
    for (char& c : name)
      c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    pages.push_back({name, first_heading(entry.path().string()), entry.path().string()});
  }
  std::ranges::sort(pages, {}, &HelpPage::name);
  return pages;
}

std::vector<std::string> topic_names(const CLI::App& app, const CommandContext& context) {
  std::vector<std::string> names;
  for (const HelpPage& page : help_pages(context))
    names.push_back(page.name);
  for (const CLI::App* command : commands_of(app))
    names.push_back(command->get_name());
  return names;
}

std::string topics_text(const CLI::App& app, const CommandContext& context) {
  std::size_t width = 0;
  for (const std::string& name : topic_names(app, context))
    width = std::max(width, name.size());
  std::string text = "omptier help TOPIC shows one of these.\n";
  const auto add = [&](std::string name, const std::string& title) {
    name.resize(width + 2, ' ');
    text += "  " + name + title + "\n";
  };
  const auto pages = help_pages(context);
  if (!pages.empty()) text += "\nPages:\n";
  for (const HelpPage& page : pages)
    add(page.name, page.title);
  text += "\nCommands:\n";
  for (const CLI::App* command : commands_of(app))
    add(command->get_name(), command->get_description());
  return text;
}

std::string with_bold_headings(std::string_view page) {
  std::string text;
  bool code = false;
  while (!page.empty()) {
    const std::size_t end = std::min(page.find('\n'), page.size() - 1);
    std::string_view line = page.substr(0, end + 1);
    page.remove_prefix(line.size());
    if (line.starts_with("```")) code = !code;
    if (code || !line.starts_with('#')) {
      text += line;
      continue;
    }
    const bool ends = line.ends_with('\n');
    if (ends) line.remove_suffix(1);
    text += "\033[1m" + std::string(line) + "\033[0m" + (ends ? "\n" : "");
  }
  return text;
}

} // namespace omptier
