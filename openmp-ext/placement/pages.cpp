// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// See pages.hpp; moving is in page_moves.cpp. Under the strict policy a full node kills the
// process, so it is not used.
#include "placement/pages.hpp"

#include "base/notices.hpp"
#include "base/os.hpp"
#include "base/rounding.hpp"

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <linux/mempolicy.h>
#include <sys/mman.h>

#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_READ 22
#define MADV_POPULATE_WRITE 23
#endif
#ifndef MADV_COLD
#define MADV_COLD 20 // Linux 5.4
#endif

namespace omptier {
namespace {

constexpr int k_preferred_many = 5; // MPOL_PREFERRED_MANY, Linux 5.15
constexpr std::size_t k_batch = 512;

std::uint64_t overlap(std::uintptr_t a, std::uintptr_t a_end, std::uintptr_t b,
                      std::uintptr_t b_end) {
  const std::uintptr_t low = std::max(a, b);
  const std::uintptr_t high = std::min(a_end, b_end);
  return high > low ? high - low : 0;
}

} // namespace

std::uint64_t PageCensus::on(NodeSet nodes) const {
  std::uint64_t sum = 0;
  for (unsigned i = 0; i < k_max_nodes; ++i)
    if (nodes.has(i)) sum += node[i];
  return sum;
}

std::uint64_t PageCensus::present() const {
  return on(NodeSet{~std::uint64_t{0}});
}

bool count_pages(std::uintptr_t begin, std::size_t bytes, PageCensus& census, int process) {
  const std::size_t page = page_size();
  const std::uintptr_t end = begin + bytes;
  void* pages[k_batch];
  int status[k_batch];
  bool answered = true;
  for (std::uintptr_t at = round_down(begin, page); at < end;) {
    std::size_t n = 0;
    const std::uintptr_t first = at;
    for (; n < k_batch && at < end; ++n, at += page)
      pages[n] = reinterpret_cast<void*>(at);
    if (os().move_pages(process, n, pages, nullptr, status, 0) < 0) {
      census.unqueried += overlap(first, at, begin, end);
      answered = false;
      continue;
    }
    for (std::size_t i = 0; i < n; ++i) {
      const std::uintptr_t page_begin = first + i * page;
      const std::uint64_t part = overlap(page_begin, page_begin + page, begin, end);
      if (status[i] >= 0 && status[i] < static_cast<int>(k_max_nodes))
        census.node[static_cast<unsigned>(status[i])] += part;
      else if (status[i] == -ENOENT || status[i] == -EFAULT)
        census.untouched += part;
      else
        census.unqueried += part;
    }
  }
  return answered;
}

std::size_t leading_bytes_on(std::uintptr_t begin, std::size_t bytes, NodeSet nodes) {
  const std::size_t step = page_size() * k_batch;
  for (std::size_t at = 0; at < bytes; at += step) {
    const std::size_t part = std::min(step, bytes - at);
    PageCensus census;
    if (!count_pages(begin + at, part, census)) return at;
    if (census.on(nodes) == part) continue;
    for (std::size_t page = at; page < at + part; page += page_size()) {
      PageCensus one;
      if (!count_pages(begin + page, std::min(page_size(), bytes - page), one) ||
          one.on(nodes) == 0)
        return page;
    }
  }
  return bytes;
}

namespace {

// Whether the kernel makes pages present on request (Linux 5.14). Tested once, on a page of our
// own: for other memory the same error means that it is not writable.
bool kernel_populates() {
  static std::atomic<const OsCalls*> it_does{nullptr}, it_does_not{nullptr}; // for that table
  const OsCalls& table = os();
  if (it_does.load(std::memory_order_relaxed) == &table) return true;
  if (it_does_not.load(std::memory_order_relaxed) == &table) return false;
  void* page = table.map(nullptr, page_size(), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
                         -1, 0);
  if (page == MAP_FAILED) return false; // not known yet
  const bool done = table.advise(page, page_size(), MADV_POPULATE_WRITE) == 0;
  const bool refused = !done && errno == EINVAL;
  table.unmap(page, page_size());
  if (done) it_does.store(&table, std::memory_order_relaxed);
  if (refused) it_does_not.store(&table, std::memory_order_relaxed);
  return done;
}

} // namespace

void map_in(std::uintptr_t begin, std::size_t bytes) {
  void* at = reinterpret_cast<void*>(begin);
  if (bytes != 0 && kernel_populates() && os().advise(at, bytes, MADV_POPULATE_WRITE) != 0)
    os().advise(at, bytes, MADV_POPULATE_READ);
}

bool populate(std::uintptr_t begin, std::size_t bytes) {
  if (bytes == 0) return true;
  if (kernel_populates())
    return os().advise(reinterpret_cast<void*>(begin), bytes, MADV_POPULATE_WRITE) == 0;
  // Touches each page, preserving its content.
  const std::size_t page = page_size();
  for (std::size_t at = 0; at < bytes; at += page) {
    auto* byte = reinterpret_cast<volatile char*>(begin + at);
    *byte = *byte;
  }
  return true;
}

BindResult bind_range(std::uintptr_t begin, std::size_t bytes, const Binding& binding) {
  if (binding.nodes.empty() || binding.spreading == Spreading::blocked) return BindResult::bound;
  void* at = reinterpret_cast<void*>(begin);
  const unsigned long mask = binding.nodes.bits;
  const bool interleaved = binding.spreading == Spreading::interleaved;
  const int mode = interleaved ? MPOL_INTERLEAVE : k_preferred_many;
  if (os().bind_memory(at, bytes, mode, &mask, k_max_nodes + 1, 0) == 0) {
    if (binding.home != k_no_node) os().set_home_node(at, bytes, binding.home);
    return BindResult::bound;
  }
  if (errno == EINVAL && !interleaved) {
    const unsigned one = binding.home != k_no_node ? binding.home : binding.nodes.first();
    const unsigned long first = 1ul << one;
    if (os().bind_memory(at, bytes, MPOL_PREFERRED, &first, k_max_nodes + 1, 0) == 0)
      return BindResult::bound;
  }
  return BindResult::refused;
}

void unbind_range(std::uintptr_t begin, std::size_t bytes) {
  os().bind_memory(reinterpret_cast<void*>(begin), bytes, MPOL_DEFAULT, nullptr, 0, 0);
}

Part part_of(std::uintptr_t begin, std::size_t bytes, NodeSet nodes, unsigned i, std::size_t step) {
  const unsigned parts = nodes.count();
  const std::size_t steps = (bytes + step - 1) / step;
  const std::size_t first = steps * i / parts * step;
  const std::size_t end = std::min(steps * (i + 1) / parts * step, bytes);
  for (unsigned skipped = 0; skipped < i; ++skipped)
    nodes.bits &= nodes.bits - 1;
  return {begin + first, end > first ? end - first : 0, nodes.first()};
}

bool populate_parts(std::uintptr_t begin, std::size_t bytes, NodeSet nodes, std::size_t step) {
  constexpr unsigned k_limit = 1024; // nodes of the largest kernels
  int mode = MPOL_DEFAULT;
  unsigned long own[k_limit / (8 * sizeof(unsigned long))] = {};
  const bool switched = os().get_policy(&mode, own, k_limit) == 0;
  bool present = true;
  for (unsigned i = 0; i < nodes.count() && present; ++i) {
    const Part part = part_of(begin, bytes, nodes, i, step);
    if (part.bytes == 0) continue;
    const unsigned long here = 1ul << part.node;
    if (switched) os().set_policy(MPOL_PREFERRED, &here, k_max_nodes + 1);
    present = populate(part.begin, part.bytes);
  }
  const int error = errno;
  if (switched) os().set_policy(mode, own, k_limit);
  errno = error;
  // Some remain if the thread's policy may not be changed, or its node was short of pages.
  for (unsigned i = 0; i < nodes.count() && present; ++i) {
    const Part part = part_of(begin, bytes, nodes, i, step);
    NodeSet here;
    here.add(part.node);
    if (part.bytes != 0 && move_to_nodes(part.begin, part.bytes, {here}).refused) break;
  }
  return present;
}

// Marking part of a huge page cold splits it; that fails while another user holds the page.
void split_at_ends(std::uintptr_t begin, std::size_t bytes) {
  constexpr unsigned k_tries = 3;
  const std::size_t huge = huge_page_size();
  const std::size_t page = page_size();
  if (huge == 0 || bytes < page) return;
  const auto split = [&](std::uintptr_t at) {
    for (unsigned i = 0; i < k_tries; ++i)
      os().advise(reinterpret_cast<void*>(at), page, MADV_COLD);
  };
  if (begin % huge != 0) split(begin);
  if ((begin + bytes) % huge != 0) split(begin + bytes - page);
}

bool settle(std::uintptr_t begin, std::size_t bytes, NodeSet nodes, unsigned home) {
  if (nodes.empty()) return true; // memory without a node
  PageCensus census;
  if (!count_pages(begin, bytes, census)) {
    warn_once(Notice::pages_unverified,
              "The kernel refuses to report where pages are (move_pages; a container or sandbox "
              "may forbid it): placement cannot be verified.");
    return true;
  }
  if (census.on(nodes) == census.present()) return true;
  const MoveOutcome outcome = move_to_nodes(begin, bytes, {.nodes = nodes, .first = home});
  return !outcome.refused && outcome.missing == 0;
}

std::array<std::uint64_t, k_max_nodes> read_low_watermarks() {
  std::array<std::uint64_t, k_max_nodes> bytes{};
  const int fd = os().open("/proc/zoneinfo", O_RDONLY | O_CLOEXEC, 0);
  if (fd < 0) return bytes;
  char text[8192];
  std::size_t used = 0;
  unsigned node = k_max_nodes;
  for (ssize_t got = 0; (got = os().read(fd, text + used, sizeof text - used - 1)) > 0;) {
    used += static_cast<std::size_t>(got);
    text[used] = '\0';
    char* line = text;
    // "Node 1, zone   Normal" begins a zone; "        low      5693" is in pages.
    for (char* end = nullptr; (end = std::strchr(line, '\n')) != nullptr; line = end + 1) {
      *end = '\0';
      if (std::strncmp(line, "Node ", 5) == 0)
        node = static_cast<unsigned>(std::strtoul(line + 5, nullptr, 10));
      else if (node < k_max_nodes && std::strncmp(line, "        low ", 12) == 0)
        bytes[node] += std::strtoull(line + 12, nullptr, 10) * page_size();
    }
    used -= static_cast<std::size_t>(line - text);
    std::memmove(text, line, used);
    if (used == sizeof text - 1) break; // a line longer than any known
  }
  os().close(fd);
  return bytes;
}

} // namespace omptier
