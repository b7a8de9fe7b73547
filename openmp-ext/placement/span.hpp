// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A span: consecutive granules of a chunk cut into blocks of one size class. Beside it, never in
// the blocks, lie a record a block and a bit a block. A block is in one of three states:
//   live     its record has a size
//   kept     no size, bit clear: in the magazine of a thread
//   free     no size, bit set: to be had here
// The bits change under the class's lock; a record is written by the thread that holds the block,
// without one. Blocks themselves are never read or written by us, so a program that writes to
// memory it has freed does not lead us astray.
#pragma once

#include "placement/size_classes.hpp"

#include <atomic>
#include <cstdint>
#include <string>

namespace omptier {

class Heap;
struct HeapChunk;

// What is known of a live block, in 12 bytes: size as asked, number of the allocator, caller (48
// bits, as code addresses of programs have; signatures above them are dropped).
class BlockRecord {
public:
  // An owner is the number of an allocator (below k_watched), with this bit where the allocator
  // wants to know of the block's end: no short way then.
  static constexpr std::uint32_t k_watched = 1 << 15;

  std::uint32_t bytes() const { return bytes_.load(std::memory_order_acquire); } // 0 = not live
  std::uint32_t allocator() const {
    return who_.load(std::memory_order_relaxed) >> 16 & (k_watched - 1);
  }
  bool watched() const { return (who_.load(std::memory_order_relaxed) >> 31) != 0; }
  const void* caller() const {
    const std::uint64_t high = who_.load(std::memory_order_relaxed) & 0xffff;
    return reinterpret_cast<const void*>(high << 32 | caller_low_.load(std::memory_order_relaxed));
  }

  [[gnu::always_inline]] void hand_out(std::uint32_t bytes, std::uint32_t owner,
                                       const void* caller) {
    const auto address = reinterpret_cast<std::uint64_t>(caller);
    caller_low_.store(static_cast<std::uint32_t>(address), std::memory_order_relaxed);
    who_.store(static_cast<std::uint16_t>(address >> 32) | owner << 16, std::memory_order_relaxed);
    bytes_.store(bytes, std::memory_order_release);
  }
  void reassign(std::uint32_t owner) {
    who_.store((who_.load(std::memory_order_relaxed) & 0xffff) | owner << 16,
               std::memory_order_relaxed);
  }
  void resize(std::uint32_t bytes) { bytes_.store(bytes, std::memory_order_release); }
  void clear() { bytes_.store(0, std::memory_order_relaxed); }

private:
  std::atomic<std::uint32_t> bytes_{0}, caller_low_{0}, who_{0};
};
static_assert(sizeof(BlockRecord) == 12);

// A free block as magazines hold it.
struct FreeBlock {
  std::uintptr_t begin = 0;
  BlockRecord* record = nullptr;
};

struct Span {
  static constexpr unsigned k_shift = 40; // exact for offsets below 2 MiB and blocks up to 256 KiB

  std::uintptr_t begin = 0;
  std::uint64_t reciprocal = 0;   // ceil(2^40 / block_bytes)
  BlockRecord* records = nullptr; // one a block
  std::uint32_t block_bytes = 0;
  std::uint32_t blocks = 0;
  std::uint16_t size_class = 0;
  std::uint16_t heap = 0; // number of the heap
  std::uint16_t granules = 0;
  bool listed = false;    // among the class's spans with free blocks
  std::uint32_t free = 0; // bits set
  std::uint32_t hint = 0; // no bit is set in the words before
  std::uint64_t* free_bits = nullptr;
  HeapChunk* chunk = nullptr;
  Span *previous = nullptr, *next = nullptr; // listed

  std::uint32_t words() const { return (blocks + 63) / 64; }
  // The block that an address inside the span lies in; blocks or more: behind the last.
  std::uint32_t index_of(std::uintptr_t address) const {
    return static_cast<std::uint32_t>((address - begin) * reciprocal >> k_shift);
  }
  std::uintptr_t address_of(std::uint32_t block) const {
    return begin + std::size_t{block} * block_bytes;
  }
  // The record of the block that begins at an address; null when none does.
  BlockRecord* record_at(std::uintptr_t address) const {
    const std::uint32_t block = index_of(address);
    return block < blocks && address_of(block) == address ? &records[block] : nullptr;
  }

  // All blocks free. records and free_bits are in place.
  void open(unsigned size_class_wanted);
  // Takes at most most free blocks; returns how many. The class is locked.
  unsigned take(FreeBlock* out, unsigned most);
  // A kept block is free again; false when it is no kept block. The class is locked.
  bool put(std::uintptr_t block);
  // kept: how many blocks are neither live nor free.
  bool is_sound(std::uint32_t& kept, std::string& why_not) const;
};

} // namespace omptier
