// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// See command.hpp.
#include "cli/command.hpp"

#include <cstdio>
#include <fstream>

namespace omptier {

int fail(const char* command, int status, const std::string& line) {
  std::fprintf(stderr, "omptier %s: %s\n", command, line.c_str());
  return status;
}

int write_file(const char* command, const std::string& path, const std::string& text) {
  std::ofstream file(path);
  file << text << std::flush;
  return file ? 0 : fail(command, 125, path + ": cannot be written");
}

} // namespace omptier
