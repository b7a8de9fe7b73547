// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Arrays that pass through a faster memory in chunks (ompx_chunked_begin, next, end). One buffer is
// with the program while the other's chunk is written back and the next one is fetched. The order
// of chunks is known, so the next chunk that differs is always the one to fetch; what is in the
// other buffer already stays there.
//
// Halo rows are those of the array before the loop. They are fetched while the chunk before is
// still with the program and not written back, which is why chunks with halos that are written come
// in rising order, by whole rows, and have at least as many rows as a halo.
#pragma once

#include "allocators/chunk_copier.hpp"
#include "allocators/chunk_window.hpp"
#include "allocators/declarations.hpp"
#include "base/page_array.hpp"

namespace omptier {

// The layout of ompx_chunked_array_t.
struct ChunkedArray {
  std::size_t struct_size;
  void* data;
  std::size_t rows, row_bytes, row_stride;
  OmpValue mode;
  std::size_t chunk_rows, chunk_bytes, halo_rows;
  const std::size_t* order;
  std::size_t order_count;
  OmpValue allocator;
};

// The layout of ompx_chunk_t.
struct Chunk {
  std::size_t struct_size;
  void* data;
  void* with_halo;
  std::size_t number;
  std::size_t first_row, rows, first_byte, bytes, stride;
  std::size_t halo_before, halo_after;
  int copied;
  int kind;
};

class Chunked {
public:
  // Null and why.
  static Chunked* begin(const ChunkedArray& array, const void* caller, Result& why);
  // The next chunk, of which data is null behind the last one.
  void next(Chunk& chunk);
  // Writes back what is not written yet, and frees everything.
  static void end(Chunked* chunked);

private:
  static constexpr std::size_t k_none = ~std::size_t{0};
  struct Place { // of a chunk in the array
    std::size_t first_row, rows, first_byte, bytes, halo_before, halo_after;
  };

  bool set_up(const ChunkedArray& array, const void* caller, Result& why);
  bool take_order(const ChunkedArray& array, Result& why);
  void inform_of_choice() const;
  bool has_buffers() const { return window_.buffers[0] != nullptr; }
  bool is_written() const { return mode_ != value::read_only; }
  std::size_t at(std::size_t position) const { return ordered_ ? order_[position] : position; }
  Place place_of(std::size_t number) const;
  void describe(std::size_t number, Chunk& chunk) const;
  void replace(std::size_t buffer, std::size_t number);
  void fetch_after(std::size_t position);

  ChunkedArray array_{};
  OmpValue mode_ = 0;
  bool ordered_ = false;
  PageArray<std::size_t> order_;
  std::size_t count_ = 0;  // of chunks in the order
  std::size_t across_ = 1; // chunks side by side
  Window window_;
  ChunkCopier copier_;
  std::size_t position_ = 0;                    // of the next chunk in the order
  unsigned current_ = 1;                        // buffer that the program has
  std::size_t in_buffer_[2] = {k_none, k_none}; // number of the chunk, also while it is fetched
  bool dirty_[2] = {};
};

} // namespace omptier
