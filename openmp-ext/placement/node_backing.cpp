// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Memory of NUMA nodes by policy: see backing.hpp.
#include "base/notices.hpp"
#include "base/os.hpp"
#include "placement/backing.hpp"

#include <cerrno>
#include <sys/mman.h>

#ifndef MADV_DONTNEED_LOCKED
#define MADV_DONTNEED_LOCKED 24
#endif

namespace omptier {
namespace {

void* pointer(std::uintptr_t at) {
  return reinterpret_cast<void*>(at);
}

class NodePages final : public Backing {
public:
  constexpr NodePages() : Backing(true) {}

  Bound bind(std::uintptr_t begin, std::size_t bytes, const Binding& binding) override {
    const BindResult result = bind_range(begin, bytes, binding);
    if (result == BindResult::refused)
      warn_once(Notice::policy_refused,
                "The kernel refuses memory policies here (mbind; a container or sandbox may forbid "
                "them): memory is not placed.");
    if (huge_page_size() != 0)
      os().advise(pointer(begin), bytes, binding.small_pages ? MADV_NOHUGEPAGE : MADV_HUGEPAGE);
    return result == BindResult::refused ? Bound::without_policy : Bound::yes;
  }
  bool commit(std::uintptr_t begin, std::size_t bytes) override {
    return os().protect(pointer(begin), bytes, PROT_READ | PROT_WRITE) == 0;
  }
  // The second call (Linux 5.18) is for programs that lock all their memory (mlockall).
  bool drop(std::uintptr_t begin, std::size_t bytes) override {
    if (os().advise(pointer(begin), bytes, MADV_DONTNEED) == 0) return true;
    return errno == EINVAL && os().advise(pointer(begin), bytes, MADV_DONTNEED_LOCKED) == 0;
  }
};

constinit NodePages pages;

} // namespace

Backing& node_backing() {
  return pages;
}

} // namespace omptier
