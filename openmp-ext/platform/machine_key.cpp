// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The processor's name comes from the processor itself: /proc/cpuinfo asks every processor for its
// frequency, which takes milliseconds on large machines.
#include "platform/machine_key.hpp"

#include "base/kernel_files.hpp"
#include "base/text.hpp"
#include "platform/describe.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstring>
#if defined(__x86_64__)
#include <cpuid.h>
#endif

namespace omptier {
namespace {

constexpr double k_size_tolerance = 0.01;

#if defined(__x86_64__)
std::string processor_name(const std::string&) {
  constexpr unsigned k_first = 0x80000002, k_last = 0x80000004; // 16 bytes of the name each
  if (__get_cpuid_max(0x80000000, nullptr) < k_last) return {};
  char name[3 * 16 + 1] = {};
  for (unsigned leaf = k_first; leaf <= k_last; ++leaf) {
    unsigned words[4] = {};
    __get_cpuid(leaf, &words[0], &words[1], &words[2], &words[3]);
    std::memcpy(name + std::size_t{16} * (leaf - k_first), words, sizeof words);
  }
  std::string text = name;
  std::erase_if(text, [](char c) { return c < ' ' || c > '~'; });
  text.erase(0, text.find_first_not_of(' '));
  text.erase(text.find_last_not_of(' ') + 1);
  return text;
}
#else
std::string processor_name(const std::string& root) {
  return read_small_file(root + "/devices/system/cpu/cpu0/regs/identification/midr_el1");
}
#endif

std::uint64_t hash_of(const std::string& text) { // FNV-1a
  std::uint64_t hash = 0xcbf29ce484222325;
  for (const char c : text)
    hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3;
  return hash;
}

bool same_size(std::uint64_t a, std::uint64_t b) {
  const auto x = static_cast<double>(a), y = static_cast<double>(b);
  return std::fabs(x - y) <= k_size_tolerance * std::max(x, y);
}

std::string cpus_in_words(const std::vector<unsigned>& cpus) {
  return cpus.empty() ? "no CPUs" : "CPUs " + format_numbers(cpus);
}

} // namespace

MachineKey read_machine_key(const std::string& root) {
  MachineKey key;
  key.processor = processor_name(root);
  const std::string nodes = root + "/devices/system/node";
  for (const unsigned number : parse_number_list(read_small_file(nodes + "/online"))) {
    NodeMemory memory;
    if (!read_node_memory(number, memory, root.c_str()) || memory.total == 0) continue;
    const std::string cpus = nodes + "/node" + std::to_string(number) + "/cpulist";
    key.nodes.push_back({number, parse_number_list(read_small_file(cpus)), memory.total});
  }
  return key;
}

std::string difference_between(const MachineKey& there, const MachineKey& here) {
  if (there.processor != here.processor)
    return "its processor is " + in_quotes(there.processor) + ", not " + in_quotes(here.processor);
  if (there.nodes.size() != here.nodes.size())
    return "it has " + std::to_string(there.nodes.size()) + " memory nodes, this one " +
           std::to_string(here.nodes.size());
  for (std::size_t i = 0; i < here.nodes.size(); ++i) {
    const KeyNode &a = there.nodes[i], &b = here.nodes[i];
    if (a.number != b.number)
      return "it has a node " + std::to_string(a.number) + " where this one has node " +
             std::to_string(b.number);
    const std::string node = "its node " + std::to_string(b.number) + " has ";
    if (a.cpus != b.cpus)
      return node + cpus_in_words(a.cpus) + ", this one's " + cpus_in_words(b.cpus);
    if (!same_size(a.bytes, b.bytes))
      return node + format_size(a.bytes) + ", this one's " + format_size(b.bytes);
  }
  return {};
}

std::string platform_file_name(const MachineKey& key) {
  const std::string text = key.processor + ";" + std::to_string(key.nodes.size());
  char name[64];
  std::snprintf(name, sizeof name, "platform-%016llx.json",
                static_cast<unsigned long long>(hash_of(text)));
  return name;
}

} // namespace omptier
