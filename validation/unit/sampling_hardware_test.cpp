// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Records of processors that sample memory accesses, on bytes made from the documented layouts: the
// kernel's perf_event.h (PEBS, IBS) and Arm's description of SPE's packets. And the events'
// numbers, which libpfm4 gives for processors that are not here, too.

#include "sampling/hardware_events.hpp"
#include "sampling/memory_event.hpp"
#include "sampling/perf_ring.hpp"

#include <cstdlib>
#include <cstring>
#include <gtest/gtest.h>

namespace {

using namespace omptier;

std::uint64_t source_word(unsigned operation, unsigned level, unsigned number = 0) {
  perf_mem_data_src source = {};
  source.mem_op = operation;
  source.mem_lvl = level;
  source.mem_lvl_num = number;
  return source.val;
}

MemoryEvent read(std::uint64_t word) {
  MemoryEvent event;
  read_data_source(word, event);
  return event;
}

TEST(SamplingHardware, SampleRecord) {
  union perf_sample_weight weight = {};
  weight.var1_dw = 421; // latency
  weight.var2_w = 7;    // retire latency: not ours
  weight.var3_w = 9;
  const std::uint64_t words[] = {
      0x401234,    std::uint64_t{77} << 32 | 70, // thread, process
      123'456,     0x7f0000001000,
      2003, // period
      weight.full, source_word(PERF_MEM_OP_LOAD, PERF_MEM_LVL_LOC_RAM | PERF_MEM_LVL_HIT)};
  MemoryEvent event;
  ASSERT_TRUE(parse_memory_sample(words, event));
  EXPECT_EQ(event.pc, 0x401234u);
  EXPECT_EQ(event.thread, 77u);
  EXPECT_EQ(event.time, 123'456u);
  EXPECT_EQ(event.address, 0x7f0000001000u);
  EXPECT_EQ(event.period, 2003u);
  EXPECT_EQ(event.cycles, 421u);
  EXPECT_EQ(event.kind, AccessKind::load);
  EXPECT_EQ(event.level, AccessLevel::memory);
  EXPECT_FALSE(parse_memory_sample(std::span(words).first(6), event));
}

TEST(SamplingHardware, DataSource) {
  using enum AccessLevel;
  const auto load = [](unsigned level, unsigned number = 0) {
    return read(source_word(PERF_MEM_OP_LOAD, level, number)).level;
  };
  EXPECT_EQ(load(PERF_MEM_LVL_HIT | PERF_MEM_LVL_L1), cache);
  EXPECT_EQ(load(PERF_MEM_LVL_HIT | PERF_MEM_LVL_LFB), cache);
  EXPECT_EQ(load(PERF_MEM_LVL_HIT | PERF_MEM_LVL_L3), cache);
  EXPECT_EQ(load(PERF_MEM_LVL_HIT | PERF_MEM_LVL_REM_CCE1), cache);
  EXPECT_EQ(load(PERF_MEM_LVL_HIT | PERF_MEM_LVL_REM_RAM1), memory);
  EXPECT_EQ(load(PERF_MEM_LVL_MISS | PERF_MEM_LVL_L3), memory);
  EXPECT_EQ(load(PERF_MEM_LVL_NA), AccessLevel::unknown);
  EXPECT_EQ(load(PERF_MEM_LVL_NA, PERF_MEM_LVLNUM_CXL), memory);
  EXPECT_EQ(load(PERF_MEM_LVL_NA, PERF_MEM_LVLNUM_PMEM), memory);
  EXPECT_EQ(load(PERF_MEM_LVL_NA, PERF_MEM_LVLNUM_L2), cache);
  EXPECT_EQ(load(PERF_MEM_LVL_NA, PERF_MEM_LVLNUM_NA), AccessLevel::unknown);
  // Intel's stores: whether the first level had the line, no more.
  const MemoryEvent hit =
      read(source_word(PERF_MEM_OP_STORE, PERF_MEM_LVL_HIT | PERF_MEM_LVL_L1, PERF_MEM_LVLNUM_L1));
  const MemoryEvent miss =
      read(source_word(PERF_MEM_OP_STORE, PERF_MEM_LVL_MISS | PERF_MEM_LVL_L1, PERF_MEM_LVLNUM_L1));
  EXPECT_EQ(hit.kind, AccessKind::store);
  EXPECT_EQ(hit.level, cache);
  EXPECT_EQ(miss.kind, AccessKind::store);
  EXPECT_EQ(miss.level, AccessLevel::unknown);
  EXPECT_EQ(read(source_word(PERF_MEM_OP_NA, PERF_MEM_LVL_NA)).kind, AccessKind::unknown);
}

// Packets of SPE.
struct Packets {
  std::vector<std::uint8_t> bytes;

  void put(std::initializer_list<unsigned> header, std::uint64_t payload, std::size_t size) {
    for (unsigned byte : header)
      bytes.push_back(static_cast<std::uint8_t>(byte));
    for (std::size_t i = 0; i < size; ++i)
      bytes.push_back(static_cast<std::uint8_t>(payload >> 8 * i));
  }
  void instruction(std::uint64_t pc, unsigned level = 0) {
    put({0xb0}, pc | std::uint64_t{level} << 61, 8);
  }
  void data(std::uint64_t address) { put({0xb2}, address, 8); }
  void physical(std::uint64_t address) { put({0xb3}, address, 8); }
  void events(std::uint64_t bits) { put({0x52}, bits, 2); }
  void operation(unsigned kind, unsigned bits) { put({0x48 | kind}, bits, 1); }
  void latency(unsigned cycles) { put({0x98}, cycles, 2); }
  void timestamp(std::uint64_t ticks) { put({0x71}, ticks, 8); }
  void end() { bytes.push_back(1); }
  std::vector<MemoryEvent> parse() const {
    std::vector<MemoryEvent> events;
    parse_packets(bytes, events);
    return events;
  }
};

TEST(SamplingHardware, PacketsOfLoadsAndStores) {
  Packets packets;
  packets.bytes.assign(5, 0); // padding
  packets.instruction(0xaaaa1000);
  packets.put({0x65}, 4242, 4); // context
  packets.operation(1, 0);      // load
  packets.events(1 << 1 | 1 << 3 | 1 << 8 | 1 << 9);
  packets.latency(350);
  packets.put({0x99}, 12, 2);       // issue latency
  packets.put({0x20, 0x9a}, 13, 2); // a counter with an index beyond 7
  packets.data(0x0b00'ffff'7f00'1000);
  packets.physical(0x8'0000'0000);
  packets.put({0x43}, 0xd, 1); // data source
  packets.timestamp(99);
  packets.instruction(0xaaaa2000);
  packets.operation(1, 1); // store
  packets.events(1 << 1 | 1 << 2);
  packets.data(0xffff'7f00'2000);
  packets.end();
  const auto events = packets.parse();
  ASSERT_EQ(events.size(), 2u);
  EXPECT_EQ(events[0].pc, 0xaaaa1000u);
  EXPECT_EQ(events[0].address, 0xffff'7f00'1000u); // without its tag
  EXPECT_EQ(events[0].kind, AccessKind::load);
  EXPECT_EQ(events[0].level, AccessLevel::memory);
  EXPECT_EQ(events[0].cycles, 350u);
  EXPECT_EQ(events[0].time, 99u);
  EXPECT_EQ(events[1].pc, 0xaaaa2000u);
  EXPECT_EQ(events[1].kind, AccessKind::store);
  EXPECT_EQ(events[1].level, AccessLevel::cache);
  EXPECT_EQ(events[1].time, 0u);
  EXPECT_EQ(events[1].cycles, 0u); // nothing is left over from the record before
}

TEST(SamplingHardware, PacketsThatAreNoAccessesOfUsers) {
  Packets packets;
  packets.instruction(0xaaaa1000); // a branch
  packets.operation(2, 0);
  packets.put({0xb1}, 0xaaaa1040, 8);
  packets.end();
  packets.instruction(0xaaaa1000, 1); // the kernel's
  packets.operation(1, 0);
  packets.data(0x1000);
  packets.end();
  packets.instruction(0xaaaa1000); // without address
  packets.operation(1, 0);
  packets.end();
  EXPECT_TRUE(packets.parse().empty());
}

TEST(SamplingHardware, DamagedPackets) {
  Packets packets;
  packets.instruction(0xaaaa1000);
  packets.operation(1, 0);
  packets.bytes.push_back(0xff); // no header: the record is given up
  packets.data(0x1000);
  packets.end();
  packets.instruction(0xaaaa2000);
  packets.operation(1, 0);
  packets.data(0x2000);
  packets.end();
  packets.instruction(0xaaaa3000);
  packets.operation(1, 0);
  packets.bytes.push_back(0xb2); // cut off within its address
  packets.bytes.push_back(1);
  const auto events = packets.parse();
  ASSERT_EQ(events.size(), 1u);
  EXPECT_EQ(events[0].pc, 0xaaaa2000u);
}

// libpfm4 is told to take the processor for a Skylake (its own variable for such tests).
TEST(SamplingHardware, EventNumbers) {
  setenv("LIBPFM_FORCE_PMU", "skl", 1);
  std::string why;
  perf_event_attr event = perf_attributes(0, 0);
  ASSERT_TRUE(encode_event("MEM_TRANS_RETIRED:LOAD_LATENCY:ldlat=30", event, why)) << why;
  EXPECT_EQ(event.type, static_cast<std::uint32_t>(PERF_TYPE_RAW));
  EXPECT_EQ(event.config, 0x1cdu);
  EXPECT_EQ(event.config1, 30u);
  ASSERT_TRUE(encode_event("MEM_INST_RETIRED:ALL_STORES", event, why)) << why;
  EXPECT_EQ(event.config, 0x82d0u);
  EXPECT_FALSE(encode_event("NO_SUCH_EVENT", event, why));
  EXPECT_NE(why.find("libpfm4: NO_SUCH_EVENT"), std::string::npos);
}

} // namespace
