// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Tells a process from copies that it does not know of: children made without fork handlers (_Fork,
// clone). Such a child has our state, and shared mappings that belong to its parent. A child that
// shares our memory (vfork) is no copy.
#pragma once

#include "base/os.hpp"

#include <cstdint>
#include <sys/mman.h>
#include <unistd.h>

namespace omptier {

// A zeroed page that is zero in every copy too; null where the kernel has none (before Linux 4.14).
inline std::uint8_t* page_wiped_in_children() {
  void* page =
      os().map(nullptr, page_size(), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (page == MAP_FAILED) return nullptr;
  if (os().advise(page, page_size(), MADV_WIPEONFORK) == 0)
    return static_cast<std::uint8_t*>(page);
  os().unmap(page, page_size());
  return nullptr;
}

// Where there is no such page, the process number decides: a system call each time, and a vfork
// child counts as a copy.
class OwnerMark {
public:
  OwnerMark() = default;
  OwnerMark(const OwnerMark&) = delete;
  OwnerMark& operator=(const OwnerMark&) = delete;
  ~OwnerMark() {
    if (page_ != nullptr) os().unmap(page_, page_size());
  }

  void set() {
    if (page_ == nullptr) page_ = page_wiped_in_children();
    if (page_ != nullptr) *page_ = 1;
    process_ = ::getpid();
  }
  // By this process: false in a copy made since.
  bool is_set() const { return page_ != nullptr ? *page_ != 0 : ::getpid() == process_; }

private:
  std::uint8_t* page_ = nullptr;
  pid_t process_ = 0;
};

} // namespace omptier
