// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The processor's own samples, where it has them: a pointer chase through 256 MiB misses the caches
// at each step, so nearly all samples must lie in it, as loads. Ends with 77 (skipped) where no
// unit works.

#include "base/os.hpp"
#include "sampling/hardware_events.hpp"
#include "sampling/source.hpp"

#include <cstdio>
#include <memory>
#include <unistd.h>

namespace {

using namespace omptier;

constexpr std::size_t k_nodes = 4u << 20;
struct Node {
  Node* next;
  char rest[56];
};

struct Count final : SampleSink {
  Node* begin = nullptr;
  std::uint64_t all = 0, inside = 0, loads = 0;
  void sample(const AccessSample& sample) override {
    ++all;
    const auto first = reinterpret_cast<std::uint64_t>(begin);
    if (sample.address < first || sample.address >= first + k_nodes * sizeof(Node)) return;
    ++inside;
    loads += sample.kind == AccessKind::load;
  }
  void lost(std::uint64_t) override {}
};

void link_at_random(Node* nodes) {
  for (std::size_t i = 0; i < k_nodes; ++i)
    nodes[i].next = &nodes[i];
  std::uint64_t random = 1;
  for (std::size_t i = k_nodes - 1; i > 0; --i) {
    random = random * 6364136223846793005u + 1442695040888963407u;
    std::swap(nodes[i].next, nodes[(random >> 33) % i].next);
  }
}

} // namespace

int main() {
  std::string why;
  if (find_hardware_unit(why).events.empty()) {
    std::printf("skipped: %s\n", why.c_str());
    return 77;
  }
  auto source = open_sample_source({"hardware", 1000}, why);
  if (!source) {
    std::printf("a unit works, but its source does not: %s\n", why.c_str());
    return 1;
  }
  auto nodes = std::make_unique<Node[]>(k_nodes);
  link_at_random(nodes.get());
  Count before, count;
  count.begin = nodes.get();
  source->drain(before);
  source->thread_begin(gettid());
  source->drain(before);
  const Node* node = nodes.get();
  const std::uint64_t begin = monotonic_nanoseconds();
  while (monotonic_nanoseconds() - begin < 2'000'000'000)
    for (int i = 0; i < 100'000; ++i)
      node = node->next;
  source->drain(count);
  source->thread_end(gettid());
  std::printf("%s\n%llu samples, %llu in the chase, %llu of them loads (%p)\n",
              source->description().c_str(), static_cast<unsigned long long>(count.all),
              static_cast<unsigned long long>(count.inside),
              static_cast<unsigned long long>(count.loads), static_cast<const void*>(node));
  return count.all >= 100 && count.inside * 10 >= count.all * 9 &&
                 count.loads * 10 >= count.inside * 9
             ? 0
             : 1;
}
