// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// See command.hpp.
#include "cli/command.hpp"

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <fstream>
#include <unistd.h>

namespace omptier {

std::string choices(std::string_view names) {
  std::string text = "{";
  for (const char c : names)
    if (c != ' ') text += c;
  return text + "}";
}

int fail(const char* command, int status, const std::string& line) {
  std::fprintf(stderr, "omptier %s: %s\n", command, line.c_str());
  return status;
}

std::string problem_with_output(const std::string& path) {
  namespace fs = std::filesystem;
  std::error_code ignored;
  const fs::path whole = fs::absolute(path, ignored);
  const std::string folder = whole.parent_path().string();
  if (!fs::is_directory(folder, ignored))
    return path + ": there is no folder " + folder + "; create it first";
  if (fs::is_directory(whole, ignored)) return path + ": this is a folder; name a file in it";
  // Tried, not asked: root's permissions do not hold in /proc or on a read-only file system.
  const bool exists = fs::exists(whole, ignored);
  std::string name = exists ? whole.string() : folder + "/omptier-XXXXXX";
  const int file =
      exists ? ::open(name.c_str(), O_WRONLY | O_CLOEXEC) : ::mkostemp(name.data(), O_CLOEXEC);
  if (file < 0)
    return path + ": " + (exists ? std::string("it") : "the folder " + folder) +
           " cannot be written to (" + std::strerror(errno) + "); name another";
  ::close(file);
  if (!exists) ::unlink(name.c_str());
  return {};
}

int write_file(const char* command, const std::string& path, const std::string& text) {
  if (path == "-")
    return std::fputs(text.c_str(), stdout) >= 0 && std::fflush(stdout) == 0
               ? 0
               : fail(command, 125, "standard output cannot be written");
  std::ofstream file(path);
  file << text << std::flush;
  return file ? 0 : fail(command, 125, path + ": cannot be written; name another file");
}

} // namespace omptier
