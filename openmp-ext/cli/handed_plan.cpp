// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// See handed_plan.hpp. A file is in use while a process has its path in the environment it was
// started with. Other users' environments are unreadable, but these users cannot read the file
// either.
#include "cli/handed_plan.hpp"

#include "base/kernel_files.hpp"
#include "base/options.hpp"

#include <cerrno>
#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

namespace omptier {
namespace {

namespace fs = std::filesystem;

// Start of the files' names: "omptier-plan-", an identity of this machine's boot and pid namespace
// (a temporary folder may be shared by machines, and by containers of one), the pid of the process
// that made the file, and a random word.
std::string prefix() {
  std::string boot = read_small_file("/proc/sys/kernel/random/boot_id");
  std::error_code none;
  boot += fs::read_symlink("/proc/self/ns/pid", none).string();
  char text[40];
  std::snprintf(text, sizeof text, "omptier-plan-%08x-",
                static_cast<unsigned>(std::hash<std::string>{}(boot)));
  return text;
}

bool is_number(const std::string& text) {
  return !text.empty() && text.find_first_not_of("0123456789") == std::string::npos;
}

bool is_used(const fs::path& path) {
  const std::string wanted = std::string(info_of(Option::plan).name) + "=" + path.string();
  std::error_code error;
  for (fs::directory_iterator entry("/proc", error), end; !error && entry != end;
       entry.increment(error)) {
    if (!is_number(entry->path().filename().string())) continue;
    std::ifstream file(entry->path() / "environ", std::ios::binary);
    for (std::string variable; std::getline(file, variable, '\0');)
      if (variable == wanted) return true;
  }
  return false;
}

// Pid of the process that made this file, if it was of this machine; 0 for other files.
pid_t maker_of(const fs::directory_entry& entry, const std::string& ours) {
  const std::string name = entry.path().filename().string();
  struct stat status;
  if (!name.starts_with(ours) || ::lstat(entry.path().c_str(), &status) != 0 ||
      !S_ISREG(status.st_mode) || status.st_uid != ::geteuid())
    return 0;
  pid_t maker = 0;
  const char* begin = name.data() + ours.size();
  const auto [end, error] = std::from_chars(begin, name.data() + name.size(), maker);
  return error == std::errc() && end != begin && *end == '-' ? maker : 0;
}

void remove_unused(const fs::path& folder, const std::string& ours) {
  std::error_code error;
  for (fs::directory_iterator entry(folder, error), end; !error && entry != end;
       entry.increment(error)) {
    const pid_t maker = maker_of(*entry, ours);
    const bool ended = maker > 0 && ::kill(maker, 0) != 0 && errno == ESRCH;
    if (ended && !is_used(entry->path())) ::unlink(entry->path().c_str());
  }
}

int write_all(int file, std::string_view text) {
  while (!text.empty()) {
    const ssize_t written = ::write(file, text.data(), text.size());
    if (written < 0 && errno != EINTR) return errno;
    if (written == 0) return ENOSPC;
    if (written > 0) text.remove_prefix(static_cast<std::size_t>(written));
  }
  return 0;
}

} // namespace

Parsed<std::string> HandedPlan::write(const std::string& text) {
  refused_ = true;
  std::error_code none;
  fs::path folder = fs::temp_directory_path(none);
  if (none) {
    const char* named = std::getenv("TMPDIR");
    return Parsed<std::string>::failure(
        std::string("no folder for the plan: ") + (named != nullptr ? named : "/tmp") + ": " +
        none.message() + "; set TMPDIR to one you may write to");
  }
  folder = fs::absolute(folder);
  const std::string ours = prefix();
  remove_unused(folder, ours);
  std::string path = folder / (ours + std::to_string(::getpid()) + "-XXXXXX");
  const int file = ::mkostemp(path.data(), O_CLOEXEC); // mode 0600
  int error = file < 0 ? errno : 0;
  if (file >= 0) {
    path_ = path;
    error = write_all(file, text);
    if (::close(file) != 0 && error == 0) error = errno;
  }
  refused_ = error != 0;
  if (!refused_) return path;
  return Parsed<std::string>::failure("no room for the plan: " + path + ": " +
                                      std::strerror(error) + "; set TMPDIR to a folder that has");
}

HandedPlan::~HandedPlan() {
  if (!path_.empty() && !is_used(path_)) ::unlink(path_.c_str());
}

} // namespace omptier
