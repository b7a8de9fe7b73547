// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Reads memory.max, memory.current and the "file" line of memory.stat of each limited group.
#include "placement/cgroup.hpp"

#include "base/os.hpp"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>

namespace omptier {
namespace {

bool read_text(const char* path, char* text, std::size_t size) {
  const int fd = os().open(path, O_RDONLY | O_CLOEXEC, 0);
  if (fd < 0) return false;
  const ssize_t got = os().read(fd, text, size - 1);
  os().close(fd);
  text[got > 0 ? got : 0] = '\0';
  return got > 0;
}

bool read_file_of(const char* folder, const char* name, char* text, std::size_t size) {
  char path[300];
  std::snprintf(path, sizeof path, "%s/%s", folder, name);
  return read_text(path, text, size);
}

} // namespace

void CgroupLimits::find(const char* root) {
  count_ = 0;
  char text[4096];
  if (!read_text("/proc/self/cgroup", text, sizeof text)) return;
  // Version 2 is the line that begins with "0::".
  const char* at = std::strncmp(text, "0::", 3) == 0 ? text : std::strstr(text, "\n0::");
  if (at == nullptr) return;
  at = std::strstr(at, "::") + 2;
  const std::size_t length = std::strcspn(at, "\n");
  char folder[sizeof Level::folder];
  const std::size_t root_length = std::strlen(root);
  if (root_length + length + 1 > sizeof folder) return;
  std::snprintf(folder, sizeof folder, "%s%.*s", root, static_cast<int>(length), at);
  for (std::size_t end = std::strlen(folder); count_ < k_most_levels && end >= root_length;) {
    folder[end] = '\0';
    char limit[64];
    if (read_file_of(folder, "memory.max", limit, sizeof limit) && limit[0] != 'm') {
      levels_[count_].limit = std::strtoull(limit, nullptr, 10);
      std::memcpy(levels_[count_].folder, folder, end + 1);
      ++count_;
    }
    if (end == root_length) break;
    while (end > root_length && folder[--end] != '/') {
    }
  }
}

std::uint64_t CgroupLimits::room() const {
  std::uint64_t least = k_no_limit;
  for (unsigned i = 0; i < count_; ++i) {
    char text[1024];
    if (!read_file_of(levels_[i].folder, "memory.current", text, sizeof text)) continue;
    std::uint64_t used = std::strtoull(text, nullptr, 10);
    if (read_file_of(levels_[i].folder, "memory.stat", text, sizeof text)) {
      const char* file = std::strstr(text, "\nfile ");
      const std::uint64_t cache = file != nullptr ? std::strtoull(file + 6, nullptr, 10) : 0;
      used -= std::min(used, cache);
    }
    least = std::min(least, levels_[i].limit > used ? levels_[i].limit - used : 0);
  }
  return least;
}

} // namespace omptier
