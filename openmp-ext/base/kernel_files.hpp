// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What the kernel says in small files below /proc and /sys. Through base/os; no malloc but for what
// returns a text or a vector.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <sys/types.h>
#include <vector>

namespace omptier {

// The first size - 1 bytes of a small file, as far as one read gives them, and a zero; how many, 0
// when it cannot be read. path may lie in text.
std::size_t read_small_file(const char* path, char* text, std::size_t size);

// The same of up to 4 KiB, without blanks and line ends behind; "" when it cannot be read.
std::string read_small_file(const std::string& path);

// Bytes of a NUMA node as the kernel reports them now; false where it reports none. file_cache:
// what of the page cache it could give up. root: where /sys is.
struct NodeMemory {
  std::uint64_t total = 0, free = 0, file_cache = 0;
};
bool read_node_memory(unsigned node, NodeMemory& memory, const char* root = "/sys");

// Where a field of /proc/<process>/stat (proc(5) numbers them, from 3 on) and those behind it stand
// in text; null when it cannot be read. process: -1 is our own.
const char* read_stat_field(pid_t process, unsigned field, char* text, std::size_t size);

// Numbers of a set as the kernel prints it, "0-3,8"; as far as it is one.
std::vector<unsigned> parse_number_list(std::string_view text);

} // namespace omptier
