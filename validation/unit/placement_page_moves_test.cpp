// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Which pages the mover names, by how many threads, and what it says of the result, on a kernel
// that is not there: windows of 2 MiB are huge pages, huge pages with a small one in them, or small
// pages. A huge page moves as a whole, and its other addresses then give EBUSY.
#include "base/os.hpp"
#include "dark_machine.hpp"
#include "placement/mover_threads.hpp"
#include "placement/node_orders.hpp"
#include "placement/pages.hpp"
#include "real_calls.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <cerrno>
#include <csignal>
#include <dirent.h>
#include <mutex>
#include <set>
#include <vector>

using namespace omptier;

namespace {

constexpr std::size_t k_window = std::size_t{2} << 20, k_small = 4096;
constexpr std::size_t k_pages = k_window / k_small, k_windows = 32;
constexpr std::uintptr_t k_begin = std::uintptr_t{1} << 40; // nothing is there
constexpr std::size_t k_hole = 77;                          // small page in a cut huge one

enum class Is { huge, cut, small };

std::mutex lock;
std::vector<Is> windows;
std::vector<int> node_of; // each page's
std::size_t room = 0;     // pages that node 1 still takes
std::set<std::uintptr_t> busy_pages;
std::size_t named = 0, moving_calls = 0, queried = 0;
std::atomic<unsigned> started{0};
std::atomic<bool> unblocked{false}, no_threads{false};
pthread_t caller;

bool moves_with(std::size_t page, std::size_t other) {
  if (page == other) return true;
  if (page / k_pages != other / k_pages || windows[page / k_pages] == Is::small) return false;
  return windows[page / k_pages] == Is::huge ||
         (page % k_pages != k_hole && other % k_pages != k_hole);
}

// All pages of the folio; false where the node has no room for it.
bool move_folio(std::size_t page, int node) {
  const std::size_t first = page / k_pages * k_pages;
  std::vector<std::size_t> pages;
  for (std::size_t i = first; i < first + k_pages; ++i)
    if (moves_with(page, i) && node_of[i] != node) pages.push_back(i);
  if (node == 1 && pages.size() > room) return false;
  for (const std::size_t i : pages) {
    if (node == 1) --room;
    if (node_of[i] == 1) ++room;
    node_of[i] = node;
  }
  return true;
}

long fake_move(int, unsigned long count, void** pages, const int* nodes, int* status, int) {
  const std::lock_guard guard(lock);
  if (pthread_equal(pthread_self(), caller) == 0) {
    sigset_t blocked;
    pthread_sigmask(SIG_SETMASK, nullptr, &blocked);
    if (sigismember(&blocked, SIGUSR1) == 0 || sigismember(&blocked, SIGTERM) == 0)
      unblocked = true;
  }
  if (nodes == nullptr) {
    queried += count;
    for (unsigned long i = 0; i < count; ++i)
      status[i] = node_of[(reinterpret_cast<std::uintptr_t>(pages[i]) - k_begin) / k_small];
    return 0;
  }
  ++moving_calls;
  named += count;
  std::vector<std::size_t> taken;
  bool full = false;
  for (unsigned long i = 0; i < count; ++i) {
    const std::uintptr_t address = reinterpret_cast<std::uintptr_t>(pages[i]);
    const std::size_t page = (address - k_begin) / k_small;
    bool again = false;
    for (const std::size_t other : taken)
      again = again || (other / k_pages == page / k_pages && moves_with(page, other));
    if (again || busy_pages.count(address) != 0) {
      status[i] = -EBUSY;
      continue;
    }
    taken.push_back(page);
    if (!move_folio(page, nodes[i])) full = true;
    if (!full) status[i] = nodes[i];
  }
  return full ? (errno = ENOMEM, -1) : 0;
}

int fake_start(pthread_t* thread, void* (*run)(void*), void* argument) {
  if (no_threads) return EAGAIN;
  ++started;
  return real->start_thread(thread, run, argument);
}

unsigned threads_now() {
  unsigned count = 0;
  DIR* folder = ::opendir("/proc/self/task");
  while (::readdir(folder) != nullptr)
    ++count;
  ::closedir(folder);
  return count;
}

class PageMovesTest : public ::testing::Test {
protected:
  void SetUp() override {
    real = &os();
    calls_ = *real;
    calls_.move_pages = fake_move;
    calls_.start_thread = fake_start;
    replace_os_calls(&calls_);
    caller = pthread_self();
    begin_with(Is::huge);
    busy_pages.clear();
    named = moving_calls = queried = 0;
    started = 0;
    unblocked = no_threads = false;
  }
  static void begin_with(Is kind) {
    windows.assign(k_windows, kind);
    node_of.assign(k_windows * k_pages, 0);
    room = node_of.size();
  }
  void TearDown() override { replace_os_calls(nullptr); }
  static MoveOutcome move(unsigned node = 1, std::size_t bytes = k_windows * k_window) {
    NodeSet nodes;
    nodes.add(node);
    return move_to_nodes(k_begin, bytes, {nodes});
  }
  static std::uint64_t bytes_on(int node) {
    std::uint64_t bytes = 0;
    for (const int on : node_of)
      bytes += on == node ? k_small : 0;
    return bytes;
  }
  static void expect_true(const MoveOutcome& outcome, std::uint64_t before) {
    EXPECT_FALSE(outcome.refused);
    EXPECT_EQ(outcome.after.node[0], bytes_on(0));
    EXPECT_EQ(outcome.after.node[1], bytes_on(1));
    EXPECT_EQ(outcome.moved, bytes_on(1) - before);
    EXPECT_EQ(outcome.missing, bytes_on(0));
  }

private:
  OsCalls calls_{};
};

TEST_F(PageMovesTest, AHugePageIsNamedOnceAndManyInACall) {
  const unsigned threads = threads_now();
  expect_true(move(), 0);
  EXPECT_EQ(bytes_on(1), k_windows * k_window);
  EXPECT_EQ(named, k_windows);
  EXPECT_LT(moving_calls, k_windows);
  EXPECT_LE(queried, k_windows * (k_pages + 2)) << "each page once, and both ends before";
  EXPECT_EQ(started.load(), mover_helpers(k_most_mover_helpers));
  EXPECT_FALSE(unblocked.load()) << "a thread of ours could take the program's signals";
  EXPECT_EQ(threads_now(), threads) << "they end with the call";
  EXPECT_EQ(move().moved, 0u);
  EXPECT_EQ(named, k_windows) << "what is there is not named again";
}

TEST_F(PageMovesTest, WithoutThreadsTheCallerMovesAll) {
  no_threads = true;
  expect_true(move(), 0);
  EXPECT_EQ(bytes_on(1), k_windows * k_window);
}

TEST_F(PageMovesTest, SmallPagesAreMovedByOneThread) {
  windows.assign(k_windows, Is::small);
  expect_true(move(), 0);
  EXPECT_EQ(bytes_on(1), k_windows * k_window);
  EXPECT_EQ(started.load(), 0u);
}

TEST_F(PageMovesTest, CutHugePagesAndSmallOnesBetweenThem) {
  for (std::size_t i = 0; i < k_windows; ++i)
    windows[i] = i % 3 == 0 ? Is::cut : i % 5 == 0 ? Is::small : Is::huge;
  for (std::size_t page = 40; page < node_of.size(); page += 1000)
    if (windows[page / k_pages] == Is::small) node_of[page] = 1; // there already
  const std::uint64_t before = bytes_on(1);
  room -= before / k_small;
  expect_true(move(), before);
  EXPECT_EQ(bytes_on(1), k_windows * k_window);
}

// Two sockets: pages of node 0 go to node 2, those of node 4 to node 3, as long as there is room.
TEST_F(PageMovesTest, PagesStayOnTheirSocket) {
  NodeOrders orders;
  orders.rank[0][3] = orders.rank[4][2] = 1;
  MoveTarget target;
  target.orders = &orders;
  target.nodes.add(2);
  target.nodes.add(3);
  for (const Is kind : {Is::huge, Is::cut, Is::small}) {
    windows.assign(k_windows, kind);
    for (std::size_t page = 0; page < node_of.size(); ++page)
      node_of[page] = page / k_pages % 2 != 0 ? 4 : 0;
    const std::uint64_t half = k_windows * k_window / 2;
    EXPECT_EQ(move_to_nodes(k_begin, 2 * half, target).moved, 2 * half);
    EXPECT_EQ(bytes_on(2), half);
    EXPECT_EQ(bytes_on(3), half);
    for (std::size_t page = 0; page < node_of.size(); ++page)
      ASSERT_EQ(node_of[page], page / k_pages % 2 != 0 ? 3 : 2) << page;
  }
}

TEST(NodeOrders, MemoriesOfASocketComeFirst) {
  for (const Platform& platform :
       {captured_machine("icelake-optane"), dark_machine("icelake-optane")}) {
    const NodeOrders orders = node_orders_of(platform); // DRAM 0 and 1, NVM 2 and 3
    for (unsigned socket = 0; socket < 2; ++socket) {
      EXPECT_LT(orders.rank[2 + socket][socket], orders.rank[2 + socket][1 - socket]);
      EXPECT_LT(orders.rank[socket][2 + socket], orders.rank[socket][3 - socket]);
    }
  }
  const NodeOrders clusters = node_orders_of(captured_machine("xeon-max-snc4-2s"));
  for (unsigned cluster = 0; cluster < 8; ++cluster)
    for (unsigned other = 0; other < 8; ++other) {
      EXPECT_EQ(clusters.rank[cluster][8 + other] == 0, cluster == other);
      EXPECT_EQ(clusters.rank[8 + cluster][other] == 0, cluster == other);
    }
}

TEST_F(PageMovesTest, BusyPagesStayAndAreReported) {
  windows.assign(k_windows, Is::small);
  windows[0] = windows[1] = Is::huge;
  for (const std::size_t page : {0ul, 3 * k_pages, 3 * k_pages + 5, 31 * k_pages + 511})
    busy_pages.insert(k_begin + page * k_small);
  // The first page of the first huge one is busy, but its others lead there too.
  const MoveOutcome outcome = move();
  EXPECT_EQ(outcome.after.node[0], bytes_on(0));
  EXPECT_EQ(outcome.missing, 3 * k_small);
}

TEST_F(PageMovesTest, ANodeThatIsFullInTheMiddle) {
  for (const Is kind : {Is::huge, Is::small}) {
    begin_with(kind);
    room = 10 * k_pages + 100;
    const MoveOutcome outcome = move();
    expect_true(outcome, 0);
    EXPECT_GE(bytes_on(1), 10 * k_window);
    EXPECT_LE(bytes_on(1), 10 * k_window + 100 * k_small);
  }
}

TEST_F(PageMovesTest, PartOfARange) {
  const std::size_t bytes = 5 * k_window + 7 * k_small + 100;
  windows.assign(k_windows, Is::small);
  const MoveOutcome outcome = move(1, bytes);
  EXPECT_EQ(outcome.moved, bytes);
  EXPECT_EQ(outcome.after.node[1], bytes);
  EXPECT_EQ(outcome.after.present(), bytes);
}

} // namespace
