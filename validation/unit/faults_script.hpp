// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A fixed script of 200 operations on the allocator hooks, as libomp calls them, for the fault
// tests: allocators of several kinds, blocks of 16 bytes to 64 MiB, realloc, calloc, queries,
// dumps, moves, a fork. Every result is compared with what OpenMP allows, every block with what was
// written into it. It runs in a process of its own and uses nothing of GoogleTest.
#pragma once

#include <string>

// The script, then everything it holds is freed. "" or what was wrong.
std::string run_fault_script(bool more_kinds);

// After the script, with no faults: the books are right, nothing is counted as used and nothing is
// mapped that could hold data. "" or what is left.
std::string check_nothing_left(bool more_kinds);
