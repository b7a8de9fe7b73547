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
  // Only these of the words are used from now on.
  void keep_first(std::size_t words) { bytes_ = words * sizeof *words_; }
  // After what is used was touched: why its pages are not on the node, or "".
  std::string verify() const;
  // Of the mapping, in huge pages now.
  std::size_t huge_bytes() const;

  std::span<std::uint64_t> words() const { return {words_, bytes_ / sizeof *words_}; }
  unsigned node() const { return node_; }

private:
  void* mapping_ = nullptr;
  std::size_t mapped_ = 0;
  std::uint64_t* words_ = nullptr;
  std::size_t bytes_ = 0;
  unsigned node_ = 0;
};

// Bytes of the caches that these processors use from the second level on, each cache once: a last
// level need not hold what the ones before it do. 0 = unknown. root: where /sys is.
std::uint64_t cache_bytes(const std::vector<unsigned>& cpus, const std::string& root = "/sys");

// What one of a task's buffers may come to at most.
struct MeasuredRoom {
  std::uint64_t bytes = 0;
  std::string limit;         // what limits it and what to do, for a message
  bool node_is_shown = true; // by the kernel
};
// on_node: buffers of the task on this node, in_all: on all nodes; they share the room that the
// node and this process's control groups have.
MeasuredRoom room_on(unsigned node, std::size_t on_node, std::size_t in_all);

// How much of that is used for a measurement by caches of so many bytes: eight times these, but at
// least 64 MiB and at most half of the room. 0: that would be less than twice the caches, from
// which most accesses would be served, or too little for so many threads.
std::size_t bytes_to_measure(std::uint64_t caches, std::uint64_t room, std::size_t threads = 1);

} // namespace omptier
