// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Where the kernel has a process's private pages, by NUMA node, from /proc/<pid>/numa_maps.
// `omptier run --where` reports these bytes by memory kind, independently of our own ledger.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <sys/types.h>

namespace omptier {

using BytesByNode = std::map<unsigned, std::uint64_t>;

// Of a numa_maps text, only the anonymous mappings (heap, stacks, private memory).
BytesByNode parse_numa_maps(std::string_view text);

// Empty if the process has ended or numa_maps cannot be read.
BytesByNode anonymous_bytes_by_node(pid_t process);

std::uint64_t total_bytes(const BytesByNode& bytes);

} // namespace omptier
