// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The policy is PREFERRED, as everywhere (a full node kills no process); what came elsewhere shows
// in verify().
#include "calibration/node_memory.hpp"

#include "base/kernel_files.hpp"
#include "base/os.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <climits>
#include <cstring>
#include <linux/mempolicy.h>
#include <set>
#include <sys/mman.h>
#include <utility>

namespace omptier {
namespace {

constexpr std::size_t k_alignment = std::size_t{2} << 20;
constexpr std::size_t k_least_bytes = std::size_t{64} << 20;
constexpr unsigned k_node_bits = 1024; // the kernel's largest number of nodes

std::size_t rounded_up(std::size_t bytes) {
  return (bytes + k_alignment - 1) / k_alignment * k_alignment;
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
  mapped_ = bytes_ + k_alignment;
  void* const mapping =
      os().map(nullptr, mapped_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (mapping == MAP_FAILED) return std::string("no memory to be had: ") + std::strerror(errno);
  mapping_ = mapping;
  const auto address = reinterpret_cast<std::uintptr_t>(mapping);
  words_ =
      reinterpret_cast<std::uint64_t*>((address + k_alignment - 1) / k_alignment * k_alignment);
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
  return "its pages lie on node " + std::to_string(*elsewhere) +
         ": the node is full, or may not be used (see 'omptier check')";
}

std::uint64_t last_level_bytes(const std::vector<unsigned>& cpus, bool one_of,
                               const std::string& root) {
  std::set<std::string> seen;
  std::uint64_t sum = 0, largest = 0;
  for (const unsigned cpu : cpus) {
    const std::string caches = root + "/devices/system/cpu/cpu" + std::to_string(cpu) + "/cache/";
    for (const char* index : {"index3", "index2"}) { // the outermost
      const std::string size = read_small_file(caches + index + "/size");
      if (size.empty()) continue;
      const std::uint64_t bytes = cache_size(size);
      largest = std::max(largest, bytes);
      if (seen.insert(read_small_file(caches + index + "/shared_cpu_list")).second) sum += bytes;
      break;
    }
  }
  return one_of ? largest : sum;
}

std::size_t bytes_to_measure(std::uint64_t caches, std::uint64_t free_bytes) {
  const std::uint64_t wanted = std::max<std::uint64_t>(8 * caches, k_least_bytes);
  const std::uint64_t bytes = std::min(wanted, free_bytes / 2) / k_alignment * k_alignment;
  return bytes >= std::max<std::uint64_t>(2 * caches, k_least_bytes / 8) ? bytes : 0;
}

} // namespace omptier
