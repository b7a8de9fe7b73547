// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "sampling/exact/counters.hpp"

#include <cstring>

namespace omptier::exact {

Moment& moment() {
  static Moment now;
  return now;
}

// The cell of this instruction in this object and region, created if missing; also stores it in the
// front entry. Addresses outside of objects are counted by page.
bool ThreadCounters::find_cell(const Access& access, const ObjectMap& map, Front& front) {
  constexpr std::uint64_t k_page = 4096;
  const std::uint32_t generation = map.generation();
  const ObjectRange range = map.find(access.address);
  const bool known = range.end != 0;
  const std::uint64_t region = moment().region.load(std::memory_order_relaxed);
  std::uint64_t place = mixed(access.pc ^ range.object << 32 ^ region * 0x85ebca6b);
  for (std::uint32_t tries = 0; tries < 64; ++tries, ++place) {
    Cell& cell = cells_[place & (k_cells - 1)];
    const bool unused = cell.pc.get() == 0;
    if (unused && cells_used_ > k_cells / 8 * 7) return false;
    if (!unused &&
        (cell.pc.get() != access.pc || cell.object != range.object || cell.region != region))
      continue;
    cell.time.set(moment().time.load(std::memory_order_relaxed));
    if (unused) {
      cell.object = range.object;
      cell.region = region;
      cell.store = access.store;
      cell.address.set(access.address);
      std::atomic_thread_fence(std::memory_order_release);
      cell.pc.set(access.pc);
      ++cells_used_;
    }
    front.pc = access.pc;
    front.cell = &cell;
    front.generation = generation;
    front.begin = known ? range.begin : access.address & ~(k_page - 1);
    front.bytes = known ? range.end - range.begin : 0;
    return true;
  }
  return false;
}

std::uint64_t ThreadCounters::drain(void (*take)(void*, const omptier_exact_counts*), void* taker) {
  for (Cell& cell : cells_) {
    const std::uint64_t pc = cell.pc.get();
    if (pc == 0) continue;
    std::atomic_thread_fence(std::memory_order_acquire);
    omptier_exact_counts counts = {};
    counts.accesses = cell.accesses.get() - cell.accesses_taken;
    if (counts.accesses == 0) continue;
    counts.bytes = cell.bytes.get() - cell.bytes_taken;
    counts.chases = cell.chases.get() - cell.chases_taken;
    cell.accesses_taken += counts.accesses;
    cell.bytes_taken += counts.bytes;
    cell.chases_taken += counts.chases;
    counts.time = cell.time.get();
    counts.pc = pc;
    counts.address = cell.address.get();
    counts.object = cell.object;
    counts.other_strides = cell.other_strides.get();
    for (unsigned i = 0; i < OMPTIER_EXACT_STRIDES; ++i)
      counts.strides[i] = {cell.strides[i].bytes.load(std::memory_order_relaxed),
                           cell.strides[i].count.get()};
    counts.thread = thread.load(std::memory_order_relaxed);
    counts.store = cell.store ? 1 : 0;
    take(taker, &counts);
  }
  const std::uint64_t lost = lost_.get() - lost_taken_;
  lost_taken_ += lost;
  return lost;
}

void ThreadCounters::clear() {
  std::memset(static_cast<void*>(fronts_), 0, sizeof fronts_);
  std::memset(static_cast<void*>(cells_), 0, sizeof cells_);
  cells_used_ = 0;
  lost_.set(0);
  lost_taken_ = 0;
  waiting_count = 0;
}

} // namespace omptier::exact
