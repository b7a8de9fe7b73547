// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The accesses that are timed, one thread's part of each. A kernel does a block of accesses, from
// where the block before ended, and is called until a slice of time is over. Every kernel accesses
// whole lines: reads load one word of each, writes store all of it. All of the memory is accessed
// before a line is again, so that what caches hold of it is of no use.
#pragma once

#include "calibration/measurement.hpp"

#include <cstddef>
#include <cstdint>
#include <span>

namespace omptier {

inline constexpr std::size_t k_words_of_line = 8; // of 64 bytes

// One thread's part of memory, a multiple of 64 KiB in size, and where it is.
struct Stretch {
  std::span<std::uint64_t> words;
  std::size_t at = 0;       // next word, or the counter of random places
  std::uint64_t result = 0; // of what was read: keeps the compiler from dropping loads
};

// Links the lines of the words in one cycle through random places.
void link_lines(std::span<std::uint64_t> words);
// How many lines of so many words are linked: all, or a few percent less.
std::size_t linked_lines(std::size_t words);

// Whether following the links from the first line comes to as many lines as were linked.
bool is_one_cycle(std::span<const std::uint64_t> words);

// Each does one block and returns what it did: accesses of a latency, else bytes.
std::size_t chase_block(Stretch& stretch);
std::size_t atomic_chase_block(Stretch& stretch);
std::size_t read_block(Stretch& stretch);
std::size_t write_block(Stretch& stretch);
std::size_t copy_block(Stretch& stretch); // from one half to the other, in turns
std::size_t strided_block(Stretch& stretch);
std::size_t tiled_block(Stretch& stretch);
std::size_t gather_block(Stretch& stretch, std::size_t lines); // groups of so many lines

// The block of a quantity that one kind of thread measures.
std::size_t run_block(Quantity quantity, Stretch& stretch);

} // namespace omptier
