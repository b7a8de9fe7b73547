// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Memory of one node to measure on: bound, made present before any clock starts, in huge pages
// where the kernel has them, and verified with the kernel's page query.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace omptier {

class MeasuredMemory {
public:
  MeasuredMemory() = default;
  MeasuredMemory(MeasuredMemory&& other) noexcept;
  MeasuredMemory& operator=(MeasuredMemory&& other) noexcept;
  ~MeasuredMemory();

  // Returns why there is none, or "". bytes: rounded up to huge pages.
  std::string take(unsigned node, std::size_t bytes, bool huge = true);
  // Makes the pages of a part present: to be called by the thread that will use it.
  static void touch(std::span<std::uint64_t> part);
  // After all was touched: why the pages are not on the node, or "".
  std::string verify() const;

  std::span<std::uint64_t> words() const { return {words_, bytes_ / sizeof *words_}; }
  unsigned node() const { return node_; }

private:
  void* mapping_ = nullptr;
  std::size_t mapped_ = 0;
  std::uint64_t* words_ = nullptr;
  std::size_t bytes_ = 0;
  unsigned node_ = 0;
};

// Bytes of the last-level caches that these processors use, each cache once; one_of: only the
// largest of them. 0 = unknown. root: where /sys is.
std::uint64_t last_level_bytes(const std::vector<unsigned>& cpus, bool one_of,
                               const std::string& root = "/sys");

// How much of a node is used for a measurement by caches of so many bytes: eight times these, but
// at least 64 MiB and at most half of what is free. 0: that would be less than twice the caches,
// from which most accesses would be served.
std::size_t bytes_to_measure(std::uint64_t caches, std::uint64_t free_bytes);

} // namespace omptier
