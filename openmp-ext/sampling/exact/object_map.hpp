// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Maps an address to its live object in two or three loads, for callbacks at every access: a page
// table of two levels, whose leaves cover 1 GiB with one word a page. The word names the object
// that covers the whole page, or a table of 16-byte granules if several objects share it. Changes
// take a lock and advance a generation number; reads take no lock and find an object that was live
// at that moment, or none: words are read at once, an odd version marks an object's entry while it
// changes, and a range that does not contain the address is discarded.
//
// Assumes user addresses below 2^47. A granule that objects share belongs to the one that began
// last.
#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>

namespace omptier::exact {

struct ObjectRange {
  std::uint64_t begin = 0, end = 0;
  std::uint64_t object = 0; // the profiler's number
};

class ObjectMap {
public:
  // False if memory for the tables cannot be mapped.
  bool open();
  void begin(std::uint64_t address, std::uint64_t bytes, std::uint64_t object);
  void end(std::uint64_t address);
  // Empty if no object is there.
  ObjectRange find(std::uint64_t address) const;
  std::uint32_t generation() const { return generation_.load(std::memory_order_relaxed); }
  void changed() { generation_.fetch_add(1, std::memory_order_release); }
  void forked_child(); // the parent may have held the lock
  // Every page's word names a live object that covers the page, or a table in use.
  bool is_consistent() const;

private:
  using Word = std::uint32_t; // 0: none; else slot + 1, or k_shared + granule table + 1
  using SharedWord = std::atomic<Word>;
  struct Slot {
    std::atomic<std::uint64_t> begin, end, object; // begin of a free slot: next free one
    std::atomic<std::uint32_t> version;            // odd: changing, or free
  };
  static constexpr unsigned k_page_bits = 12, k_leaf_bits = 30, k_address_bits = 47;
  static constexpr unsigned k_granule_bits = 4;
  static constexpr Word k_shared = 1u << 31;
  static constexpr std::uint64_t k_page = 1u << k_page_bits;
  static constexpr std::uint64_t k_leaves = 1u << (k_address_bits - k_leaf_bits);
  static constexpr std::uint64_t k_leaf_pages = 1u << (k_leaf_bits - k_page_bits);
  static constexpr unsigned k_granules = 1u << (k_page_bits - k_granule_bits);
  static constexpr std::uint64_t k_most_objects = 1u << 24, k_most_tables = 1u << 20;

  SharedWord* page_word(std::uint64_t address, bool make);
  Word word_of(std::uint64_t address) const;
  ObjectRange range_of(Word word) const;
  void set(std::uint64_t begin, std::uint64_t end, Word word);
  void set_granules(SharedWord& page, std::uint64_t begin, std::uint64_t end, Word word);

  std::mutex lock_;
  std::atomic<std::uint32_t> generation_{1};
  std::atomic<SharedWord*>* leaves_ = nullptr;
  Slot* slots_ = nullptr; // reserved; pages are touched as used
  SharedWord (*granules_)[k_granules] = nullptr;
  std::uint32_t slots_used_ = 0, tables_used_ = 0;
  std::uint32_t free_slot_ = 0, free_table_ = 0; // heads of free lists; 0 = empty
};

} // namespace omptier::exact
