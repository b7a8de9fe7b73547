// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// See html_page.hpp.
#include "cli/html_page.hpp"

#include "cli/command.hpp"

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string_view>

namespace omptier {
namespace {

bool read(const std::string& path, std::string& text) {
  std::ifstream file(path, std::ios::binary);
  text.assign(std::istreambuf_iterator<char>(file), {});
  return bool(file);
}

// Whether the file is empty or a page of ours.
bool may_be_replaced(const std::string& file) {
  static constexpr std::string_view k_mark = "The page of omptier "; // of pictures/page.html
  std::ifstream in(file, std::ios::binary);
  char begin[512];
  in.read(begin, sizeof begin);
  const std::string_view text(begin, static_cast<std::size_t>(in.gcount()));
  return text.empty() || text.find(k_mark) != text.npos;
}

std::string problem_with_part(const std::string& folder, const std::string& name) {
  return name == "vega.js" ? "--html: this build has no library that draws: build again where "
                             "the network is reachable and python3-venv is installed"
                           : folder + "/" + name + ": cannot be read; reinstall OMPTier";
}

} // namespace

std::string pictures_folder(const std::string& self) {
  return (std::filesystem::path(self).parent_path() / "share/omptier/pictures").string();
}

std::string in_script(const std::string& json) {
  std::string safe;
  for (const char c : json)
    if (c == '<')
      safe += "\\u003c";
    else
      safe += c;
  return safe;
}

Parsed<std::string> filled_page(const std::string& command, std::span<const char* const> scripts,
                                const std::string& numbers, const std::string& folder) {
  using Result = Parsed<std::string>;
  std::string page, part, all;
  for (const char* name : scripts) {
    if (!read(folder + "/" + name, part)) return Result::failure(problem_with_part(folder, name));
    all += part;
  }
  if (!read(folder + "/page.html", page))
    return Result::failure(problem_with_part(folder, "page.html"));
  std::string text;
  for (std::size_t at = 0;;) {
    const std::size_t begin = page.find("@@", at);
    text.append(page, at, begin - at);
    if (begin == page.npos) return text;
    const std::size_t end = page.find("@@", begin + 2);
    const std::string what = page.substr(begin + 2, end - begin - 2);
    if (what == "command")
      text += command;
    else if (what == "numbers")
      text += numbers;
    else if (what == "scripts")
      text += all;
    else if (read(folder + "/" + what, part))
      text += part;
    else
      return Result::failure(problem_with_part(folder, what));
    at = end + 2;
  }
}

std::string problem_with_page(const std::string& file, std::span<const std::string> profiles) {
  if (file == "-") return "- is no file that a browser opens; name one";
  std::error_code ignored;
  for (const std::string& profile : profiles)
    if (std::filesystem::equivalent(file, profile, ignored))
      return file + " is one of the profiles; name another file for the page";
  if (std::filesystem::is_regular_file(file, ignored) && !may_be_replaced(file))
    return file + " is there, and is no page of this command; name another file";
  return problem_with_output(file);
}

int write_page(const char* command, const std::string& file, const std::string& page) {
  const int status = write_file(command, file, page);
  if (status == 0)
    std::fprintf(stderr, "omptier %s: %s written; open it in a browser\n", command, file.c_str());
  return status;
}

} // namespace omptier
