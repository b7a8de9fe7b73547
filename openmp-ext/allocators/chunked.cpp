// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// See chunked.hpp.
#include "allocators/chunked.hpp"

#include "base/notices.hpp"

#include <algorithm>
#include <new>

namespace omptier {
namespace {

bool refused(const char* text) {
  warn_once_of(Notice::chunks_refused, text, "ompx_chunked_begin: %s.", text);
  return false;
}

// Of the last row, only its own bytes count.
bool extent_of(const ChunkedArray& array, std::size_t& bytes) {
  std::size_t before = 0;
  const auto begin = reinterpret_cast<std::uintptr_t>(array.data);
  return !__builtin_mul_overflow(array.rows - 1, array.row_stride, &before) &&
         !__builtin_add_overflow(before, array.row_bytes, &bytes) &&
         bytes <= k_largest_block / 8 && // with its halos, too

         begin + bytes >= begin;
}

// What no array can mean. One line a cause: what is wrong, and what would be right.
bool is_valid(const ChunkedArray& array, std::size_t& extent) {
  if (array.data == nullptr || array.rows == 0 || array.row_bytes == 0)
    return refused("data, rows or row_bytes is 0; all three are needed");
  if (array.row_stride < array.row_bytes)
    return refused("row_stride is less than row_bytes; it counts from one row's begin to the next");
  if (!extent_of(array, extent))
    return refused("rows times row_stride is more than there can be; they count rows and bytes");
  if (array.mode != value::read_only && array.mode != value::read_write &&
      array.mode != value::write_only)
    return refused("the mode is none of ompx_atv_access_mode_read_only, _read_write, _write_only");
  if (array.chunk_bytes > array.row_bytes)
    return refused("chunk_bytes is more than row_bytes; it is a part of each row");
  if ((array.order == nullptr) != (array.order_count == 0))
    return refused("one of order and order_count is 0; give both or none");
  if (array.order != nullptr && array.chunk_rows == 0)
    return refused("an order needs chunk_rows, because it counts chunks of that size");
  return true;
}

// See chunked.hpp.
bool has_valid_halo(const ChunkedArray& array) {
  if (array.halo_rows == 0) return true;
  if (array.mode == value::write_only)
    return refused("write_only chunks have no halo, because nothing is read; set halo_rows to 0");
  if (array.chunk_rows != 0 && array.halo_rows > array.chunk_rows)
    return refused("halo_rows is more than chunk_rows; make chunks larger");
  if (array.mode == value::read_write &&
      (array.order != nullptr || array.chunk_bytes != array.row_bytes))
    return refused(
        "chunks that are written and have a halo come in rising order and by whole rows; "
        "leave out order and chunk_bytes, or write to another array");
  return true;
}

} // namespace

bool Chunked::take_order(const ChunkedArray& array, Result& why) {
  const std::size_t down = (array.rows - 1) / array_.chunk_rows + 1;
  count_ = down * across_;
  if (array.order == nullptr) return true;
  for (std::size_t i = 0; i < array.order_count; ++i)
    if (array.order[i] >= count_)
      return refused("order names a chunk that the array does not have; numbers begin at 0");
  if (!order_.resize(array.order_count, 0)) {
    why = Result::out_of_memory;
    return false;
  }
  std::copy(array.order, array.order + array.order_count, order_.begin());
  count_ = array.order_count;
  ordered_ = true;
  return true;
}

bool Chunked::set_up(const ChunkedArray& array, const void* caller, Result& why) {
  array_ = array;
  mode_ = array.mode;
  if (array_.row_stride == 0) array_.row_stride = array_.row_bytes;
  if (array_.chunk_bytes == 0) array_.chunk_bytes = array_.row_bytes;
  std::size_t extent = 0;
  if (!is_valid(array_, extent) || !has_valid_halo(array_)) return false;
  array_.chunk_rows = std::min(array_.chunk_rows, array_.rows);
  array_.halo_rows = std::min(array_.halo_rows, array_.rows);
  across_ = (array_.row_bytes - 1) / array_.chunk_bytes + 1;
  // Before buffers are taken, if it can be.
  if (array_.chunk_rows != 0 && !take_order(array_, why)) return false;
  WindowRequest request;
  request.array = static_cast<const char*>(array_.data);
  request.array_bytes = extent;
  request.row_bytes = array_.chunk_bytes;
  request.rows = array_.rows;
  request.chunk_rows = array_.chunk_rows;
  request.halo_rows = array_.halo_rows;
  request.in = mode_ != value::write_only;
  request.back = is_written();
  request.anywhere = is_written() && array_.halo_rows != 0;
  request.allocator = array_.allocator;
  request.caller = caller;
  window_ = make_window(request);
  if (request.anywhere && !has_buffers()) {
    why = Result::out_of_memory;
    return false;
  }
  if (array_.chunk_rows == 0) {
    array_.chunk_rows = window_.chunk_rows;
    take_order(array_, why);
  }
  return true;
}

void Chunked::inform_of_choice() const {
  if (has_buffers())
    inform(Notice::chunks_chosen,
           "ompx_chunked_begin: %zu chunks of %zu bytes pass through %s, copied by %u threads.",
           count_, array_.chunk_rows * array_.chunk_bytes, title_of(window_.kind).data(),
           window_.copiers);
  else
    inform(Notice::chunks_in_place, "ompx_chunked_begin: %s: the array itself is used.",
           window_.why_none);
}

Chunked* Chunked::begin(const ChunkedArray& array, const void* caller, Result& why) {
  const NotCancelled meanwhile;
  why = Result::out_of_memory;
  void* pages = map_pages(sizeof(Chunked));
  if (pages == nullptr) return nullptr;
  auto* made = new (pages) Chunked();
  why = Result::invalid_argument;
  if (!made->set_up(array, caller, why)) {
    end(made);
    return nullptr;
  }
  if (made->has_buffers()) {
    const unsigned started = made->copier_.start(made->window_.copiers, made->window_.near);
    if (started == 0)
      warn_once(Notice::chunks_not_beside,
                "ompx_chunked_begin: no thread can be started: chunks are copied while the program "
                "waits.");
    made->window_.copiers = started;
    made->replace(0, made->at(0));
  }
  made->inform_of_choice();
  return made;
}

Chunked::Place Chunked::place_of(std::size_t number) const {
  Place place{};
  place.first_row = number / across_ * array_.chunk_rows;
  place.rows = std::min(array_.chunk_rows, array_.rows - place.first_row);
  place.first_byte = number % across_ * array_.chunk_bytes;
  place.bytes = std::min(array_.chunk_bytes, array_.row_bytes - place.first_byte);
  place.halo_before = std::min(array_.halo_rows, place.first_row);
  place.halo_after = std::min(array_.halo_rows, array_.rows - place.first_row - place.rows);
  return place;
}

void Chunked::describe(std::size_t number, Chunk& chunk) const {
  const Place place = place_of(number);
  char* data =
      static_cast<char*>(array_.data) + place.first_row * array_.row_stride + place.first_byte;
  chunk.stride = array_.row_stride;
  if (has_buffers()) {
    chunk.stride = array_.chunk_bytes;
    data = static_cast<char*>(window_.buffers[current_]) + array_.halo_rows * chunk.stride;
  }
  chunk.data = data;
  chunk.with_halo = data - place.halo_before * chunk.stride;
  chunk.number = number;
  chunk.first_row = place.first_row;
  chunk.rows = place.rows;
  chunk.first_byte = place.first_byte;
  chunk.bytes = place.bytes;
  chunk.halo_before = place.halo_before;
  chunk.halo_after = place.halo_after;
  chunk.copied = has_buffers() ? 1 : 0;
  chunk.kind = static_cast<int>(window_.kind);
}

// Begins to write back what the buffer has, and to fetch a chunk (none: k_none).
void Chunked::replace(std::size_t buffer, std::size_t number) {
  ChunkJob job;
  job.buffer = static_cast<char*>(window_.buffers[buffer]);
  job.pitch = array_.chunk_bytes;
  job.stride = array_.row_stride;
  job.rows = array_.chunk_rows + 2 * array_.halo_rows;
  const auto in_array = [&](const Place& place, std::size_t row) {
    return static_cast<char*>(array_.data) + row * array_.row_stride + place.first_byte;
  };
  if (dirty_[buffer]) {
    const Place old = place_of(in_buffer_[buffer]);
    job.back = {in_array(old, old.first_row), array_.halo_rows, old.rows, old.bytes};
  }
  if (number != k_none && mode_ != value::write_only) {
    const Place place = place_of(number);
    job.in = {in_array(place, place.first_row - place.halo_before),
              array_.halo_rows - place.halo_before,
              place.halo_before + place.rows + place.halo_after, place.bytes};
  }
  in_buffer_[buffer] = number;
  dirty_[buffer] = false;
  copier_.begin(job);
}

// The program has the chunk at this position: the other buffer gets the next one that differs.
void Chunked::fetch_after(std::size_t position) {
  const unsigned other = 1 - current_;
  std::size_t next = position + 1;
  while (next < count_ && at(next) == at(position))
    ++next;
  const std::size_t number = next < count_ ? at(next) : k_none;
  if (number == k_none ? dirty_[other] : in_buffer_[other] != number) replace(other, number);
}

void Chunked::next(Chunk& chunk) {
  const NotCancelled meanwhile; // half a chunk would be copied
  chunk = {};
  if (position_ == count_) {
    if (!has_buffers()) return;
    copier_.finish();
    if (dirty_[current_]) replace(current_, k_none);
    copier_.finish();
    return;
  }
  const std::size_t number = at(position_);
  if (has_buffers() && in_buffer_[current_] != number) {
    copier_.finish();
    current_ = 1 - current_;
    fetch_after(position_);
  }
  if (has_buffers()) dirty_[current_] = is_written();
  describe(number, chunk);
  ++position_;
}

void Chunked::end(Chunked* chunked) {
  const NotCancelled meanwhile; // it waits for threads
  if (chunked->has_buffers()) {
    chunked->copier_.finish();
    for (const unsigned buffer : {0u, 1u}) {
      if (chunked->dirty_[buffer]) chunked->replace(buffer, k_none);
      chunked->copier_.finish();
    }
    chunked->copier_.stop();
    give_back_window(chunked->window_);
  }
  chunked->~Chunked();
  unmap_pages(chunked, sizeof(Chunked));
}

} // namespace omptier
