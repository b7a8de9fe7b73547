// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The text grammar: sizes, capacities, nodes, kinds, figures for people; every refusal is the line
// a user will read.
#include "base/kernel_files.hpp"
#include "base/os.hpp"
#include "base/page_arena.hpp"
#include "base/text.hpp"

#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <mutex>
#include <pthread.h>
#include <sys/mman.h>
#include <thread>
#include <unistd.h>

namespace omptier {
namespace {

constexpr std::uint64_t k_most = ~std::uint64_t{0};

TEST(Size, PlainDigitsAreBytes) {
  EXPECT_EQ(*parse_size("0"), 0u);
  EXPECT_EQ(*parse_size("4096"), 4096u);
  EXPECT_EQ(*parse_size("007"), 7u);
  EXPECT_EQ(*parse_size("18446744073709551615"), k_most);
}

TEST(Size, SuffixesArePowersOf1024) {
  EXPECT_EQ(*parse_size("1K"), 1024u);
  EXPECT_EQ(*parse_size("64M"), 64u << 20);
  EXPECT_EQ(*parse_size("3g"), 3ull << 30);
  EXPECT_EQ(*parse_size("2T"), 2ull << 40);
  EXPECT_EQ(*parse_size("64MiB"), 64u << 20);
  EXPECT_EQ(*parse_size("64MB"), 64u << 20);
  EXPECT_EQ(*parse_size("12b"), 12u);
}

TEST(Size, FractionsAreExact) {
  EXPECT_EQ(*parse_size("1.5G"), 3ull << 29);
  EXPECT_EQ(*parse_size(".5K"), 512u);
  EXPECT_EQ(*parse_size("0.1K"), 102u); // rounded down
  EXPECT_EQ(*parse_size("1.K"), 1024u);
  EXPECT_EQ(*parse_size("1."), 1u);
}

TEST(Size, LargestAndTooLarge) {
  EXPECT_EQ(*parse_size("16777215T"), 16777215ull << 40);
  const char* const too_large[] = {"16777216T", "18446744073709551616", "99999999999G"};
  for (const char* text : too_large)
    EXPECT_EQ(parse_size(text).error(),
              "\"" + std::string(text) + "\" is too large (at most 16777215T)");
  EXPECT_FALSE(parse_size(std::string(1000, '9')));
}

TEST(Size, RefusalsQuoteTheText) {
  for (const char* text : {"", "M", "-1", "+1", "1.2.3", "1 M", " 1", "1M ", "64X", "0x10", "1e3",
                           "1KK", "1Mi", "."}) {
    const auto size = parse_size(text);
    ASSERT_FALSE(size) << text;
    EXPECT_EQ(size.error(),
              "\"" + std::string(text) + "\" is not a size (such as 64M; K, M, G, T)");
  }
}

TEST(Capacity, ByKind) {
  const auto capacity = parse_capacity("dram:64M,HBM:0");
  ASSERT_TRUE(capacity) << capacity.error();
  EXPECT_EQ((*capacity)[0], 64u << 20);
  EXPECT_EQ((*capacity)[1], 0u);
  EXPECT_FALSE((*capacity)[2]);
  EXPECT_FALSE((*capacity)[3]);
  EXPECT_EQ(*(*parse_capacity("cxl:1T,nvm:4096"))[3], 1ull << 40);
}

TEST(Capacity, Refusals) {
  const auto error = [](const char* text) { return parse_capacity(text).error(); };
  constexpr const char* kinds = " does not begin with dram:, hbm:, nvm: or cxl: (such as "
                                "dram:64M,hbm:0)";
  EXPECT_EQ(error(""), "\"\"" + std::string(kinds));
  EXPECT_EQ(error("64M"), "\"64M\"" + std::string(kinds));
  EXPECT_EQ(error("ram:1"), "\"ram:1\"" + std::string(kinds));
  EXPECT_EQ(error("dram"), "\"dram\"" + std::string(kinds));
  EXPECT_EQ(error("unknown:1"), "\"unknown:1\"" + std::string(kinds));
  EXPECT_EQ(error("dram:1G,"), "\"\"" + std::string(kinds));
  EXPECT_EQ(error("dram:1G,DRAM:2G"), "\"DRAM:2G\" names a kind twice");
  EXPECT_EQ(error("dram:"), "\"\" is not a size (such as 64M; K, M, G, T)");
  EXPECT_EQ(error("hbm:1G,dram:x"), "\"x\" is not a size (such as 64M; K, M, G, T)");
  EXPECT_EQ(error("dram:40"),
            "\"dram:40\" means 40 bytes; write K, M, G or T behind the number (dram:40G)");
}

TEST(Nodes, ListsAndRanges) {
  const auto nodes = parse_nodes("hbm:3+1,nvm:4-6+9");
  ASSERT_TRUE(nodes) << nodes.error();
  EXPECT_TRUE((*nodes)[0].empty());
  EXPECT_EQ((*nodes)[1], (std::vector{1u, 3u}));
  EXPECT_EQ((*nodes)[2], (std::vector{4u, 5u, 6u, 9u}));
  EXPECT_EQ((*parse_nodes("cxl:1023"))[3], std::vector{1023u});
}

TEST(Nodes, Refusals) {
  const auto error = [](const char* text) { return parse_nodes(text).error(); };
  for (const char* text :
       {"hbm:", "hbm:x", "hbm:1+", "hbm:+1", "hbm:3-1", "hbm:1-", "hbm:-1", "hbm:1024",
        "hbm:0-1024", "hbm:1+1", "hbm:1-3+2", "hbm:1 ", "hbm:99999999999999999999"})
    EXPECT_EQ(error(text), "\"" + std::string(text) +
                               "\" has no list of different node numbers (such as hbm:1+3 or "
                               "nvm:4-5)");
  EXPECT_EQ(error("hbm:1,hbm:2"), "\"hbm:2\" names a kind twice");
  EXPECT_EQ(error("hbm:1+2,nvm:2-3"), "node 2 is named under two kinds");
  EXPECT_EQ(error("1-3"), "\"1-3\" does not begin with dram:, hbm:, nvm: or cxl: (such as "
                          "hbm:1+3,nvm:4-5)");
}

TEST(Kind, NamesBothWays) {
  for (const MemoryKind kind : k_all_memory_kinds) {
    EXPECT_EQ(parse_memory_kind(name_of(kind)), kind);
    EXPECT_EQ(parse_memory_kind(title_of(kind)), kind);
  }
  EXPECT_EQ(parse_memory_kind("Unknown"), MemoryKind::unknown);
  EXPECT_FALSE(parse_memory_kind(""));
  EXPECT_FALSE(parse_memory_kind("dra"));
  EXPECT_FALSE(parse_memory_kind("dramx"));
}

TEST(Format, ForPeople) {
  EXPECT_EQ(format_size(0), "0 B");
  EXPECT_EQ(format_size(1023), "1023 B");
  EXPECT_EQ(format_size(1536), "1.50 KiB");
  EXPECT_EQ(format_size(3ull << 29), "1.50 GiB");
  EXPECT_EQ(format_size(23ull << 30), "23.0 GiB");
  EXPECT_EQ(format_size(962ull << 20), "962 MiB");
  EXPECT_EQ(format_size(k_most), "16777216 TiB");
  EXPECT_EQ(format_rate(38.2e9), "38.2 GB/s");
  EXPECT_EQ(format_rate(1.5e9), "1.50 GB/s");
  EXPECT_EQ(format_rate(250e6), "250.0 MB/s");
  EXPECT_EQ(format_duration(95), "95 ns");
  EXPECT_EQ(format_duration(1234), "1.23 us");
  EXPECT_EQ(format_duration(1.234e6), "1.23 ms");
  EXPECT_EQ(format_duration(-2.5e9), "-2.50 s");
  EXPECT_EQ(format_percent(0.123), "12.3 %");
  EXPECT_EQ(format_percent(1, 0), "100 %");
}

TEST(Os, TableCanBeReplacedAndPutBack) {
  OsCalls broken = os();
  broken.unmap = [](void*, std::size_t) {
    errno = ENOMEM;
    return -1;
  };
  const OsCalls* before = replace_os_calls(&broken);
  EXPECT_EQ(os().unmap(nullptr, 0), -1);
  replace_os_calls(nullptr); // null: Linux's again
  void* page = os().map(nullptr, page_size(), PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(page, MAP_FAILED);
  EXPECT_EQ(os().unmap(page, page_size()), 0);
  replace_os_calls(before);
}

// malloc, which makes them, is no cancellation point.
TEST(Os, NoThreadIsCancelledInACall) {
  static std::atomic<int> made{0};
  pthread_t thread{};
  const auto make_calls = [](void*) -> void* {
    ::pthread_cancel(::pthread_self());
    char text[8] = {};
    const int fd = os().open("/dev/shm", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
    struct flock range = {};
    range.l_type = F_WRLCK;
    range.l_len = 1;
    for (const bool good :
         {fd >= 0, os().set_file_size(fd, 4096) == 0, os().allocate_file(fd, 8192) == 0,
          os().allocate_range(fd, 0, 8192, 4096) == 0, os().lock_file(fd, F_SETLK, &range) == 0,
          os().write(fd, text, sizeof text) == sizeof text, os().read(fd, text, sizeof text) >= 0,
          os().close(fd) == 0})
      made += good ? 1 : 0;
    ::pthread_testcancel();
    return nullptr;
  };
  ASSERT_EQ(::pthread_create(&thread, nullptr, make_calls, nullptr), 0);
  void* result = nullptr;
  ::pthread_join(thread, &result);
  EXPECT_EQ(result, PTHREAD_CANCELED);
  EXPECT_EQ(made, 8);
}

TEST(Os, FactsOfThisMachine) {
  EXPECT_GE(page_size(), 4096u);
  EXPECT_EQ(page_size() & (page_size() - 1), 0u);
  EXPECT_TRUE(huge_page_size() == 0 || huge_page_size() % page_size() == 0);
  const std::uint64_t earlier = monotonic_nanoseconds();
  EXPECT_GE(monotonic_nanoseconds(), earlier);
}

TEST(KernelFiles, NodeMemoryAndOwnFields) {
  NodeMemory memory;
  ASSERT_TRUE(read_node_memory(0, memory));
  EXPECT_GT(memory.total, std::uint64_t{1} << 26);
  EXPECT_GT(memory.free, 0u);
  EXPECT_FALSE(read_node_memory(1023, memory));
  char text[512];
  const char* parent = read_stat_field(-1, 4, text, sizeof text);
  ASSERT_NE(parent, nullptr);
  EXPECT_EQ(std::atoi(parent), ::getppid());
  parent = read_stat_field(::getpid(), 4, text, sizeof text);
  ASSERT_NE(parent, nullptr);
  EXPECT_EQ(std::atoi(parent), ::getppid());
  EXPECT_EQ(read_stat_field(0, 4, text, sizeof text), nullptr);
  EXPECT_EQ(read_small_file("/proc/self/stat").find(std::to_string(::getpid()) + " ("), 0u);
  EXPECT_EQ(read_small_file("/proc/sys/kernel/ostype"), "Linux");
  EXPECT_EQ(read_small_file("/proc/none"), "");
}

TEST(KernelFiles, ListsOfNumbers) {
  using List = std::vector<unsigned>;
  EXPECT_EQ(parse_number_list("0-3,8,10-11\n"), (List{0, 1, 2, 3, 8, 10, 11}));
  EXPECT_EQ(parse_number_list("5"), List{5});
  EXPECT_EQ(parse_number_list(""), List{});
  EXPECT_EQ(parse_number_list("3-1"), List{});
  EXPECT_EQ(parse_number_list("1,x"), List{1});
  EXPECT_EQ(parse_number_list("2-4000000000,1"), List{});
}

// A limit of memory holds whatever the kernel's pages are.
TEST(Pages, AreCountedAsTheKernelTakesThem) {
  const std::size_t before = g_pages_taken;
  g_most_pages = before + 3 * page_size();
  void* little = map_pages(100);
  ASSERT_NE(little, nullptr);
  EXPECT_EQ(g_pages_taken - before, page_size());
  EXPECT_EQ(map_pages(2 * page_size() + 1), nullptr) << "three pages, where two are left";
  void* rest = map_pages(2 * page_size());
  ASSERT_NE(rest, nullptr);
  unmap_pages(rest, 2 * page_size());
  unmap_pages(little, 100);
  EXPECT_EQ(g_pages_taken, before);
  g_most_pages = ~std::size_t{0};
}

} // namespace
} // namespace omptier
