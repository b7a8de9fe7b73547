// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Reads memory.max, memory.current and the "file" line of memory.stat of each limited group.
#include "placement/cgroup.hpp"

#include "base/kernel_files.hpp"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace omptier {
namespace {

bool read_file_of(const char* folder, const char* name, char* text, std::size_t size) {
  char path[300];
  std::snprintf(path, sizeof path, "%s/%s", folder, name);
  return read_small_file(path, text, size) > 0;
}

} // namespace

struct CgroupFiles {
  bool version_1;
  const char *limit, *used, *cache; // cache: the lines of memory.stat with reclaimable bytes
};

namespace {

constexpr CgroupFiles k_version_2 = {false, "memory.max", "memory.current", "\nfile "};
constexpr CgroupFiles k_version_1 = {true, "memory.limit_in_bytes", "memory.usage_in_bytes",
                                     "\ntotal_cache "};

// The path in a line of /proc/self/cgroup: "0::/path", or "4:cpu,memory:/path" for a controller.
const char* path_in(const char* line, bool version_1) {
  const char* const controllers = std::strchr(line, ':');
  const char* const path = controllers != nullptr ? std::strchr(controllers + 1, ':') : nullptr;
  if (path == nullptr) return nullptr;
  if (!version_1) return std::strncmp(line, "0::", 3) == 0 ? path + 1 : nullptr;
  for (const char* at = controllers + 1; at < path; at += std::strcspn(at, ",:") + 1)
    if (std::strncmp(at, "memory", 6) == 0 && (at[6] == ',' || at[6] == ':')) return path + 1;
  return nullptr;
}

} // namespace

void CgroupLimits::find(const char* root) {
  count_ = 0;
  char text[4096];
  if (read_small_file("/proc/self/cgroup", text, sizeof text) == 0) return;
  for (const char* line = text; *line != '\0';) {
    char mount[sizeof Level::folder];
    const std::size_t end = std::strcspn(line, "\n");
    if (const char* path = path_in(line, false); path != nullptr && path <= line + end) {
      find_upwards(root, path, end - static_cast<std::size_t>(path - line), k_version_2);
      std::snprintf(mount, sizeof mount, "%s/unified", root);
      find_upwards(mount, path, end - static_cast<std::size_t>(path - line), k_version_2);
    } else if (path = path_in(line, true); path != nullptr && path <= line + end) {
      std::snprintf(mount, sizeof mount, "%s/memory", root);
      find_upwards(mount, path, end - static_cast<std::size_t>(path - line), k_version_1);
    }
    line += end + (line[end] == '\n' ? 1 : 0);
  }
}

// In a container the path may be the host's while the mount begins at the container's own group:
// folders that do not exist are skipped, and the mount's own folder is always read.
void CgroupLimits::find_upwards(const char* mount, const char* path, std::size_t length,
                                const CgroupFiles& files) {
  char folder[sizeof Level::folder];
  const std::size_t mount_length = std::strlen(mount);
  if (length == 1) length = 0; // "/"
  if (mount_length + length + 1 > sizeof folder) return;
  std::snprintf(folder, sizeof folder, "%s%.*s", mount, static_cast<int>(length), path);
  for (std::size_t end = std::strlen(folder); count_ < k_most_levels && end >= mount_length;) {
    folder[end] = '\0';
    char limit[64];
    // Version 2's "max" and version 1's largest number mean no limit.
    if (read_file_of(folder, files.limit, limit, sizeof limit) && limit[0] != 'm')
      if (const std::uint64_t bytes = std::strtoull(limit, nullptr, 10);
          bytes < std::uint64_t{1} << 60) {
        levels_[count_].limit = bytes;
        levels_[count_].version_1 = files.version_1;
        std::memcpy(levels_[count_].folder, folder, end + 1);
        ++count_;
      }
    if (end == mount_length) break;
    do
      --end;
    while (end > mount_length && folder[end] != '/');
  }
}

std::uint64_t CgroupLimits::least_limit() const {
  std::uint64_t least = k_no_limit;
  for (unsigned i = 0; i < count_; ++i)
    least = std::min(least, levels_[i].limit);
  return least;
}

std::uint64_t CgroupLimits::room() const {
  constexpr std::uint64_t k_most_margin = std::uint64_t{16} << 20;
  std::uint64_t least = k_no_limit;
  for (unsigned i = 0; i < count_; ++i) {
    const CgroupFiles& files = levels_[i].version_1 ? k_version_1 : k_version_2;
    char text[4096];
    if (!read_file_of(levels_[i].folder, files.used, text, sizeof text)) continue;
    std::uint64_t used = std::strtoull(text, nullptr, 10);
    if (read_file_of(levels_[i].folder, "memory.stat", text, sizeof text)) {
      const char* file = std::strstr(text, files.cache);
      const std::uint64_t cache =
          file != nullptr ? std::strtoull(file + std::strlen(files.cache), nullptr, 10) : 0;
      used -= std::min(used, cache);
    }
    used += std::min(levels_[i].limit / 32, k_most_margin);
    least = std::min(least, levels_[i].limit > used ? levels_[i].limit - used : 0);
  }
  return least;
}

// "Mems_allowed:\t00000000,00000003": words of 32 bits, most significant first.
NodeSet allowed_nodes() {
  NodeSet all{~std::uint64_t{0}};
  char text[8192];
  if (read_small_file("/proc/self/status", text, sizeof text) == 0) return all;
  const char* at = std::strstr(text, "\nMems_allowed:");
  if (at == nullptr) return all;
  at += std::strlen("\nMems_allowed:");
  NodeSet nodes;
  for (at += std::strspn(at, " \t"); *at != '\0' && *at != '\n'; ++at) {
    if (*at == ',') continue;
    const char digit[2] = {*at, '\0'};
    nodes.bits = nodes.bits << 4 | std::strtoull(digit, nullptr, 16); // beyond 64 nodes: dropped
  }
  return nodes.empty() ? all : nodes;
}

} // namespace omptier
