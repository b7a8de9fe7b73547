// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The loaded code of this process: the object that contains an address, and the bounds of the
// function around it, from its unwind table (objects/unwind_rule.hpp).
//
// The list of objects is read again when the dynamic loader has added or removed one.
#pragma once

#include "objects/unwind_rule.hpp"

#include <vector>

namespace omptier {

class CodeMap {
public:
  // True if the list was read again: addresses may now mean something else.
  bool refresh();
  bool is_code(std::uint64_t address) const;
  // Nothing if no unwind table covers the address.
  std::optional<CodeRange> function_around(std::uint64_t address) const;

private:
  struct Segment {
    CodeRange range;
    std::uint64_t unwind_header = 0; // address of .eh_frame_hdr, 0 = none
  };
  const Segment* segment_of(std::uint64_t address) const;

  std::vector<Segment> segments_; // executable ones, ascending
  unsigned long long added_ = 0, removed_ = 0;
};

// Uses the .eh_frame_hdr at header_address. Never faults, whatever the tables contain.
std::optional<CodeRange> function_in_unwind_table(std::uint64_t header_address,
                                                  std::uint64_t address);

} // namespace omptier
