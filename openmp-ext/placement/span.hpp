// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A span: consecutive granules of a chunk, cut into blocks of one size class. Beside it, never in
// the blocks, lie one record and one bit per block. A block is in one of three states:
//   live     its record has a size
//   kept     no size, bit clear: in the magazine of a thread
//   free     no size, bit set: available here
// The bits change under the class's lock; a record is written by the thread that owns the block,
// without a lock. Blocks themselves are never read or written by us, so writes of the program to
// freed memory cannot corrupt our state.
#pragma once

#include "placement/size_classes.hpp"

#include <atomic>
#include <cstdint>
#include <string>

namespace omptier {

class Heap;
struct HeapChunk;

// Data of a live block in 12 bytes: requested size, number of the allocator, caller (48 bits, as
// code addresses have; signatures above them are dropped). Whether the block is watched is a bit
// beside the size, so that a free reads one word.
class BlockRecord {
public:
  // An owner is the number of an allocator (below k_watched), with this bit if the allocator must
  // be notified of the block's end: then there is no fast path.
  static constexpr std::uint32_t k_watched = 1 << 15;

  std::uint32_t bytes() const { // 0 = not live
    return size_.load(std::memory_order_acquire) & ~k_size_watched;
  }
  bool is_live() const { return size_.load(std::memory_order_relaxed) != 0; }
  bool is_live_and_unwatched() const {
    return static_cast<std::int32_t>(size_.load(std::memory_order_relaxed)) > 0;
  }
  std::uint32_t allocator() const {
    return who_.load(std::memory_order_relaxed) >> 16 & (k_watched - 1);
  }
  const void* caller() const {
    const std::uint64_t high = who_.load(std::memory_order_relaxed) & 0xffff;
    return reinterpret_cast<const void*>(high << 32 | caller_low_.load(std::memory_order_relaxed));
  }

  [[gnu::always_inline]] void hand_out(std::uint32_t bytes, std::uint32_t owner,
                                       const void* caller) {
    const auto address = reinterpret_cast<std::uint64_t>(caller);
    caller_low_.store(static_cast<std::uint32_t>(address), std::memory_order_relaxed);
    who_.store(static_cast<std::uint16_t>(address >> 32) | owner << 16, std::memory_order_relaxed);
    size_.store(bytes | (owner & k_watched) << 16, std::memory_order_release);
  }
  // The same for an unwatched owner, given by its owner_bits().
  static constexpr std::uint32_t owner_bits(std::uint32_t owner) { return owner << 16; }
  [[gnu::always_inline]] void hand_out_unwatched(std::uint32_t bytes, std::uint32_t bits,
                                                 const void* caller) {
    const auto address = reinterpret_cast<std::uint64_t>(caller);
    caller_low_.store(static_cast<std::uint32_t>(address), std::memory_order_relaxed);
    who_.store(static_cast<std::uint16_t>(address >> 32) | bits, std::memory_order_relaxed);
    size_.store(bytes, std::memory_order_release);
  }
  void reassign(std::uint32_t owner) {
    who_.store((who_.load(std::memory_order_relaxed) & 0xffff) | owner << 16,
               std::memory_order_relaxed);
    size_.store(bytes() | (owner & k_watched) << 16, std::memory_order_release);
  }
  void resize(std::uint32_t bytes) {
    size_.store(bytes | (size_.load(std::memory_order_relaxed) & k_size_watched),
                std::memory_order_release);
  }
  void clear() { size_.store(0, std::memory_order_relaxed); }

private:
  static constexpr std::uint32_t k_size_watched = k_watched << 16;

  std::atomic<std::uint32_t> size_{0}, caller_low_{0}, who_{0};
};
static_assert(sizeof(BlockRecord) == 12);

struct FreeBlock {
  std::uintptr_t begin = 0;
  BlockRecord* record = nullptr;
};

struct Span {
  std::uintptr_t begin = 0;
  std::uint64_t reciprocal = 0;   // ceil(2^64 / block_bytes)
  BlockRecord* records = nullptr; // one per block, and one that is never live
  std::uint32_t block_bytes = 0;
  std::uint32_t blocks = 0;
  std::uint16_t size_class = 0;
  std::uint16_t heap = 0; // number of the heap
  std::uint16_t granules = 0;
  bool listed = false;    // in the class's list of spans with free blocks
  std::uint32_t free = 0; // bits set
  std::uint32_t hint = 0; // no bit is set in earlier words
  std::uint64_t* free_bits = nullptr;
  HeapChunk* chunk = nullptr;
  Span *previous = nullptr, *next = nullptr; // in that list

  std::uint32_t words() const { return (blocks + 63) / 64; }
  // Index of the block that contains an address, or `blocks`. Exact below 2^32 of offset.
  std::uint32_t index_of(std::uintptr_t address) const {
    return static_cast<std::uint32_t>(times_reciprocal(address) >> 64);
  }
  std::uintptr_t address_of(std::uint32_t block) const {
    return begin + std::size_t{block} * block_bytes;
  }
  // Whether a block, or the rest after the last, begins at an address inside the span. The division
  // by the block size has remainder 0 exactly when the product's lower half is below the
  // reciprocal: each unit of remainder adds one reciprocal, and the rounding errors of all blocks
  // together stay below one.
  bool is_begin(std::uintptr_t address) const {
    return static_cast<std::uint64_t>(times_reciprocal(address)) < reciprocal;
  }
  // The record of the block that begins there; after the last block it is never live.
  BlockRecord* record_from(std::uintptr_t begin_of_block) const {
    return &records[times_reciprocal(begin_of_block) >> 64];
  }

  // Makes all blocks free. records and free_bits are set.
  void open(unsigned size_class_wanted);
  // Returns how many, at most `most`. The caller holds the class's lock.
  unsigned take(FreeBlock* out, unsigned most);
  // False when the block is not kept. The caller holds the class's lock.
  bool put(std::uintptr_t block);
  // kept: number of blocks that are neither live nor free.
  bool is_sound(std::uint32_t& kept, std::string& why_not) const;

private:
  __extension__ using Product = unsigned __int128;
  Product times_reciprocal(std::uintptr_t address) const {
    return static_cast<Product>(address - begin) * reciprocal;
  }
};

} // namespace omptier
