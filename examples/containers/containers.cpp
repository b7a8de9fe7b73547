// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Standard containers, each in the memory that suits it: word counts in a hash table with random
// look-ups, a stream of numbers in fast memory, and polymorphic strings in large memory. Prints the
// placement of each container; the results do not depend on placement.
#include <ompx_memory.hpp>

#include <cstdio>
#include <memory_resource>
#include <numeric>
#include <string>
#include <unordered_map>
#include <vector>

namespace {

void show(const char *name, const void *address) {
  ompx_placement_t where{};
  where.struct_size = sizeof where;
  if (ompx_get_placement(address, 0, &where) == 0) std::printf("%-7s %s\n", name, where.reason);
}

} // namespace

int main() {
  // Latency matters for the table, bandwidth for the stream; the archive may be anywhere.
  const ompx::allocator_handle lookups(ompx_auto_mem_space,
                                       ompx::traits{}
                                           .pattern(ompx::access_pattern::random)
                                           .mode(ompx::access_mode::read_mostly)
                                           .importance(500)
                                           .label(ompx::name("table")));
  const ompx::allocator_handle streams(ompx_auto_mem_space,
                                       ompx::traits{}
                                           .pattern(ompx::access_pattern::sequential)
                                           .importance(300)
                                           .label(ompx::name("stream")));
  const ompx::allocator_handle archive(ompx_auto_mem_space,
                                       ompx::traits{}
                                           .sensitivity(ompx::sensitivity::none)
                                           .label(ompx::name("archive")));

  using Entry = std::pair<const long, long>;
  std::unordered_map<long, long, std::hash<long>, std::equal_to<long>, ompx::allocator<Entry>> table(
      lookups);
  for (long i = 0; i < 200000; ++i)
    ++table[i * 7919 % 50021];
  long most = 0;
  for (const auto &entry : table)
    most = std::max(most, entry.second);

  std::vector<double, ompx::allocator<double>> stream(1 << 20, streams);
  std::iota(stream.begin(), stream.end(), 0.0);
  double sum = 0;
#pragma omp parallel for reduction(+ : sum)
  for (std::size_t i = 0; i < stream.size(); ++i)
    sum += stream[i];

  ompx::memory_resource resource(archive);
  std::pmr::monotonic_buffer_resource buffer(1 << 20, &resource); // large pieces of the tier
  std::pmr::vector<std::pmr::string> lines(&buffer);
  for (int i = 0; i < 10000; ++i)
    lines.emplace_back("line " + std::to_string(i) + " of an archive that nobody reads twice");

  show("table", &*table.begin());
  show("stream", stream.data());
  show("archive", lines.back().data());
  std::printf("%zu keys, at most %ld; sum %.0f; %zu lines\n", table.size(), most, sum, lines.size());
  return table.size() == 50021 && sum == 549755289600.0 && lines.size() == 10000 ? 0 : 1;
}
