// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Counters of one thread: one cell for each (instruction, object, region), written only by that
// thread and read by the helper thread. In front of the cells, one entry per instruction has the
// range of the object that it accessed last, so the usual access costs a compare and a few
// additions. Counting takes no lock and allocates nothing; accesses without room in the table are
// counted as lost.
#pragma once

#include "borders/exact_counts.h"
#include "sampling/exact/object_map.hpp"

#include <atomic>
#include <cstdint>

namespace omptier::exact {

struct Access {
  std::uint64_t pc, address, bytes;
  bool store;
};

// Written by one thread, read by another.
class Counter {
public:
  void add(std::uint64_t amount) { set(get() + amount); }
  void set(std::uint64_t value) { value_.store(value, std::memory_order_relaxed); }
  std::uint64_t get() const { return value_.load(std::memory_order_relaxed); }

private:
  std::atomic<std::uint64_t> value_{0};
};

struct Cell {
  Counter pc; // 0 = unused; stored last
  std::uint64_t object, region;
  Counter time, address, accesses, bytes, chases, other_strides;
  struct Stride {
    std::atomic<std::int64_t> bytes{0};
    Counter count;
  } strides[OMPTIER_EXACT_STRIDES];
  std::uint64_t accesses_taken, bytes_taken, chases_taken; // as of the last drain
  bool store;
};

class ThreadCounters {
public:
  static constexpr std::uint32_t k_cells = 1u << 13, k_fronts = 1u << 11;

  void count(const Access& access, const ObjectMap& map) {
    Front& front = fronts_[mixed(access.pc) & (k_fronts - 1)];
    if (front.pc != access.pc || access.address - front.begin >= front.bytes ||
        front.generation != map.generation())
      if (!find_cell(access, map, front)) return lost_.add(1);
    Cell& cell = *front.cell;
    const std::uint64_t before = cell.address.get();
    if (cell.accesses.get() != 0)
      note_stride(cell, static_cast<std::int64_t>(access.address - before));
    cell.accesses.add(1);
    cell.bytes.add(access.bytes);
    cell.address.set(access.address);
    std::uint32_t links = 0;
    for (const Pointer& pointer : pointers_)
      if (access.address - pointer.to <= k_node) links = pointer.links + 1;
    if (links > 1) cell.chases.add(1); // a single pointer may be an array of pointers
    if (access.store || access.bytes != sizeof(void*)) return;
    pointers_[next_pointer_++ % k_pointers] = {
        *reinterpret_cast<const std::uint64_t*>(access.address), links};
  }

  std::uint64_t drain(void (*take)(void*, const omptier_exact_counts*), void* taker);
  void clear();

  std::atomic<std::uint32_t> thread{0}; // kernel id; 0 = free
  ThreadCounters* next = nullptr;       // list of all tables

  // Accesses that the consumer has not got yet.
  static constexpr std::uint32_t k_waiting = 4096;
  std::uint32_t waiting_count = 0;
  omptier_exact_access waiting[k_waiting];

private:
  struct Front {
    std::uint64_t pc, begin, bytes;
    Cell* cell;
    std::uint32_t generation;
  };
  static constexpr std::uint64_t k_node = 256; // largest offset of a field in its node

  static std::uint64_t mixed(std::uint64_t value) {
    value *= 0x9e3779b97f4a7c15;
    return value ^ value >> 29;
  }
  static void note_stride(Cell& cell, std::int64_t stride) {
    for (Cell::Stride& known : cell.strides) {
      const std::uint64_t count = known.count.get();
      if (count == 0) known.bytes.store(stride, std::memory_order_relaxed);
      if (count == 0 || known.bytes.load(std::memory_order_relaxed) == stride)
        return known.count.set(count + 1);
    }
    cell.other_strides.add(1);
  }
  bool find_cell(const Access& access, const ObjectMap& map, Front& front);

  Front fronts_[k_fronts];
  Cell cells_[k_cells];
  std::uint32_t cells_used_ = 0;
  // Values that the last loads of pointer size read, and the number of pointers followed to each.
  struct Pointer {
    std::uint64_t to;
    std::uint32_t links;
  };
  static constexpr std::uint32_t k_pointers = 4;
  Pointer pointers_[k_pointers];
  std::uint32_t next_pointer_ = 0;
  Counter lost_;
  std::uint64_t lost_taken_ = 0;
};

// The running region, and when it or an object last changed.
struct Moment {
  std::atomic<std::uint64_t> region{0}, time{0};
};
Moment& moment();

} // namespace omptier::exact
