// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The parts of the time model without QEMU: configuration, caches, nodes, kernel symbols, counted
// misses and the memory-event unit.
#include "borders/event_unit.h"
#include "machine/timing/caches.h"
#include "machine/timing/config.h"
#include "machine/timing/kernel.h"
#include "machine/timing/miss_file.h"
#include "machine/timing/misses.h"
#include "machine/timing/memory_cache.h"
#include "machine/timing/nodes.h"

#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <fstream>
#include <set>
#include <string>
#include <sys/mman.h>
#include <unistd.h>
#include <vector>

extern "C" {
#include "machine/timing/events.h"
}

namespace {

const std::string k_two_nodes = "range 0 0 16M 0 # DRAM\n"
                                "range 1 32M 16M 16M\n"
                                "latency * 0 80 80\nlatency * 1 300 900\n"
                                "bandwidth * 0 100000 100000\nbandwidth * 1 30000 10000\n";

class File {
public:
  explicit File(const std::string& text = "") {
    char name[] = "/tmp/timing-test-XXXXXX";
    int descriptor = mkstemp(name);
    EXPECT_GE(descriptor, 0);
    close(descriptor);
    path_ = name;
    std::ofstream(path_) << text;
  }
  ~File() { unlink(path_.c_str()); }
  const std::string& path() const { return path_; }

private:
  std::string path_;
};

configuration read_good(const std::string& text, std::uint32_t vcpus = 4) {
  File file(text);
  configuration result;
  char error[512] = "";
  EXPECT_TRUE(configuration_read(file.path().c_str(), vcpus, &result, error, sizeof error))
      << error;
  return result;
}

// The error message, with the file's name taken off.
std::string read_bad(const std::string& text, std::uint32_t vcpus = 4) {
  File file(text);
  configuration result;
  char error[512] = "";
  EXPECT_FALSE(configuration_read(file.path().c_str(), vcpus, &result, error, sizeof error))
      << text;
  std::string message = error;
  EXPECT_EQ(message.rfind(file.path() + ":", 0), 0u) << message;
  EXPECT_EQ(message.find('\n'), std::string::npos);
  return message.substr(std::min(message.size(), file.path().size() + 1));
}

TEST(TimingConfig, ReadsAllLines) {
  configuration c =
      read_good(k_two_nodes + "\n  # only a comment\n"
                              "latency 2-3 1 380 950\ncache l2 256K 4 7\nmedia 1 256\n"
                              "dilation 50\nmode count\nevent-period 7\n"
                              "misses /a path/with blanks  \n");
  EXPECT_EQ(c.range_count, 2u);
  EXPECT_EQ(c.cost[1][1].read_latency, 300);
  EXPECT_EQ(c.cost[2][1].read_latency, 380);
  EXPECT_DOUBLE_EQ(c.cost[0][0].read_slot, 0.64);
  EXPECT_DOUBLE_EQ(c.cost[0][1].write_slot, 6.4);
  EXPECT_EQ(c.media_block[1], 256u);
  EXPECT_EQ(c.l2.ways, 4u);
  EXPECT_EQ(c.l2.hit, 7);
  EXPECT_EQ(c.dilation, 50);
  EXPECT_FALSE(c.sleep);
  EXPECT_EQ(c.event_period, 7u);
  EXPECT_STREQ(c.misses, "/a path/with blanks");
  EXPECT_EQ(configuration_range(&c, (32 << 20) + 5)->node, 1u);
  EXPECT_EQ(configuration_range(&c, 16 << 20), nullptr);
}

TEST(TimingConfig, NamesTheLineOfAMistake) {
  EXPECT_EQ(read_bad("dilatation 3\n").rfind("1: 'dilatation' is no keyword", 0), 0u);
  EXPECT_EQ(
      read_bad(k_two_nodes + "dilation fast\n").rfind("7: dilation 'fast' is not a number", 0), 0u);
  EXPECT_EQ(read_bad(k_two_nodes + "dilation\n").rfind("7: dilation ''", 0), 0u);
  EXPECT_EQ(read_bad(k_two_nodes + "dilation 0.5\n").rfind("7: ", 0), 0u);
  EXPECT_EQ(read_bad(k_two_nodes + "mode fast\n").rfind("7: 'fast' is neither sleep nor count", 0),
            0u);
  EXPECT_EQ(read_bad("range 0 0 16M\n").rfind("1: physical address ''", 0), 0u);
  EXPECT_EQ(read_bad("range 16 0 16M 0\n").rfind("1: node 16", 0), 0u);
  EXPECT_EQ(read_bad("range 0 0 16Q 0\n").rfind("1: size '16Q'", 0), 0u);
  EXPECT_EQ(read_bad("range 0 0 99999999999999999999 0\n").rfind("1: size", 0), 0u);
  EXPECT_EQ(read_bad("range 0 0 20000000000G 0\n").rfind("1: size", 0), 0u);
  EXPECT_EQ(read_bad("range 0 0 1000 0\n").rfind("1: a range starts", 0), 0u);
  EXPECT_EQ(read_bad("range 0 0 16M 0\nrange 1 8M 16M 16M\n").rfind("2: this range overlaps", 0),
            0u);
  EXPECT_EQ(read_bad("latency 3-1 0 80 80\n").rfind("1: vCPUs '3-1'", 0), 0u);
  EXPECT_EQ(read_bad("latency 0-3x 0 80 80\n").rfind("1: '0-3x'", 0), 0u);
  EXPECT_EQ(read_bad("latency * 0 80 80 80\n").rfind("1: '80' is too much", 0), 0u);
  EXPECT_EQ(read_bad("cache l3 1M 16\n").rfind("1: cache 'l3'", 0), 0u);
  EXPECT_EQ(read_bad("cache llc 1000K 16\n").rfind("1: size / 64 / ways", 0), 0u);
  EXPECT_EQ(read_bad("media 0 100\n").rfind("1: a media block", 0), 0u);
  EXPECT_EQ(read_bad("instruction-ns -1\n").rfind("1: time of an instruction '-1'", 0), 0u);
  EXPECT_EQ(read_bad("wrong-branch-ns\n").rfind("1: time of a wrong prediction ''", 0), 0u);
  EXPECT_EQ(read_bad("window 0 12\n").rfind("1: instructions '0'", 0), 0u);
  EXPECT_EQ(read_bad("window 224 65\n").rfind("1: misses: 65 is no whole number", 0), 0u);
  EXPECT_EQ(read_bad("overlap 1.5 12\n").rfind("1: lines of streams: 1.5", 0), 0u);
  EXPECT_EQ(read_bad("loaded 0 0.5 0.9\n").rfind("1: latency under load '0.9'", 0), 0u);
  EXPECT_EQ(read_bad("loaded 0 0.5 2 0.4 3\n").rfind("1: 0.4 3: used bandwidth rises", 0), 0u);
  EXPECT_EQ(read_bad("loaded 0 0.5 2 0.8 1.5\n").rfind("1: 0.8 1.5: used bandwidth rises", 0), 0u);
  EXPECT_EQ(read_bad("loaded 0 0.5\n").rfind("1: latency under load ''", 0), 0u);
  EXPECT_EQ(read_bad("misses\n").rfind("1: the path is missing", 0), 0u);
  EXPECT_EQ(read_bad(std::string("range 0\0 0\n", 11)).rfind("1: a zero byte", 0), 0u);
  EXPECT_EQ(read_bad(std::string(100, 'x') + "\n").rfind("1: 'xxx", 0), 0u);
}

TEST(TimingConfig, ChecksTheWhole) {
  EXPECT_NE(read_bad("dilation 3\n").find("no range line"), std::string::npos);
  EXPECT_NE(read_bad("range 0 0 16M 0\nlatency 0-2 0 80 80\nbandwidth * 0 1000 1000\n")
                .find("no latency line covers vCPU 3 and node 0"),
            std::string::npos);
  EXPECT_NE(read_bad("range 0 0 16M 0\nlatency * 0 80 80\n").find("no bandwidth line"),
            std::string::npos);
  EXPECT_NE(read_bad(k_two_nodes, 17).find("17 vCPUs"), std::string::npos);
}

class TimingCaches : public testing::Test {
protected:
  configuration configuration_ = read_good(k_two_nodes);
  core_caches core_;
  void SetUp() override { ASSERT_TRUE(core_caches_create(&core_, &configuration_)); }
};

TEST_F(TimingCaches, FirstLevelWantsAStoreSeenOnce) {
  EXPECT_FALSE(core_l1_hit(&core_, 5, false));
  EXPECT_TRUE(core_l1_hit(&core_, 5, false));
  EXPECT_FALSE(core_l1_hit(&core_, 5, true)); // must make the line dirty further out
  EXPECT_TRUE(core_l1_hit(&core_, 5, true));
  EXPECT_TRUE(core_l1_hit(&core_, 5, false));
  EXPECT_FALSE(core_l1_hit(&core_, 0x104, false)); // same set
  EXPECT_FALSE(core_l1_hit(&core_, 5, false));
}

TEST_F(TimingCaches, FirstLevelHoldsItsSizeAndAlignedArrays) {
  for (std::uint64_t line = 0; line < 256; ++line)
    EXPECT_FALSE(core_l1_hit(&core_, 0x7f0000000 + line, false));
  for (std::uint64_t line = 0; line < 256; ++line)
    EXPECT_TRUE(core_l1_hit(&core_, 0x7f0000000 + line, false));
  int misses = 0; // three streams at equal offsets of 16 MiB arrays, eight words a line
  for (std::uint64_t word = 0; word < 8000; ++word)
    for (std::uint64_t array = 0; array < 3; ++array)
      misses += !core_l1_hit(&core_, (array << 18) + word / 8, false);
  EXPECT_LE(misses, 3100);
}

TEST_F(TimingCaches, SecondLevelHoldsItsSize) {
  const std::uint64_t lines = (128 << 10) / 64;
  for (std::uint64_t i = 0; i < lines; ++i)
    EXPECT_FALSE(core_l2_access(&core_, i));
  for (std::uint64_t i = 0; i < lines; ++i)
    EXPECT_TRUE(core_l2_access(&core_, i));
  for (std::uint64_t i = lines; i < 2 * lines; ++i)
    EXPECT_FALSE(core_l2_access(&core_, i));
  EXPECT_FALSE(core_l2_access(&core_, 0));
}

TEST_F(TimingCaches, LastLevelGivesDirtyLinesBack) {
  shared_cache* llc = shared_cache_create(&configuration_.llc);
  const std::uint64_t lines = (1 << 20) / 64;
  std::uint64_t evicted;
  for (std::uint64_t i = 0; i < lines; ++i) {
    EXPECT_FALSE(shared_cache_access(llc, i, i % 2 == 0, &evicted));
    EXPECT_EQ(evicted, UINT64_MAX);
  }
  EXPECT_TRUE(shared_cache_access(llc, 1, true, &evicted)); // one more dirty line
  std::set<std::uint64_t> back;
  for (std::uint64_t i = lines; i < 2 * lines; ++i) {
    EXPECT_FALSE(shared_cache_access(llc, i, false, &evicted));
    if (evicted != UINT64_MAX) {
      EXPECT_TRUE(back.insert(evicted).second) << evicted;
    }
  }
  EXPECT_EQ(back.size(), lines / 2 + 1);
  EXPECT_EQ(back.count(1), 1u);
  EXPECT_EQ(back.count(3), 0u);
  shared_cache_clear(llc);
  EXPECT_FALSE(shared_cache_access(llc, lines, false, &evicted));
  EXPECT_EQ(evicted, UINT64_MAX);
}

// How many of these lines are taken for part of a stream.
int streamed(core_caches* core, const std::vector<std::uint64_t>& lines) {
  int count = 0;
  double began = 0;
  for (std::uint64_t line : lines)
    count += core_stream_access(core, line, 0, &began);
  return count;
}

TEST_F(TimingCaches, FindsStreams) {
  std::vector<std::uint64_t> up, down, strided, random;
  for (int i = 0; i < 256; ++i) {
    up.push_back(64 * 100 + i);
    down.push_back(64 * 300 - i);
    strided.push_back(64 * 500 + i * 4);
  }
  EXPECT_EQ(streamed(&core_, up), 254); // the first two find it; it goes on across pages
  EXPECT_GE(streamed(&core_, down), 240);
  EXPECT_GE(streamed(&core_, strided), 240);
  std::uint64_t state = 1;
  for (int i = 0; i < 4096; ++i)
    random.push_back((state = state * 6364136223846793005u + 1442695040888963407u) >> 44);
  EXPECT_LE(streamed(&core_, random), 8);
}

TEST_F(TimingCaches, FindsManyStreamsAtOnce) {
  std::vector<std::uint64_t> lines;
  for (int i = 0; i < 64; ++i)
    for (int stream = 0; stream < 8; ++stream)
      lines.push_back(static_cast<std::uint64_t>(64 * 1000 * (stream + 1) + i));
  EXPECT_EQ(streamed(&core_, lines), 8 * 62);
}

// The lines that a vCPU takes at once before it sleeps keep nobody waiting; more do.
TEST(TimingNodes, ABurstIsNoCongestion) {
  configuration c = read_good(k_two_nodes + "dilation 1\nbandwidth-divisor 10\n");
  nodes* model = nodes_create(&c, 3000); // node 0: 6.4 ns a line
  double wait = 0;
  for (int i = 0; i < 450; ++i)
    wait = nodes_read(model, 0, 0, 1, 1000, 0);
  EXPECT_EQ(wait, 0);
  for (int i = 0; i < 1000; ++i)
    wait = nodes_read(model, 1, 0, 1, 1000, 0);
  EXPECT_NEAR(wait, 1449 * 6 - 3000, 10);
}

// A stream survives the misses of a gather between its lines.
TEST_F(TimingCaches, FindsAStreamOfIndices) {
  std::uint64_t state = 1;
  double began = 0;
  int found = 0;
  for (std::uint64_t line = 0; line < 1000; ++line) {
    found += core_stream_access(&core_, line, 0, &began);
    for (int gather = 0; gather < 16; ++gather) {
      state = state * 6364136223846793005u + 1442695040888963407u;
      core_stream_access(&core_, 1 << 20 | state >> 40, 0, &began);
    }
  }
  EXPECT_GE(found, 990);
}

TEST_F(TimingCaches, StreamsBeginInTheCoresTime) {
  double began = 0;
  core_stream_access(&core_, 64 * 9, 70, &began);
  EXPECT_EQ(began, 70);
  core_stream_access(&core_, 64 * 9 + 1, 80, &began);
  EXPECT_EQ(began, 70);
  core_streams_restart(&core_);
  core_stream_access(&core_, 64 * 9 + 2, 5, &began);
  EXPECT_EQ(began, 0);
}

TEST(TimingNodes, BandwidthIsSharedAndIdleTimeIsNotSaved) {
  configuration c = read_good(k_two_nodes + "dilation 1\nbandwidth-divisor 10\n");
  nodes* model = nodes_create(&c, 0); // node 0: 6.4 ns a line
  double wait = 0;
  for (int i = 0; i < 1000; ++i) // all at one instant, by vCPUs at real time
    wait = nodes_read(model, static_cast<std::uint32_t>(i % 4), 0, 1, 1000, 0);
  EXPECT_NEAR(wait, 999 * 6.4, 1000); // whole nanoseconds each
  EXPECT_EQ(nodes_read(model, 0, 1, 1, 1000, 0), 0); // other node: idle
  // Who is ahead has waited already.
  EXPECT_EQ(nodes_read(model, 0, 0, 1, 1000, 1e6), 0);
  // Long after, nothing is left of the backlog, and no idle time has been saved up.
  EXPECT_EQ(nodes_read(model, 0, 0, 1, 100000, 0), 0);
  EXPECT_NEAR(nodes_read(model, 0, 0, 1, 100000, 0), 6, 1);
}

TEST(TimingNodes, LatencyRisesWithLoad) {
  configuration c = read_good(k_two_nodes + "dilation 10\nbandwidth-divisor 1\n"
                                            "loaded 0 0.5 1.2 1 3\n");
  nodes* model = nodes_create(&c, 0); // node 0: 6.4 real ns a line; measured over 200,000
  EXPECT_DOUBLE_EQ(nodes_latency(model, 0, 0, 0, false), 800);
  EXPECT_DOUBLE_EQ(nodes_latency(model, 0, 1, 0, true), 9000);
  const auto latency_at = [&](double used) {
    nodes_clear(model, 0);
    for (double now = 0; now < 250e3; now += 6.4 / used)
      nodes_read(model, 0, 0, 1, static_cast<std::int64_t>(now), 0);
    return nodes_latency(model, 0, 0, 0, false) / 800;
  };
  EXPECT_NEAR(latency_at(0.25), 1.1, 0.03); // a line counts in whole nanoseconds: 6 of 6.4
  EXPECT_NEAR(latency_at(0.75), 1.2 + 1.8 * (0.75 * 6 / 6.4 - 0.5) / 0.5, 0.05);
  EXPECT_NEAR(latency_at(2), 3, 0.01);
  EXPECT_DOUBLE_EQ(nodes_latency(model, 0, 1, 0, false), 3000); // the other node is idle
}

TEST(TimingNodes, WritesWaitOnlyWhenTheQueueIsFull) {
  configuration c = read_good(k_two_nodes + "dilation 1\nbandwidth-divisor 10\n");
  nodes* model = nodes_create(&c, 0); // node 1: 64 ns a line written
  for (int i = 0; i < 32; ++i)
    EXPECT_EQ(nodes_write_back(model, 0, 1, 1, 0, 0), 0);
  nodes_write_back(model, 0, 1, 1, 0, 0);
  EXPECT_NEAR(nodes_write_back(model, 0, 1, 1, 0, 0), 64, 33);
}

// 256 lines, 64 of which fit. Node 1: 300 ns to read, 10 and 64 ns a line read and written.
TEST(TimingNodes, MemorySideCacheHoldsLines) {
  configuration c = read_good(k_two_nodes + "dilation 1\nbandwidth-divisor 10\n"
                                            "memory-side-cache 1 4K 100 100 64000 64000\n");
  nodes* model = nodes_create(&c, 0); // cache: 10 ns a line
  const double miss = 100 + nodes_latency(model, 0, 0, 0, false) * 300 / 80;
  EXPECT_DOUBLE_EQ(nodes_latency(model, 0, 1, 5, false), miss);
  nodes_read(model, 0, 1, 5, 0, 0);
  EXPECT_DOUBLE_EQ(nodes_latency(model, 0, 1, 5, false), 100);
  EXPECT_DOUBLE_EQ(nodes_latency(model, 0, 1, 5 + 64, false), miss);
  nodes_read(model, 0, 1, 5 + 64, 1000, 0); // takes its place
  EXPECT_DOUBLE_EQ(nodes_latency(model, 0, 1, 5, false), miss);
  nodes_clear(model, 0);
  EXPECT_DOUBLE_EQ(nodes_latency(model, 0, 1, 5 + 64, false), miss);
}

TEST(TimingNodes, MemorySideCacheReturnsWhatWasWritten) {
  memory_cache* cache = memory_cache_create(64 * k_line_size);
  EXPECT_EQ(memory_cache_fill(cache, 64 * 3 + 7, true), UINT64_MAX);
  EXPECT_TRUE(memory_cache_has(cache, 64 * 3 + 7));
  EXPECT_EQ(memory_cache_fill(cache, 64 * 3 + 7, false), UINT64_MAX); // stays written
  EXPECT_EQ(memory_cache_fill(cache, 64 * 126 + 7, false), 64u * 3 + 7);
  EXPECT_EQ(memory_cache_fill(cache, 7, true), UINT64_MAX);
  EXPECT_EQ(memory_cache_fill(cache, 64 + 7, true), 7u);
}

TEST(TimingNodes, DuplexPathsDoNotShareBandwidth) {
  for (const bool duplex : {false, true}) {
    configuration c = read_good(k_two_nodes + "dilation 1\nbandwidth-divisor 10\n" +
                                (duplex ? "duplex 1\n" : ""));
    nodes* model = nodes_create(&c, 0); // node 1: 64 ns a line written
    for (int i = 0; i < 100; ++i)
      nodes_write_back(model, 0, 1, 1, 0, 0);
    EXPECT_NEAR(nodes_read(model, 0, 1, 1, 0, 0), duplex ? 0 : 6400, 64);
  }
}

// Node 1: 21 and 64 ns a line read and written, 60 ns each of a mix.
TEST(TimingNodes, MixedReadsAndWritesTakeTheirOwnTime) {
  configuration c = read_good(k_two_nodes + "dilation 1\nbandwidth-divisor 10\nmixed 1 10666\n");
  nodes* model = nodes_create(&c, 0);
  const auto time_of = [&](int reads, int writes) {
    nodes_clear(model, 0);
    for (int i = 0; i < 100 * std::max(reads, writes); ++i) {
      if (i % std::max(1, writes / reads) == 0) nodes_read(model, 0, 1, 1, 0, 0);
      if (i % std::max(1, reads / writes) == 0) nodes_write_back(model, 0, 1, 1, 0, 0);
    }
    return nodes_read(model, 0, 1, 1, 0, 0) / (100 * (reads + writes));
  };
  EXPECT_NEAR(time_of(1, 1), 60, 1); // lines take whole nanoseconds
  EXPECT_NEAR(time_of(3, 1), (120 + 2 * 21) / 4.0, 1); // a pair, and two reads
  EXPECT_NEAR(time_of(1, 3), (120 + 2 * 64) / 4.0, 1);
}

// Total time of the node that so many lines take.
double busy_time(const std::string& media, bool random) {
  configuration c = read_good(k_two_nodes + "dilation 1\nbandwidth-divisor 10\n" + media);
  nodes* model = nodes_create(&c, 0);
  std::uint64_t state = 1;
  for (std::uint64_t i = 0; i < 4000; ++i) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    nodes_write_back(model, 0, 1, random ? state >> 40 : i, 0, 0);
  }
  return nodes_write_back(model, 0, 1, UINT64_MAX / 64, 0, 0);
}

TEST(TimingNodes, BlockMediaPayForWholeBlocks) {
  const double lines = busy_time("", false);
  EXPECT_NEAR(busy_time("", true) / lines, 1, 0.02);
  EXPECT_NEAR(busy_time("media 1 256\n", false) / lines, 1, 0.02);
  EXPECT_NEAR(busy_time("media 1 256\n", true) / lines, 4, 0.1);
}

const char* const k_symbols = "ffffffff81000000 T _text\n"
                              "ffffffff81002000 T copy_page\n"
                              "ffffffff81001000 T clear_page_rep\n"
                              "ffffffff81001010 T clear_page_orig\n"
                              "ffffffff81003000 T copy_user_generic_string\n"
                              "ffffffff81003100 T clear_user_original\n"
                              "ffffffff81003200 T after\n"
                              "ffffffff81004000 T try_to_migrate\n"
                              "ffffffff81005000 t native_flush_tlb_multi\n";

TEST(TimingKernel, FindsFunctionsAndCharges) {
  File symbols(k_symbols);
  configuration c = read_good(k_two_nodes + "symbols " + symbols.path() + "\n");
  char error[512];
  kernel_model* model = kernel_model_create(&c, error, sizeof error);
  ASSERT_NE(model, nullptr) << error;
  EXPECT_EQ(kernel_moves_at(model, 0xffffffff81001008), k_clears_page);
  EXPECT_EQ(kernel_moves_at(model, 0xffffffff81002fff), k_copies_page);
  EXPECT_EQ(kernel_moves_at(model, 0xffffffff81003000), k_moves_bytes);
  EXPECT_EQ(kernel_moves_at(model, 0xffffffff81003100), k_moves_bytes);
  EXPECT_EQ(kernel_moves_at(model, 0xffffffff81003200), k_moves_nothing);
  EXPECT_EQ(kernel_moves_at(model, 0xffffffff81000000), k_moves_nothing);
  EXPECT_GT(kernel_charge_at(model, 0xffffffff81004000), 0);
  EXPECT_EQ(kernel_charge_at(model, 0xffffffff81003200), 0);
  EXPECT_GT(kernel_charge_at(model, 0xffffffff81005000), 0);
  EXPECT_EQ(kernel_charge_at(model, 0xffffffff81005001), 0);
}

TEST(TimingKernel, SaysWhatIsMissing) {
  File hidden("0000000000000000 T copy_page\n"); // as ordinary users see it
  configuration c = read_good(k_two_nodes + "symbols " + hidden.path() + "\n");
  char error[512];
  EXPECT_EQ(kernel_model_create(&c, error, sizeof error), nullptr);
  EXPECT_NE(std::string(error).find("clear_page_rep"), std::string::npos) << error;
  const std::string all = k_symbols;
  File symbols(all.substr(0, all.find("ffffffff81005000")));
  c = read_good(k_two_nodes + "symbols " + symbols.path() + "\n");
  EXPECT_EQ(kernel_model_create(&c, error, sizeof error), nullptr);
  EXPECT_NE(std::string(error).find("native_flush_tlb_multi"), std::string::npos) << error;
}

std::vector<miss_record> read_section(const std::string& path, std::uint32_t mark) {
  std::ifstream file(path, std::ios::binary);
  miss_file_header header{};
  file.read(reinterpret_cast<char*>(&header), sizeof header);
  EXPECT_EQ(header.magic, MISS_FILE_MAGIC);
  miss_section section{};
  while (file.read(reinterpret_cast<char*>(&section), sizeof section)) {
    EXPECT_EQ(section.magic, MISS_SECTION_MAGIC);
    std::vector<miss_record> records(section.records);
    file.read(reinterpret_cast<char*>(records.data()),
              static_cast<std::streamsize>(records.size() * sizeof(miss_record)));
    if (section.mark == mark) return records;
  }
  ADD_FAILURE() << "no section " << mark;
  return {};
}

TEST(TimingMisses, SumsTablesAndForgetsAtReset) {
  File file;
  configuration c = read_good(k_two_nodes + "misses " + file.path() + "\n");
  miss_export* target = miss_export_open(&c);
  ASSERT_NE(target, nullptr);
  miss_table one, two;
  ASSERT_TRUE(miss_table_create(&one) && miss_table_create(&two));
  for (std::uint64_t page = 0; page < 50000; ++page) { // makes the table grow
    miss_table_count(&one, 0, 1000 + page, page, 0, false, true);
    miss_table_count(&two, 0, 1000 + page, page, 0, true, false);
  }
  miss_table_count(&one, 0, 1000, 70000, 1, false, false); // page moved to another node
  miss_table* tables[] = {&one, &two};
  ASSERT_TRUE(miss_export_section(target, 3, tables, 2, 0));
  miss_table_count(&one, 1, 7, 8, 1, false, false); // after a reset; two has not counted since
  ASSERT_TRUE(miss_export_section(target, MISS_SECTION_END, tables, 2, 1));
  std::vector<miss_record> all = read_section(file.path(), 3);
  ASSERT_EQ(all.size(), 50001u);
  std::uint64_t reads = 0, writes = 0, streams = 0;
  for (const miss_record& record : all) {
    reads += record.reads;
    writes += record.writes;
    streams += record.streamed;
  }
  EXPECT_EQ(reads, 50001u);
  EXPECT_EQ(writes, 50000u);
  EXPECT_EQ(streams, 50000u);
  std::vector<miss_record> last = read_section(file.path(), MISS_SECTION_END);
  ASSERT_EQ(last.size(), 1u);
  EXPECT_EQ(last[0].virtual_page, 7u * 4096);
  EXPECT_EQ(last[0].physical_page, 8u * 4096);
}

class TimingEvents : public testing::Test {
protected:
  File file_;
  event_unit* unit_ = nullptr;
  events* producer_ = nullptr;

  void open_with(unsigned period) {
    configuration c = read_good(k_two_nodes + "events " + file_.path() + "\nevent-period " +
                                std::to_string(period) + "\n");
    char error[512] = "";
    producer_ = events_open(&c, error, sizeof error);
    ASSERT_NE(producer_, nullptr) << error;
    int file = open(file_.path().c_str(), O_RDWR);
    void* region = mmap(nullptr, EVENT_UNIT_SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    close(file);
    ASSERT_NE(region, MAP_FAILED);
    unit_ = static_cast<event_unit*>(region);
    ASSERT_EQ(event_unit_problem(unit_, EVENT_UNIT_SIZE), nullptr);
  }
  void miss(std::uint32_t vcpu, std::uint64_t address) {
    event_record record{};
    record.virtual_address = address;
    record.vcpu = static_cast<std::uint16_t>(vcpu);
    events_miss(producer_, vcpu, &record);
  }
  ~TimingEvents() override {
    if (unit_) munmap(unit_, EVENT_UNIT_SIZE);
  }
};

TEST_F(TimingEvents, RecordsEveryNthOnAverage) {
  open_with(100);
  for (std::uint64_t i = 1; i <= 1000000; ++i)
    miss(1, i);
  std::vector<event_record> records(20000);
  records.resize(event_unit_read(unit_, 1, records.data(), records.size()));
  EXPECT_NEAR(static_cast<double>(records.size()), 10000, 200);
  std::set<std::uint64_t> gaps;
  for (std::size_t i = 1; i < records.size(); ++i) {
    EXPECT_EQ(records[i].sequence, i);
    EXPECT_EQ(records[i].misses, records[i].virtual_address); // counts all of them
    gaps.insert(records[i].misses - records[i - 1].misses);
  }
  EXPECT_EQ(*gaps.begin(), 50u);
  EXPECT_EQ(*gaps.rbegin(), 150u);
  EXPECT_EQ(unit_->rings[1].misses, 1000000u);
  EXPECT_EQ(unit_->rings[0].head, 0u);
}

TEST_F(TimingEvents, AFullRingLosesAndSaysSo) {
  open_with(1);
  const std::uint64_t capacity = unit_->capacity;
  for (std::uint64_t i = 0; i < capacity + 10; ++i)
    miss(0, i);
  EXPECT_EQ(unit_->rings[0].lost, 10u);
  std::vector<event_record> records(capacity + 20);
  EXPECT_EQ(event_unit_read(unit_, 0, records.data(), 5), 5u);
  for (std::uint64_t i = 0; i < 3; ++i)
    miss(0, 1000000 + i); // there is room for five again
  std::uint64_t count = event_unit_read(unit_, 0, records.data(), records.size());
  EXPECT_EQ(count, capacity - 2);
  EXPECT_EQ(records[0].virtual_address, 5u);
  EXPECT_EQ(records[count - 1].virtual_address, 1000002u);
  EXPECT_EQ(records[count - 1].sequence, capacity + 12); // lost ones are numbered, too
  EXPECT_EQ(event_unit_read(unit_, 0, records.data(), records.size()), 0u);
}

TEST_F(TimingEvents, WritesADamagedHeaderAgainAndLeavesAReaderAlone) {
  open_with(1);
  for (std::uint64_t i = 0; i < 10; ++i)
    miss(0, i);
  event_record record;
  ASSERT_EQ(event_unit_read(unit_, 0, &record, 1), 1u);
  events_publish(producer_);
  EXPECT_EQ(unit_->rings[0].tail, 1u);
  std::memset(unit_, 0, sizeof *unit_); // as a restored snapshot would
  EXPECT_NE(event_unit_problem(unit_, EVENT_UNIT_SIZE), nullptr);
  events_publish(producer_);
  EXPECT_EQ(event_unit_problem(unit_, EVENT_UNIT_SIZE), nullptr);
  EXPECT_EQ(unit_->rings[0].head, 10u);
  miss(0, 10);
  ASSERT_EQ(event_unit_read(unit_, 0, &record, 1), 1u);
  EXPECT_EQ(record.virtual_address, 10u);
}

TEST_F(TimingEvents, TheReaderRefusesWhatItDoesNotKnow) {
  open_with(1);
  EXPECT_NE(event_unit_problem(unit_, 64), nullptr);
  EXPECT_NE(event_unit_problem(unit_, EVENT_UNIT_SIZE / 2), nullptr);
  unit_->version = EVENT_UNIT_VERSION - 1;
  EXPECT_NE(event_unit_problem(unit_, EVENT_UNIT_SIZE), nullptr);
  unit_->version = EVENT_UNIT_VERSION;
  unit_->capacity = ~UINT64_C(0);
  EXPECT_NE(event_unit_problem(unit_, EVENT_UNIT_SIZE), nullptr);
}

} // namespace
