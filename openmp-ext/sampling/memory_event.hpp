// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// One memory access as the processor sampled it, and the two forms in which it arrives: a record in
// perf's ring (Intel PEBS, AMD IBS), or a sequence of packets in perf's auxiliary buffer (ARM SPE).
// Nothing here needs such a processor.
#pragma once

#include "objects/access.hpp"

#include <cstddef>
#include <cstdint>
#include <linux/perf_event.h>
#include <span>
#include <vector>

namespace omptier {

struct MemoryEvent {
  std::uint64_t time = 0;    // CLOCK_MONOTONIC ns; of SPE: ticks of the generic timer, 0 = unknown
  std::uint64_t pc = 0;      // the instruction itself
  std::uint64_t address = 0; // what it accessed; 0 = unknown
  std::uint64_t period = 1;  // events that it represents
  std::uint32_t thread = 0;
  std::uint32_t cycles = 0; // latency; 0 = unknown
  AccessKind kind = AccessKind::unknown;
  AccessLevel level = AccessLevel::unknown;
};

// The sample type for parse_memory_sample, which determines the order of words.
inline constexpr std::uint64_t k_memory_sample =
    PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_ADDR | PERF_SAMPLE_PERIOD |
    PERF_SAMPLE_WEIGHT_STRUCT | PERF_SAMPLE_DATA_SRC;

// Parses a PERF_RECORD_SAMPLE; false if it is too short. PERF_SAMPLE_WEIGHT and _WEIGHT_STRUCT have
// the same layout.
bool parse_memory_sample(std::span<const std::uint64_t> words, MemoryEvent& event);

// Kind and level from perf's data source word (union perf_mem_data_src). A hit in the line fill
// buffer counts as a cache hit: the miss belongs to another access.
void read_data_source(std::uint64_t word, MemoryEvent& event);

// Loads and stores of user code among the packets. Invalid bytes are skipped one by one, and the
// record that contains them is dropped. Layout: Arm Architecture Reference Manual, "Statistical
// Profiling Extension Sample Record Specification".
void parse_packets(std::span<const std::uint8_t> bytes, std::vector<MemoryEvent>& events);

} // namespace omptier
