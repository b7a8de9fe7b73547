// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Moving pages with move_pages. What it is like on real kernels shapes this code. One 4 KiB address
// of a huge page moves all of it, and its other addresses then give EBUSY: so the first page of
// each window (the place of a huge page) is named alone, many windows in a call, and what is then
// still elsewhere are small pages. Into a full node it returns an error although most pages moved,
// and leaves their status as it was: so then the pages are queried again. A query costs as much
// for 4 KiB as for a huge page; so before the move only both ends of a window are queried, and
// behind it each page once, which is the census.
//
// Several threads move huge pages faster, since copying takes most of the time. With small pages
// shoot-downs multiply, and no reliable gain was measured (benchmarks/mover).
#include "placement/pages.hpp"

#include "base/os.hpp"
#include "base/rounding.hpp"
#include "placement/mover_threads.hpp"
#include "placement/node_orders.hpp"

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <linux/mempolicy.h>
#include <tuple>

namespace omptier {
namespace {

constexpr int k_shared = -EACCES;         // a page's status: other processes map it too
constexpr std::size_t k_most_pages = 512; // pages in a query
constexpr std::size_t k_windows = 16;     // huge pages that one call moves
constexpr std::size_t k_a_thread = 4;     // windows from which on another thread pays

using Nodes = std::array<std::uint8_t, k_max_nodes>;

struct Pass { // what is to be done, the same for all threads
  std::uintptr_t begin, end;
  const MoveTarget& target;
  const Nodes& to; // of each node its pages go there

  std::size_t overlap(std::uintptr_t page) const {
    const std::uintptr_t low = std::max(begin, page), high = std::min(end, page + page_size());
    return high > low ? high - low : 0;
  }
  bool elsewhere(int status) const {
    return status >= 0 && !target.nodes.has(static_cast<unsigned>(status));
  }
};

struct Tally {
  PageCensus after;
  std::uint64_t moved = 0, shared = 0; // bytes
  bool refused = false;
  bool behind_huge = false; // the last window that had to move was a huge page

  void count(int status, std::size_t bytes) {
    if (status >= 0 && status < static_cast<int>(k_max_nodes))
      after.node[static_cast<unsigned>(status)] += bytes;
    else if (status == -ENOENT || status == -EFAULT)
      after.untouched += bytes;
    else
      after.unqueried += bytes;
  }
  void add(const Tally& other) {
    for (unsigned node = 0; node < k_max_nodes; ++node)
      after.node[node] += other.after.node[node];
    after.untouched += other.after.untouched;
    after.unqueried += other.after.unqueried;
    moved += other.moved;
    shared += other.shared;
    refused = refused || other.refused;
  }
};

struct Window {
  std::uintptr_t begin, end;
  int first_node = -1;                                  // or an error
  bool first_elsewhere = false, last_elsewhere = false; // before the move
};

std::size_t window_bytes() {
  const std::size_t huge = huge_page_size();
  return huge != 0 ? huge : page_size() * k_most_pages;
}

bool query(const Pass& pass, void** pages, std::size_t n, int* status) {
  return os().move_pages(pass.target.process, n, pages, nullptr, status, 0) >= 0;
}

// status: the node of each page before, and behind it what the kernel says. False when the kernel
// refuses to move pages at all. certain: the status says where each page is.
bool ask_to_move(const Pass& pass, void** pages, std::size_t n, int* status, bool& certain) {
  int nodes[k_most_pages];
  for (std::size_t i = 0; i < n; ++i)
    nodes[i] = pass.to[static_cast<unsigned>(status[i]) % k_max_nodes];
  std::fill_n(status, n, 0);
  const long left = os().move_pages(pass.target.process, n, pages, nodes, status, MPOL_MF_MOVE);
  certain = left == 0;
  return left >= 0 || (errno != EPERM && errno != ENOSYS && errno != ESRCH);
}

// Looks at both ends of each window; false when the kernel refuses to say.
bool look_at_ends(const Pass& pass, Window* windows, std::size_t count) {
  void* pages[2 * k_windows];
  int status[2 * k_windows];
  for (std::size_t i = 0; i < count; ++i) {
    pages[2 * i] = reinterpret_cast<void*>(windows[i].begin);
    pages[2 * i + 1] = reinterpret_cast<void*>(windows[i].end - page_size());
  }
  if (!query(pass, pages, 2 * count, status)) return false;
  for (std::size_t i = 0; i < count; ++i) {
    windows[i].first_node = status[2 * i];
    windows[i].first_elsewhere = pass.elsewhere(status[2 * i]);
    windows[i].last_elsewhere = pass.elsewhere(status[2 * i + 1]);
  }
  return true;
}

// Names the first page of each window that lies elsewhere, all in one call.
bool move_first_pages(const Pass& pass, const Window* windows, std::size_t count) {
  void* pages[k_windows];
  int status[k_windows];
  std::size_t n = 0;
  bool certain = false;
  for (std::size_t i = 0; i < count; ++i)
    if (windows[i].first_elsewhere) {
      status[n] = windows[i].first_node;
      pages[n++] = reinterpret_cast<void*>(windows[i].begin);
    }
  return n == 0 || ask_to_move(pass, pages, n, status, certain);
}

// Moves those of the pages that are still elsewhere, and counts all. Returns how many were;
// first_left, last_left: the first and the last one were.
std::size_t move_rest_of(const Pass& pass, std::uintptr_t begin, std::uintptr_t end, Tally& tally,
                         bool& first_left, bool& last_left) {
  void* pages[k_most_pages];
  int where[k_most_pages], status[k_most_pages];
  std::uint16_t index[k_most_pages];
  const std::size_t page = page_size(), count = (end - begin) / page;
  for (std::size_t i = 0; i < count; ++i)
    pages[i] = reinterpret_cast<void*>(begin + i * page);
  if (!query(pass, pages, count, where)) std::fill_n(where, count, -EIO);
  first_left = pass.elsewhere(where[0]);
  last_left = pass.elsewhere(where[count - 1]);
  std::size_t n = 0;
  for (std::size_t i = 0; i < count; ++i)
    if (pass.elsewhere(where[i])) {
      index[n] = static_cast<std::uint16_t>(i);
      status[n] = where[i];
      pages[n++] = pages[i];
    }
  bool certain = true;
  if (n != 0 && ask_to_move(pass, pages, n, status, certain)) {
    for (std::size_t i = 0; i < n; ++i) {
      if (status[i] == k_shared) tally.shared += page;
      certain = certain && status[i] >= 0;
    }
    if (certain || query(pass, pages, n, status))
      for (std::size_t i = 0; i < n; ++i) {
        where[index[i]] = status[i];
        if (status[i] >= 0 && !pass.elsewhere(status[i]))
          tally.moved += pass.overlap(begin + index[i] * page);
      }
  }
  for (std::size_t i = 0; i < count; ++i)
    tally.count(where[i], pass.overlap(begin + i * page));
  return n;
}

// Behind the move of its first page. If the last page came with it, so did all of a huge page, but
// for small ones in it.
void finish_window(const Pass& pass, const Window& window, Tally& tally) {
  const std::size_t step = page_size() * k_most_pages;
  const std::uint64_t there = tally.after.on(pass.target.nodes), moved = tally.moved;
  std::size_t elsewhere = 0;
  bool first_left = false, last_left = false, left = false;
  for (std::uintptr_t at = window.begin; at < window.end; at += step)
    elsewhere += move_rest_of(pass, at, std::min(at + step, window.end), tally,
                              at == window.begin ? first_left : left, last_left);
  if (elsewhere != 0) tally.behind_huge = false;
  if (!window.first_elsewhere || first_left) return;
  const bool together = window.last_elsewhere && !last_left;
  tally.moved += together ? tally.after.on(pass.target.nodes) - there - (tally.moved - moved)
                          : pass.overlap(window.begin);
  if (elsewhere == 0) tally.behind_huge = together && window.end - window.begin > page_size();
}

// Several windows in a call only behind a huge page: of small pages, those of a later window must
// not take the last room of a node before those of an earlier one.
void move_stretch(const Pass& pass, std::uintptr_t begin, std::uintptr_t end, Tally& tally) {
  Window windows[k_windows];
  const std::size_t window = window_bytes();
  for (std::uintptr_t at = begin; at < end && !tally.refused;) {
    const std::size_t most = tally.behind_huge ? k_windows : 1;
    std::size_t count = 0;
    for (; count < most && at < end; at = windows[count++].end)
      windows[count] = {at, std::min(end, round_down(at, window) + window)};
    if (!look_at_ends(pass, windows, count) || !move_first_pages(pass, windows, count))
      tally.refused = true;
    for (std::size_t i = 0; i < count; ++i)
      finish_window(pass, windows[i], tally);
  }
}

// ---- In threads.

struct Shared {
  const Pass& pass;
  std::uintptr_t end; // whole pages
  unsigned threads;
  std::atomic<unsigned> active;
  std::atomic<std::uintptr_t> next; // what no thread has taken yet
  std::atomic<unsigned> finished{0};
  Tally tallies[k_most_mover_helpers + 1];
};

// Large stretches first, since each call costs; smaller ones at the end, so that all end together.
bool take_stretch(Shared& shared, std::uintptr_t& begin, std::uintptr_t& end) {
  const std::size_t window = window_bytes();
  begin = shared.next.load(std::memory_order_relaxed);
  do {
    if (begin >= shared.end) return false;
    const std::size_t part = (shared.end - begin) / window / (2 * shared.threads);
    const std::size_t count = std::clamp<std::size_t>(part, 1, k_windows);
    end = std::min(shared.end, round_down(begin, window) + count * window);
  } while (!shared.next.compare_exchange_weak(begin, end, std::memory_order_relaxed));
  return true;
}

// Among small pages threads only disturb each other: all but the last leave.
bool leaves(Shared& shared) {
  unsigned active = shared.active.load(std::memory_order_relaxed);
  while (active > 1 &&
         !shared.active.compare_exchange_weak(active, active - 1, std::memory_order_relaxed)) {
  }
  return active > 1;
}

void move_stretches(void* given) {
  Shared& shared = *static_cast<Shared*>(given);
  Tally tally;
  tally.behind_huge = true; // else no thread would help
  std::uintptr_t begin = 0, end = 0;
  while (!tally.refused && (tally.behind_huge || !leaves(shared)) &&
         take_stretch(shared, begin, end))
    move_stretch(shared.pass, begin, end, tally);
  shared.tallies[shared.finished.fetch_add(1)] = tally;
}

// Returns where the threads have left off.
std::uintptr_t move_in_threads(const Pass& pass, std::uintptr_t begin, std::uintptr_t end,
                               unsigned helpers, Tally& tally) {
  Shared shared{pass, end, helpers + 1, {helpers + 1}, {begin}, {0}, {}};
  run_with_helpers(helpers, move_stretches, &shared);
  for (unsigned i = 0; i < shared.finished.load(); ++i)
    tally.add(shared.tallies[i]);
  return shared.next.load();
}

// Once a window was a huge page, other threads help with the rest.
Tally move_pass(const Pass& pass) {
  Tally tally;
  const std::size_t window = window_bytes();
  const std::uintptr_t end = round_up(pass.end, page_size());
  bool helped = pass.target.alone;
  for (std::uintptr_t at = round_down(pass.begin, page_size()); at < end && !tally.refused;) {
    const std::size_t left = (end - at) / window / k_a_thread;
    unsigned helpers = 0;
    if (tally.behind_huge && !helped && left != 0)
      helpers = mover_helpers(static_cast<unsigned>(std::min<std::size_t>(left, 64)));
    helped = helped || helpers != 0;
    const std::size_t windows = tally.behind_huge ? k_windows : 1;
    const std::uintptr_t to = std::min(end, round_down(at, window) + windows * window);
    if (helpers == 0) move_stretch(pass, at, to, tally);
    at = helpers != 0 ? move_in_threads(pass, at, end, helpers, tally) : to;
  }
  return tally;
}

// Of each node, the one that comes in its turn.
Nodes nodes_of_turn(const MoveTarget& target, unsigned turn) {
  std::array<std::uint8_t, k_max_nodes> order;
  unsigned count = 0;
  for (unsigned node = 0; node < k_max_nodes; ++node)
    if (target.nodes.has(node)) order[count++] = static_cast<std::uint8_t>(node);
  Nodes to;
  to.fill(order[0]);
  if (count == 1) return to;
  for (unsigned from = 0; from < k_max_nodes; ++from) {
    const auto place_of = [&](unsigned node) {
      const unsigned rank = target.orders != nullptr ? target.orders->rank[from][node] : 0;
      return std::tuple(node != target.first, rank, node);
    };
    std::sort(order.begin(), order.begin() + count,
              [&](unsigned a, unsigned b) { return place_of(a) < place_of(b); });
    to[from] = order[turn];
  }
  return to;
}

} // namespace

MoveOutcome move_to_nodes(std::uintptr_t begin, std::size_t bytes, const MoveTarget& target) {
  MoveOutcome outcome;
  if (bytes == 0) return outcome;
  bool counted = false;
  for (unsigned turn = 0; turn < target.nodes.count(); ++turn) {
    const Nodes to = nodes_of_turn(target, turn);
    const Tally tally = move_pass({begin, begin + bytes, target, to});
    outcome.moved += tally.moved;
    outcome.shared = tally.shared;
    outcome.after = tally.after;
    outcome.refused = tally.refused;
    counted = !tally.refused;
    if (tally.refused || outcome.after.on(target.nodes) == outcome.after.present()) break;
  }
  if (!counted) {
    outcome.after = {};
    count_pages(begin, bytes, outcome.after, target.process);
  }
  outcome.missing = outcome.after.present() - outcome.after.on(target.nodes);
  return outcome;
}

} // namespace omptier
