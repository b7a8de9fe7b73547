// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// See kernel_files.hpp.
#include "base/kernel_files.hpp"

#include "base/os.hpp"

#include <charconv>
#include <climits>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>

namespace omptier {
namespace {

// The number after key, in KiB there; 0 when the key is missing.
std::uint64_t kib_after(const char* text, const char* key) {
  const char* at = std::strstr(text, key);
  return at != nullptr ? std::strtoull(at + std::strlen(key), nullptr, 10) * 1024 : 0;
}

} // namespace

std::size_t read_small_file(const char* path, char* text, std::size_t size) {
  const int fd = os().open(path, O_RDONLY | O_CLOEXEC, 0);
  text[0] = '\0';
  if (fd < 0) return 0;
  const ssize_t got = os().read(fd, text, size - 1);
  os().close(fd);
  const std::size_t used = got > 0 ? static_cast<std::size_t>(got) : 0;
  text[used] = '\0';
  return used;
}

std::string read_small_file(const std::string& path) {
  char text[4096];
  const std::string_view read(text, read_small_file(path.c_str(), text, sizeof text));
  return std::string(read.substr(0, read.find_last_not_of(" \n") + 1));
}

bool read_node_memory(unsigned node, NodeMemory& memory, const char* root) {
  char text[PATH_MAX];
  if (std::strlen(root) > sizeof text - 64) return false;
  // Allocation paths call this: no stdio.
  char* number = stpcpy(stpcpy(text, root), "/devices/system/node/node");
  stpcpy(std::to_chars(number, number + 10, node).ptr, "/meminfo");
  if (read_small_file(text, text, sizeof text) == 0) return false;
  memory.total = kib_after(text, "MemTotal:");
  memory.free = kib_after(text, "MemFree:");
  memory.file_cache = kib_after(text, "Active(file):") + kib_after(text, "Inactive(file):");
  return true;
}

const char* read_stat_field(pid_t process, unsigned field, char* text, std::size_t size) {
  char path[40] = "/proc/self/stat";
  if (process >= 0) std::snprintf(path, sizeof path, "/proc/%d/stat", static_cast<int>(process));
  read_small_file(path, text, size);
  const char* at = std::strrchr(text, ')'); // the last ')': the name may hold some
  for (unsigned i = 2; at != nullptr && i < field; ++i)
    at = std::strchr(at + 1, ' ');
  return at;
}

std::vector<unsigned> parse_number_list(std::string_view text) {
  constexpr unsigned k_largest = 65535; // no kernel has as many processors
  std::vector<unsigned> numbers;
  const char *at = text.data(), *const end = at + text.size();
  for (unsigned first = 0, last = 0;;) {
    auto read = std::from_chars(at, end, first);
    last = first;
    if (read.ec == std::errc() && read.ptr != end && *read.ptr == '-')
      read = std::from_chars(read.ptr + 1, end, last);
    if (read.ec != std::errc() || last > k_largest) return numbers;
    for (; first <= last; ++first)
      numbers.push_back(first);
    if (read.ptr == end || *read.ptr != ',') return numbers;
    at = read.ptr + 1;
  }
}

} // namespace omptier
