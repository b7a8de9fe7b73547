// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Memory from a DAX directory (such as an NVDIMM in App Direct mode): an unnamed file there is
// mapped over slices of our own reserved ranges, so its blocks are found, listed and freed like all
// others. Bytes are allocated in the file before they become accessible, so a full file system
// refuses instead of killing the process at a touch. Freed bytes become holes.
//
// The mapping is shared, as DAX requires. After fork the child's is private: its writes go to
// ordinary memory, it gets nothing new from the directory, and cannot change its parent's data.
// Pages that it has not written it reads from the file, including the parent's later writes: the
// kernel makes no snapshot of a file, and a copy at each fork would need as much ordinary memory.
#pragma once

#include "placement/backing.hpp"

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string>

namespace omptier {

class Folder final : public Backing {
public:
  // Creates the file. "" on success, else one line that explains why not. The directory must have
  // DAX unless any_file_system is set (for tests).
  std::string open(const char* path, bool any_file_system = false);
  bool is_open() const { return file_ >= 0; }
  std::uint64_t capacity() const;

  // Bytes of the file system.
  std::uint64_t free_bytes() const override;
  // The binding is ignored. The caller's lock protects it.
  Bound bind(std::uintptr_t begin, std::size_t bytes, const Binding& binding) override;
  // Allocates in the file first; false: the file system is full.
  bool commit(std::uintptr_t begin, std::size_t bytes) override;
  bool drop(std::uintptr_t begin, std::size_t bytes) override;
  // No page is on a node.
  bool census(std::uintptr_t, std::size_t bytes, PageCensus& census) const override {
    census.untouched += bytes;
    return true;
  }
  const char* folder() const override { return path_.c_str(); }
  // In a forked child: all slices become its own, to be read, then what is in use also to be
  // written. What the kernel refuses stays closed, with a warning. No malloc.
  void leave_to_parent();
  void let_child_write(std::uintptr_t begin, std::size_t bytes);

  Folder() : Backing(false) {}
  // Used by tests only.
  ~Folder();
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;

private:
  struct Slice {
    std::uintptr_t begin = 0;
    std::size_t bytes = 0;
    std::uint64_t offset = 0; // in the file
    bool copied = false;      // in a child: its own
  };
  static constexpr unsigned k_most_slices = 64;
  const Slice* slice_of(std::uintptr_t begin) const;
  void warn_of_refused_copies() const;

  std::string path_;
  int file_ = -1;
  bool of_parent_ = false;
  std::array<Slice, k_most_slices> slices_;
  std::atomic<unsigned> count_{0};
};

} // namespace omptier
