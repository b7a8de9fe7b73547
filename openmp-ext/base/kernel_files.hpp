// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Small files below /proc and /sys, through base/os; malloc only to return strings and vectors.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <sys/types.h>
#include <vector>

namespace omptier {

// Reads up to size - 1 bytes with one read and adds a zero. Returns the number of bytes, 0 when the
// file cannot be read. path may lie in text.
std::size_t read_small_file(const char* path, char* text, std::size_t size);

// Up to 4 KiB of a file, without trailing blanks and newlines; "" when it cannot be read.
std::string read_small_file(const std::string& path);

// Memory of a NUMA node in bytes, as the kernel reports it now; false where it reports none.
// file_cache: the part of the page cache that the kernel can reclaim. root: where /sys is.
struct NodeMemory {
  std::uint64_t total = 0, free = 0, file_cache = 0;
};
bool read_node_memory(unsigned node, NodeMemory& memory, const char* root = "/sys");

// Reads /proc/<process>/stat into text. Returns where the given field begins (numbered as in
// proc(5), from 3 on), followed by the later ones; null when it cannot be read. process -1: our
// own.
const char* read_stat_field(pid_t process, unsigned field, char* text, std::size_t size);

// Parses a set as the kernel prints it, "0-3,8"; stops at the first part that is none.
std::vector<unsigned> parse_number_list(std::string_view text);

} // namespace omptier
