// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The two buffers through which the chunks of an array pass: in which memory, how large, and by how
// many threads they are filled. Without an allocator of the program's, the memory is the fastest
// kind, faster than the array's, that has room for both; else there are none, and a reason.
#pragma once

#include "allocators/allocation.hpp"

#include <array>
#include <cstddef>
#include <span>

namespace omptier {

struct WindowRequest {
  const char* array = nullptr;
  std::size_t array_bytes = 0; // that chunks are copied from or to
  std::size_t row_bytes = 0;   // of a chunk's row
  std::size_t rows = 0;        // of the array
  std::size_t chunk_rows = 0;  // 0: chosen
  std::size_t halo_rows = 0;
  bool in = true, back = false;
  bool anywhere = false; // the program needs copies, even in memory that is no faster
  OmpValue allocator = 0;
  const void* caller = nullptr;
};

struct Window {
  std::array<void*, 2> buffers{}; // both or none
  std::size_t chunk_rows = 0;     // also without buffers
  unsigned copiers = 0;
  std::span<const unsigned> near;        // processors that copy best; none: all alike
  MemoryKind kind = MemoryKind::unknown; // of the buffers, else of the array
  const char* why_none = nullptr;
};

Window make_window(const WindowRequest& request);
void give_back_window(Window& window);

} // namespace omptier
