// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Recognises captured stacks: finds, among lists of frames by (module identity, offset), the
// longest that is a prefix (innermost frames) of a stack of return addresses; so plans with fewer
// frames, or shortened by hand, work. Built once, when a plan is loaded; a match is some hash
// steps, without lock or malloc. Modules are mapped to their addresses anew after the loader's list
// has changed.
//
// Another build has other identities and offsets: nothing matches. The portable match, by function
// name and ordinal of the call, needs symbol tables and decoding, too much for the application's
// process: `omptier run` rewrites such a plan before it starts the program, and the runtime only
// counts the lists whose modules are not loaded.
#pragma once

#include "objects/modules.hpp"
#include "objects/site.hpp"

#include <atomic>
#include <span>
#include <string>
#include <vector>

namespace omptier {

class FrameMatcher {
public:
  static constexpr std::uint32_t k_none = ~std::uint32_t{0};

  // identities: the plan's module table; lists: frames that index it, innermost first. Allocates.
  // Identical lists become one (see list_of). Empty lists never match.
  FrameMatcher(std::span<const std::string> identities, std::span<const std::vector<Frame>> lists);
  ~FrameMatcher();
  FrameMatcher(const FrameMatcher&) = delete;
  FrameMatcher& operator=(const FrameMatcher&) = delete;

  // Number of the distinct list that is a prefix of the stack, or k_none. Thread-safe.
  std::uint32_t match(const ReturnAddress* stack, unsigned count) const;

  // Whether a list begins with the address. Thread-safe.
  bool may_begin(ReturnAddress address) const;

  // Whether it knows all modules loaded now; not while another thread takes up new ones.
  bool is_current() const;

  // Length of the longest list: the frames that a capture needs.
  unsigned depth() const { return depth_; }
  unsigned distinct_lists() const { return static_cast<unsigned>(distinct_.size()); }
  // The distinct list for an index of the constructor's span.
  std::uint32_t list_of(std::size_t given) const { return given_to_distinct_[given]; }
  // Lists that name a module which is not loaded (another build, or not yet).
  unsigned lists_without_module() const;

private:
  struct Table;
  Table* build(const ModuleListUse& use) const;
  const Table* current() const;

  std::vector<std::string> identities_;
  std::vector<std::vector<Frame>> distinct_;
  std::vector<std::uint32_t> given_to_distinct_;
  unsigned depth_ = 0;
  mutable std::atomic<Table*> table_{nullptr}; // replaced, never freed while others may read it
  mutable std::atomic_flag building_ = ATOMIC_FLAG_INIT;
};

} // namespace omptier
