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
#include <sys/stat.h>
#include <unistd.h>

namespace omptier {
namespace {

namespace fs = std::filesystem;

bool write_into(const std::string& path, const std::string& text) {
  std::ofstream file(path, std::ios::binary);
  file << text << std::flush;
  return bool(file);
}

// Links, pipes and devices stay what they are, and nothing is replaced that could not be written.
bool replaces(const std::string& path) {
  std::error_code ignored;
  const fs::file_type type = fs::symlink_status(path, ignored).type();
  const std::string folder = fs::absolute(path, ignored).parent_path().string();
  return ::access(folder.c_str(), W_OK) == 0 &&
         (type == fs::file_type::not_found ||
          (type == fs::file_type::regular && ::access(path.c_str(), W_OK) == 0));
}

// And renamed: nobody meets half a file, and a full disk leaves the one before.
bool write_beside(const std::string& path, const std::string& text) {
  const std::string fresh = path + "." + std::to_string(::getpid());
  const int file = ::open(fresh.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
  if (file < 0) return write_into(path, text);
  struct stat before{};
  if (::stat(path.c_str(), &before) == 0) (void)::fchmod(file, before.st_mode & 07777);
  ::close(file);
  if (write_into(fresh, text) && std::rename(fresh.c_str(), path.c_str()) == 0) return true;
  const int error = errno;
  ::unlink(fresh.c_str());
  errno = error;
  return false;
}

} // namespace

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
  const bool written = replaces(path) ? write_beside(path, text) : write_into(path, text);
  return written ? 0 : fail(command, 125, path + ": cannot be written; name another file");
}

} // namespace omptier
