// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Reads of this process's memory that cannot fault. A sample is decoded up to a second after it was
// taken: its code may have been unloaded and its data freed. So nothing is dereferenced; the kernel
// copies the bytes, or returns EFAULT.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace omptier {

// All bytes or nothing. Any thread; not from a signal handler.
bool read_own_memory(std::uint64_t address, void* to, std::size_t bytes);

// Caches groups of four adjacent cache lines around the last reads: an emulation reads the same few
// again and again, or those that follow, and a system call costs as much as thirty emulated
// instructions. Lines are never read again, so memory appears as at the first read.
class MemoryLines {
public:
  bool read(std::uint64_t address, void* to, std::size_t bytes); // as read_own_memory

private:
  static constexpr std::size_t k_line = 256, k_lines = 32; // a line lies within one page
  struct Line {
    std::uint64_t number = ~std::uint64_t{0}; // address / k_line
    std::array<std::uint8_t, k_line> bytes;
  };
  // Spread, as a loop's arrays often lie a multiple of some lines apart.
  static std::size_t slot(std::uint64_t number) {
    return number * 0x9e3779b97f4a7c15 >> 59 & (k_lines - 1);
  }
  const Line* line(std::uint64_t number);
  std::array<Line, k_lines> lines_;
};

template <typename T> bool read_own(std::uint64_t address, T& value) {
  return read_own_memory(address, &value, sizeof value);
}

} // namespace omptier
