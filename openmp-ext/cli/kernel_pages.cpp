// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Reads numa_maps: one line a mapping, "address policy key[=value]…". N<node>=<pages> counts pages
// of kernelpagesize_kB; file=… marks file mappings.
#include "cli/kernel_pages.hpp"

#include <charconv>
#include <fstream>
#include <sstream>

namespace omptier {
namespace {

std::uint64_t number(std::string_view text) {
  std::uint64_t value = 0;
  std::from_chars(text.data(), text.data() + text.size(), value);
  return value;
}

void add_mapping(std::string_view line, BytesByNode& sum) {
  BytesByNode pages;
  std::uint64_t page_bytes = 4096;
  while (!line.empty()) {
    const auto space = line.find(' ');
    const std::string_view word = line.substr(0, space);
    line.remove_prefix(space == std::string_view::npos ? line.size() : space + 1);
    const auto equals = word.find('=');
    if (equals == std::string_view::npos) continue;
    const std::string_view key = word.substr(0, equals);
    const std::string_view value = word.substr(equals + 1);
    if (key == "file") return;
    if (key == "kernelpagesize_kB") page_bytes = number(value) * 1024;
    if (key.size() > 1 && key[0] == 'N' && key[1] >= '0' && key[1] <= '9')
      pages[static_cast<unsigned>(number(key.substr(1)))] += number(value);
  }
  for (const auto& [node, count] : pages)
    sum[node] += count * page_bytes;
}

} // namespace

BytesByNode parse_numa_maps(std::string_view text) {
  BytesByNode sum;
  while (!text.empty()) {
    const auto end = text.find('\n');
    add_mapping(text.substr(0, end), sum);
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
  }
  return sum;
}

BytesByNode anonymous_bytes_by_node(pid_t process) {
  std::ifstream file("/proc/" + std::to_string(process) + "/numa_maps");
  std::stringstream text;
  text << file.rdbuf();
  return parse_numa_maps(text.str());
}

std::uint64_t total_bytes(const BytesByNode& bytes) {
  std::uint64_t sum = 0;
  for (const auto& [node, count] : bytes)
    sum += count;
  return sum;
}

} // namespace omptier
