// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Reads of this process' own memory that cannot fault. A sample is looked at up to a second after
// it was taken: the code it points to may have been unloaded and the data released, so nothing is
// ever dereferenced; the kernel copies, and says EFAULT where there is nothing.
#pragma once

#include <cstddef>
#include <cstdint>

namespace omptier {

// All bytes or nothing. Any thread; not from a signal handler.
bool read_own_memory(std::uint64_t address, void* to, std::size_t bytes);

template <typename T> bool read_own(std::uint64_t address, T& value) {
  return read_own_memory(address, &value, sizeof value);
}

} // namespace omptier
