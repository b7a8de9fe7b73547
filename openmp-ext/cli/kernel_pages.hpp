// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Where a running program's memory really is, as the kernel says: private pages of a process by
// NUMA node, from /proc/<pid>/numa_maps. Used by `omptier run` to report bytes per memory kind
// without believing our own books.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <sys/types.h>

namespace omptier {

using BytesByNode = std::map<unsigned, std::uint64_t>;

// Sums the anonymous mappings (heap, stacks, private memory) of numa_maps text; files are left out.
BytesByNode parse_numa_maps(std::string_view text);

// The same for a running process; empty when it is gone or the kernel does not say.
BytesByNode anonymous_bytes_by_node(pid_t process);

std::uint64_t total_bytes(const BytesByNode& bytes);

} // namespace omptier
