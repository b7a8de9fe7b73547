// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Programs that allocate a lot, to measure the memory that a process takes beyond its requests.
// Each returns its peak of requested bytes, and writes to every block. P: an allocator with
// take(bytes) and give(block, bytes).
#pragma once

#include <array>
#include <barrier>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <list>
#include <map>
#include <string>
#include <string_view>
#include <thread>
#include <unordered_map>
#include <utility>
#include <vector>

namespace programs {

class Random {
public:
  explicit Random(std::uint64_t seed) : state_(seed * 0x9e3779b97f4a7c15u + 1) {}
  std::uint32_t next() {
    state_ = state_ * 6364136223846793005u + 1442695040888963407u;
    return static_cast<std::uint32_t>(state_ >> 32);
  }

private:
  std::uint64_t state_;
};

// Bytes of one thread: current and peak.
struct Live {
  std::size_t now = 0, most = 0;
  void add(std::size_t bytes) {
    now += bytes;
    if (now > most) most = now;
  }
};
inline thread_local Live t_live;

template <typename P> void* take(std::size_t bytes) {
  void* block = P::take(bytes);
  if (block == nullptr) std::exit(3);
  t_live.add(bytes);
  return block;
}
template <typename P> void give(void* block, std::size_t bytes) {
  t_live.now -= bytes;
  P::give(block, bytes);
}

template <typename T, typename P> struct Allocator {
  using value_type = T;
  Allocator() = default;
  template <typename U> Allocator(const Allocator<U, P>&) {}
  T* allocate(std::size_t n) { return static_cast<T*>(take<P>(n * sizeof(T))); }
  void deallocate(T* block, std::size_t n) { give<P>(block, n * sizeof(T)); }
  template <typename U> struct rebind {
    using other = Allocator<U, P>;
  };
  friend bool operator==(const Allocator&, const Allocator&) { return true; }
};

// Maps, hash tables, lists and strings of two threads, filled, thinned out and filled again. The
// threads wait for each other when full, so that the sum of both is measured.
template <typename P> void fill_containers(unsigned seed, std::barrier<>& full) {
  using Text = std::basic_string<char, std::char_traits<char>, Allocator<char, P>>;
  std::map<std::uint32_t, Text, std::less<>, Allocator<std::pair<const std::uint32_t, Text>, P>>
      sorted;
  std::unordered_map<std::uint32_t, std::uint64_t, std::hash<std::uint32_t>, std::equal_to<>,
                     Allocator<std::pair<const std::uint32_t, std::uint64_t>, P>>
      hashed;
  std::list<Text, Allocator<Text, P>> queue;
  Random random(seed);
  for (int round = 0; round < 3; ++round) {
    for (int i = 0; i < 22'000; ++i) {
      const std::uint32_t key = random.next();
      sorted.emplace(key, Text(20 + key % 80, 'a'));
      hashed.emplace(key, i);
      queue.emplace_back(16 + key % 200, 'b');
    }
    full.arrive_and_wait();
    bool drop = false;
    for (auto at = sorted.begin(); at != sorted.end(); drop = !drop) {
      hashed.erase(drop ? at->first : 0);
      at = drop ? sorted.erase(at) : std::next(at);
    }
    while (queue.size() > 10'000)
      queue.pop_front();
  }
}

template <typename P> std::size_t containers() {
  std::array<std::size_t, 2> most{};
  std::barrier<> full(most.size());
  std::vector<std::thread> team;
  for (unsigned t = 0; t < most.size(); ++t)
    team.emplace_back([&most, &full, t] {
      fill_containers<P>(t, full);
      most[t] = t_live.most;
    });
  for (auto& thread : team)
    thread.join();
  return most[0] + most[1];
}

// Records of 16 B to 16 KiB, with equal bytes in each doubling, replaced at random.
template <typename P> std::size_t records() {
  struct Record {
    void* begin = nullptr;
    std::size_t bytes = 0;
  };
  std::vector<Record> table(80'000);
  Random random(7);
  for (int i = 0; i < 600'000; ++i) {
    Record& record = table[random.next() % table.size()];
    if (record.begin != nullptr) give<P>(record.begin, record.bytes);
    std::size_t bytes = 16 + random.next() % 16; // each doubling half as often as the previous one
    for (std::uint32_t bits = random.next(); (bits & 1) != 0 && bytes < 8192; bits >>= 1)
      bytes = bytes * 2 + random.next() % 16;
    record = {take<P>(bytes), bytes};
    std::memset(record.begin, 1, bytes);
  }
  for (const Record& record : table)
    if (record.begin != nullptr) give<P>(record.begin, record.bytes);
  return t_live.most;
}

// Each phase allocates 8 MB in blocks of another size and keeps a twentieth of them.
template <typename P> std::size_t phases() {
  std::vector<std::pair<void*, std::size_t>> kept;
  for (const std::size_t bytes : {24, 56, 120, 250, 500, 1000, 3000, 10'000, 40'000}) {
    const std::size_t count = 8'000'000 / bytes;
    std::vector<void*> blocks;
    for (std::size_t i = 0; i < count; ++i) {
      blocks.push_back(take<P>(bytes));
      std::memset(blocks.back(), 1, bytes);
    }
    for (std::size_t i = 0; i < count; ++i)
      if (i < count / 20)
        kept.emplace_back(blocks[i], bytes);
      else
        give<P>(blocks[i], bytes);
  }
  for (const auto& [block, bytes] : kept)
    give<P>(block, bytes);
  return t_live.most;
}

// Trees of small nodes, built and dropped one after the other while one tree stays.
template <typename P> struct Node {
  Node *left, *right;
  static Node* grow(int depth) {
    auto* node = static_cast<Node*>(take<P>(sizeof(Node)));
    node->left = depth > 0 ? grow(depth - 1) : nullptr;
    node->right = depth > 0 ? grow(depth - 1) : nullptr;
    return node;
  }
  static void drop(Node* node) {
    if (node == nullptr) return;
    drop(node->left);
    drop(node->right);
    give<P>(node, sizeof(Node));
  }
};
template <typename P> std::size_t trees() {
  Node<P>* stays = Node<P>::grow(18);
  for (int depth = 4; depth <= 18; depth += 2)
    for (int i = 0; i < 1 << (18 - depth); ++i)
      Node<P>::drop(Node<P>::grow(depth));
  Node<P>::drop(stays);
  return t_live.most;
}

// A few blocks of every size: the memory of a process that has allocated little.
template <typename P> std::size_t little() {
  std::vector<std::pair<void*, std::size_t>> kept;
  for (std::size_t bytes = 16; bytes <= 65536; bytes += bytes / 4) {
    kept.emplace_back(take<P>(bytes), bytes);
    std::memset(kept.back().first, 1, bytes);
  }
  for (const auto& [block, bytes] : kept)
    give<P>(block, bytes);
  return t_live.most;
}

template <typename P> struct Program {
  const char* name;
  std::size_t (*run)();
};
template <typename P>
constexpr Program<P> k_programs[] = {
    {"containers", containers<P>}, {"records", records<P>}, {"trees", trees<P>},
    {"phases", phases<P>}, {"little", little<P>}};

template <typename P> const Program<P>* named(std::string_view name) {
  for (const Program<P>& program : k_programs<P>)
    if (name == program.name) return &program;
  return nullptr;
}

} // namespace programs
