// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The policy is PREFERRED, as everywhere (a full node kills no process); what came elsewhere shows
// in verify().
#include "calibration/node_memory.hpp"

#include "base/kernel_files.hpp"
#include "base/os.hpp"
#include "base/text.hpp"
#include "placement/cgroup.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <climits>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <linux/mempolicy.h>
#include <set>
#include <sys/mman.h>
#include <utility>

namespace omptier {
namespace {

constexpr std::size_t k_alignment = std::size_t{2} << 20;
constexpr std::size_t k_least_bytes = std::size_t{64} << 20;
constexpr std::size_t k_least_bytes_of_thread = std::size_t{256} << 10;
constexpr unsigned k_node_bits = 1024; // the kernel's largest number of nodes

// Whole huge pages, if these have a usual size.
std::size_t alignment() {
  return huge_page_size() <= k_least_bytes ? std::max(huge_page_size(), k_alignment) : k_alignment;
}

std::size_t rounded_up(std::size_t bytes) {
  return (bytes + alignment() - 1) / alignment() * alignment();
}

// "32768K" of a cache's size file.
std::uint64_t cache_size(const std::string& text) {
  const std::uint64_t value = std::strtoull(text.c_str(), nullptr, 10);
  return value << (text.ends_with('K') ? 10 : text.ends_with('M') ? 20 : 0);
}

} // namespace

MeasuredMemory::MeasuredMemory(MeasuredMemory&& other) noexcept {
  *this = std::move(other);
}

MeasuredMemory& MeasuredMemory::operator=(MeasuredMemory&& other) noexcept {
  std::swap(mapping_, other.mapping_);
  std::swap(mapped_, other.mapped_);
  std::swap(words_, other.words_);
  std::swap(bytes_, other.bytes_);
  std::swap(node_, other.node_);
  return *this;
}

MeasuredMemory::~MeasuredMemory() {
  if (mapping_ != nullptr) os().unmap(mapping_, mapped_);
}

std::string MeasuredMemory::take(unsigned node, std::size_t bytes, bool huge) {
  bytes_ = rounded_up(bytes);
  node_ = node;
  mapped_ = bytes_ + alignment();
  void* const mapping =
      os().map(nullptr, mapped_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (mapping == MAP_FAILED) return std::string("no memory to be had: ") + std::strerror(errno);
  mapping_ = mapping;
  words_ = reinterpret_cast<std::uint64_t*>(rounded_up(reinterpret_cast<std::uintptr_t>(mapping)));
  os().advise(words_, bytes_, huge ? MADV_HUGEPAGE : MADV_NOHUGEPAGE);
  std::array<unsigned long, k_node_bits / (8 * sizeof(long))> mask{};
  if (node >= k_node_bits) return "the kernel has no node of this number";
  mask[node / (8 * sizeof(long))] |= 1ul << node % (8 * sizeof(long));
  if (os().bind_memory(words_, bytes_, MPOL_PREFERRED, mask.data(), k_node_bits + 1, 0) != 0)
    return std::string("memory cannot be bound to it (mbind: ") + std::strerror(errno) +
           "); the batch system, cpuset or container gives this shell other nodes only";
  return {};
}

void MeasuredMemory::touch(std::span<std::uint64_t> part) {
  for (std::size_t at = 0; at < part.size(); at += page_size() / sizeof part[0])
    part[at] = 1;
}

std::string MeasuredMemory::verify() const {
  constexpr std::size_t k_samples = 64;
  const std::size_t pages = bytes_ / page_size();
  std::array<void*, k_samples> where{};
  std::array<int, k_samples> status{};
  const std::size_t count = std::min(pages, k_samples);
  for (std::size_t i = 0; i < count; ++i)
    where[i] = reinterpret_cast<char*>(words_) + i * (pages / count) * page_size();
  if (os().move_pages(0, count, where.data(), nullptr, status.data(), 0) != 0)
    return std::string("where its pages lie cannot be found out (move_pages: ") +
           std::strerror(errno) + "); allow move_pages in the container or sandbox";
  const auto elsewhere = std::ranges::find_if(status.begin(), status.begin() + count, [&](int at) {
    return at != static_cast<int>(node_);
  });
  if (elsewhere == status.begin() + count) return {};
  if (*elsewhere < 0)
    return std::string("where a page lies is not known (move_pages: ") +
           std::strerror(-*elsewhere) + "); run it again";
  return "its pages lie on node " + std::to_string(*elsewhere) +
         ": the node is full, or may not be used (see 'omptier check')";
}

// The kernel lists mappings by address; the words may be a part of one.
std::size_t MeasuredMemory::huge_bytes() const {
  std::ifstream mappings("/proc/self/smaps");
  const auto address = reinterpret_cast<std::uintptr_t>(words_);
  bool here = false;
  for (std::string line; std::getline(mappings, line);) {
    unsigned long begin = 0, end = 0, kibibytes = 0;
    if (std::sscanf(line.c_str(), "%lx-%lx ", &begin, &end) == 2)
      here = begin <= address && address < end;
    else if (here && std::sscanf(line.c_str(), "AnonHugePages: %lu kB", &kibibytes) == 1)
      return std::size_t{kibibytes} << 10;
  }
  return 0;
}

std::uint64_t cache_bytes(const std::vector<unsigned>& cpus, const std::string& root) {
  std::set<std::string> seen;
  std::uint64_t sum = 0;
  for (const unsigned cpu : cpus)
    for (const char* index : {"index2", "index3", "index4"}) {
      const std::string cache =
          root + "/devices/system/cpu/cpu" + std::to_string(cpu) + "/cache/" + index;
      const std::string size = read_small_file(cache + "/size");
      if (!size.empty() && seen.insert(index + read_small_file(cache + "/shared_cpu_list")).second)
        sum += cache_size(size);
    }
  return sum;
}

MeasuredRoom room_on(unsigned node, std::size_t on_node, std::size_t in_all) {
  NodeMemory now;
  if (!read_node_memory(node, now)) return {0, "the kernel does not show its memory", false};
  MeasuredRoom room{now.free / on_node, format_size(now.free) + " free"};
  if (now.file_cache > now.free)
    room.limit += ", while " + format_size(now.file_cache) +
                  " hold files that were read ('sync; echo 1 > /proc/sys/vm/drop_caches' as root "
                  "frees them)";
  CgroupLimits groups;
  groups.find();
  if (const std::uint64_t bytes = groups.room(); groups.limited() && bytes / in_all < room.bytes)
    room = {bytes / in_all, format_size(bytes) + " that the control group's limit of " +
                                format_size(groups.least_limit()) +
                                " leaves (give the batch job or container more memory)"};
  return room;
}

std::size_t bytes_to_measure(std::uint64_t caches, std::uint64_t room, std::size_t threads) {
  const std::uint64_t least =
      std::max<std::uint64_t>({2 * caches, k_least_bytes / 8, threads * k_least_bytes_of_thread});
  const std::uint64_t wanted =
      std::max<std::uint64_t>({8 * caches, k_least_bytes, 4 * threads * k_least_bytes_of_thread});
  const std::uint64_t bytes = std::min(wanted, room / 2) / k_alignment * k_alignment;
  return bytes >= least ? bytes : 0;
}

} // namespace omptier
