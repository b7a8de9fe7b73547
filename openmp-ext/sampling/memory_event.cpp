// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "sampling/memory_event.hpp"

#include <cstring>

namespace omptier {

bool parse_memory_sample(std::span<const std::uint64_t> words, MemoryEvent& event) {
  if (words.size() < 7) return false;
  event.pc = words[0];
  event.thread = static_cast<std::uint32_t>(words[1] >> 32); // after the process
  event.time = words[2];
  event.address = words[3];
  event.period = words[4];
  event.cycles = static_cast<std::uint32_t>(words[5]);
  read_data_source(words[6], event);
  return true;
}

void read_data_source(std::uint64_t word, MemoryEvent& event) {
  perf_mem_data_src source;
  source.val = word;
  if (source.mem_op & PERF_MEM_OP_LOAD)
    event.kind = AccessKind::load;
  else if (source.mem_op & PERF_MEM_OP_STORE)
    event.kind = AccessKind::store;
  constexpr unsigned k_caches = PERF_MEM_LVL_L1 | PERF_MEM_LVL_LFB | PERF_MEM_LVL_L2 |
                                PERF_MEM_LVL_L3 | PERF_MEM_LVL_REM_CCE1 | PERF_MEM_LVL_REM_CCE2;
  constexpr unsigned k_memories =
      PERF_MEM_LVL_LOC_RAM | PERF_MEM_LVL_REM_RAM1 | PERF_MEM_LVL_REM_RAM2;
  const unsigned level = source.mem_lvl;
  const bool cache = (level & PERF_MEM_LVL_HIT) && (level & k_caches);
  if ((level & k_memories) || (!cache && (level & PERF_MEM_LVL_MISS) && (level & PERF_MEM_LVL_L3)))
    event.level = AccessLevel::memory;
  else if (cache)
    event.level = AccessLevel::cache;
  if (event.level != AccessLevel::unknown || (level & PERF_MEM_LVL_MISS)) return;
  switch (source.mem_lvl_num) { // newer kernels report it only here
  case PERF_MEM_LVLNUM_L1:
  case PERF_MEM_LVLNUM_L2:
  case PERF_MEM_LVLNUM_L3:
  case PERF_MEM_LVLNUM_L4:
  case PERF_MEM_LVLNUM_ANY_CACHE:
  case PERF_MEM_LVLNUM_LFB:
    event.level = AccessLevel::cache;
    break;
  case PERF_MEM_LVLNUM_CXL:
  case PERF_MEM_LVLNUM_RAM:
  case PERF_MEM_LVLNUM_PMEM:
    event.level = AccessLevel::memory;
    break;
  default:
    break;
  }
}

namespace {

// Header bytes of packets, with the low bits that hold an index or a size masked out.
constexpr unsigned k_padding = 0x00, k_end = 0x01, k_timestamp = 0x71;
constexpr unsigned k_events = 0x42, k_data_source = 0x43, k_sized = 0xcf; // with a size in bits 4–5
constexpr unsigned k_context = 0x64, k_operation = 0x48, k_extended = 0x20, k_by_four = 0xfc;
constexpr unsigned k_address = 0xb0, k_counter = 0x98, k_by_eight = 0xf8;

constexpr unsigned k_address_of_instruction = 0, k_address_of_data = 2; // virtual ones
constexpr unsigned k_total_latency = 0;
constexpr unsigned k_class_memory = 1; // of operations: loads, stores, atomics
constexpr std::uint64_t k_store_bit = 1;
constexpr std::uint64_t k_first_level_refill = 1 << 3, k_last_level_access = 1 << 8,
                        k_last_level_miss = 1 << 9, k_remote_access = 1 << 10; // of events

std::uint64_t without_tag(std::uint64_t address) {
  return address & ((std::uint64_t{1} << 56) - 1);
}

struct PacketRecord { // the packets of one operation so far
  MemoryEvent event;
  std::uint64_t events = 0;
  bool has_events = false, in_memory = false, of_user = false;

  void note_address(unsigned index, std::uint64_t payload) {
    if (index == k_address_of_data) event.address = without_tag(payload);
    if (index != k_address_of_instruction) return;
    event.pc = without_tag(payload);
    of_user = (payload >> 61 & 3) == 0; // exception level
  }

  void finish(std::vector<MemoryEvent>& to) {
    if (in_memory && of_user && event.pc && event.address) {
      if (has_events && (events & (k_last_level_miss | k_remote_access)))
        event.level = AccessLevel::memory;
      else if (has_events && ((events & k_last_level_access) || !(events & k_first_level_refill)))
        event.level = AccessLevel::cache;
      to.push_back(event);
    }
    *this = {};
  }
};

} // namespace

void parse_packets(std::span<const std::uint8_t> bytes, std::vector<MemoryEvent>& events) {
  PacketRecord record;
  for (std::size_t at = 0; at < bytes.size();) {
    unsigned header = bytes[at++], high_index = 0;
    if (header == k_padding) continue;
    if (header == k_end) {
      record.finish(events);
      continue;
    }
    if ((header & k_by_four) == k_extended && at < bytes.size()) {
      high_index = (header & 3) << 3;
      header = bytes[at++];
      if (header == k_padding) continue; // alignment
    }
    std::uint64_t payload = 0;
    const std::size_t size = std::size_t{1} << (header >> 4 & 3);
    if (size > bytes.size() - at) return;
    std::memcpy(&payload, bytes.data() + at, size);
    if ((header & k_by_eight) == k_address) {
      record.note_address(high_index | (header & 7), payload);
    } else if ((header & k_by_eight) == k_counter) {
      if ((high_index | (header & 7)) == k_total_latency)
        record.event.cycles = static_cast<std::uint32_t>(payload);
    } else if ((header & k_sized) == k_events) {
      record.events = payload;
      record.has_events = true;
    } else if ((header & k_by_four) == k_operation) {
      record.in_memory = (header & 3) == k_class_memory;
      record.event.kind = payload & k_store_bit ? AccessKind::store : AccessKind::load;
    } else if (header == k_timestamp) {
      record.event.time = payload;
      record.finish(events);
    } else if ((header & k_sized) != k_data_source && (header & k_by_four) != k_context) {
      record = {}; // not a packet's header
      continue;
    }
    at += size;
  }
}

} // namespace omptier
