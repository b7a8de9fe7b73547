// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Finding a program as exec and shells do.
#pragma once

#include <cstdlib>
#include <filesystem>
#include <string>
#include <string_view>
#include <unistd.h>

namespace omptier {

// A name with a slash is returned as it is; "" if the program is not in PATH.
inline std::string path_of_program(std::string_view name) {
  if (name.empty() || name.find('/') != name.npos) return std::string(name);
  const char* folders = std::getenv("PATH");
  std::string_view rest = folders != nullptr ? folders : "/bin:/usr/bin"; // execvp's default
  for (bool more = true; more;) {
    const auto colon = rest.find(':');
    std::string path(rest.substr(0, colon)); // an empty part is the current folder
    path.append(path.empty() ? "" : "/").append(name);
    std::error_code none;
    if (std::filesystem::is_regular_file(path, none) && ::access(path.c_str(), X_OK) == 0)
      return path;
    more = colon != rest.npos;
    rest.remove_prefix(more ? colon + 1 : 0);
  }
  return {};
}

} // namespace omptier
