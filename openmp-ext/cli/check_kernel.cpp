// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What the kernel and the container allow a process to do with its memory: huge pages, limits, and
// the two calls that place pages, tried on one page.
#include "base/kernel_files.hpp"
#include "base/os.hpp"
#include "cli/check.hpp"

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <linux/mempolicy.h>
#include <sys/mman.h>
#include <sys/resource.h>

namespace omptier {
namespace {

constexpr const char* k_container_advice =
    "a container's seccomp profile refuses it: start it with --cap-add SYS_NICE (docker, podman)";

void check_huge_pages(Findings& findings) {
  const std::string setting = read_small_file("/sys/kernel/mm/transparent_hugepage/enabled");
  const char* advice = "as root: echo madvise > /sys/kernel/mm/transparent_hugepage/enabled";
  if (setting.empty())
    findings.limited("huge pages", "this kernel has no transparent huge pages",
                     "none needed; large blocks cost more to touch and to move");
  else if (setting.find("[never]") != std::string::npos)
    findings.limited("huge pages", "switched off (" + setting + ")", advice);
  else
    findings.works("huge pages", format_size(huge_page_size()) + ", setting " + setting);
}

std::string limit_text(rlim_t limit) {
  return limit == RLIM_INFINITY ? "unlimited" : format_size(limit);
}

void check_limits(Findings& findings) {
  constexpr std::uint64_t k_wanted = std::uint64_t{1} << 40;
  rlimit limit{};
  ::getrlimit(RLIMIT_AS, &limit);
  if (limit.rlim_cur == RLIM_INFINITY || limit.rlim_cur > 2 * k_wanted)
    findings.works("address space", limit_text(limit.rlim_cur));
  else
    findings.limited("address space",
                     "limited to " + limit_text(limit.rlim_cur) +
                         "; OMPTier reserves less than it would (1 TiB a range)",
                     "ulimit -v unlimited");
  ::getrlimit(RLIMIT_MEMLOCK, &limit);
  if (limit.rlim_cur == RLIM_INFINITY || limit.rlim_cur >= (1u << 20))
    findings.works("locked memory", limit_text(limit.rlim_cur));
  else
    findings.limited("locked memory",
                     "limited to " + limit_text(limit.rlim_cur) +
                         ": enough sample rings for about 16 threads (perf allows " +
                         read_small_file("/proc/sys/kernel/perf_event_mlock_kb") +
                         " KiB a CPU besides)",
                     "ulimit -l unlimited");
  const std::string maps = read_small_file("/proc/sys/vm/max_map_count");
  if (std::strtoull(maps.c_str(), nullptr, 10) >= 65530)
    findings.works("mappings", "up to " + maps + " a process");
  else
    findings.limited("mappings", "only " + maps + " a process",
                     "as root: sysctl vm.max_map_count=65530");
  const std::string overcommit = read_small_file("/proc/sys/vm/overcommit_memory");
  if (overcommit == "2")
    findings.limited("overcommit",
                     "vm.overcommit_memory is 2: what is made accessible counts at once, not when "
                     "it is touched",
                     "as root: sysctl vm.overcommit_memory=0, or leave room in the commit limit");
  else
    findings.works("overcommit", "vm.overcommit_memory is " + overcommit);
}

class Page {
public:
  Page()
      : address_(os().map(nullptr, page_size(), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
                          -1, 0)) {}
  ~Page() {
    if (*this) os().unmap(address_, page_size());
  }
  Page(const Page&) = delete;
  Page& operator=(const Page&) = delete;
  explicit operator bool() const { return address_ != MAP_FAILED; }
  void* get() const { return address_; }
  void touch() { *static_cast<volatile char*>(address_) = 1; }
  // Node the page is on, or -errno.
  long where() const { return ask(nullptr); }
  long move_to(int node) const { return ask(&node); }

private:
  long ask(const int* node) const {
    void* pages[1] = {address_};
    int status = -1;
    if (os().move_pages(0, 1, pages, node, &status, node != nullptr ? MPOL_MF_MOVE : 0) < 0)
      return -errno;
    return status;
  }
  void* address_;
};

std::string refusal(long error) {
  return std::string("refused: ") + std::strerror(static_cast<int>(-error));
}

void check_placing(const Platform& platform, Findings& findings) {
  Page page;
  if (!page) return findings.fails("placing", refusal(-errno), "not even one page can be mapped");
  const unsigned node = platform.nodes.front().number;
  unsigned long mask[1024 / (8 * sizeof(unsigned long))] = {};
  mask[node / (8 * sizeof(unsigned long))] = 1ul << node % (8 * sizeof(unsigned long));
  if (os().bind_memory(page.get(), page_size(), MPOL_PREFERRED, mask, 1024, 0) != 0)
    findings.fails("mbind", refusal(-errno), k_container_advice);
  else
    findings.works("mbind", "memory can be given a preferred node");
  page.touch();
  const long here = page.where();
  if (here < 0) return findings.fails("move_pages", refusal(here), k_container_advice);
  if (platform.nodes.size() < 2)
    return findings.works("move_pages", "the node of a page can be queried (there is one)");
  const unsigned other = platform.nodes[0].number == static_cast<unsigned>(here)
                             ? platform.nodes[1].number
                             : platform.nodes[0].number;
  const std::string way = "from node " + std::to_string(here) + " to " + std::to_string(other);
  const long moved = page.move_to(static_cast<int>(other));
  if (moved == static_cast<long>(other) && page.where() == moved)
    findings.works("move_pages", "a page moved " + way);
  else
    findings.fails("move_pages",
                   "a page did not move " + way + ", " + refusal(moved < 0 ? moved : 0),
                   moved == -ENOMEM ? "the node is full" : k_container_advice);
}

} // namespace

void check_kernel(const Platform& platform, Findings& findings) {
  check_huge_pages(findings);
  check_limits(findings);
  check_placing(platform, findings);
}

} // namespace omptier
