// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A program that knows nothing of OMPTier, with its data in small blocks: rows of a matrix, a hash
// table of chained nodes, names that hardly anybody reads. It checks that no byte is lost; with
// arguments, also where a plan has put the blocks.
//
// usage: placed_small [placed HOT-NODE COLD-NODE [PERCENT]]
//   placed  blocks of the table and of the names are not of the C library's malloc
//   nodes   where rows and table, and names lie; -1: not checked
//   PERCENT so many rows lie on the hot node, the others on node 0
//   prints  what it added up
#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <malloc.h>
#include <string>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>
#include <vector>

namespace {

constexpr std::size_t k_rows = 4000, k_length = 301, k_keys = 150'000, k_names = 40'000,
                      k_lists = 5000;
constexpr std::size_t k_name_bytes = 101;
bool placed = false;
int hot_node = -1, cold_node = -1;
int percent = 100; // of the rows on the hot node

[[noreturn]] void fail(const char* what) {
  std::fprintf(stderr, "placed_small: %s\n", what);
  std::_Exit(1);
}

// Where the kernel has the block's first page.
int node_of(const void* block) {
  void* page =
      reinterpret_cast<void*>(reinterpret_cast<std::uintptr_t>(block) & ~std::uintptr_t{4095});
  int where = -1;
  return ::syscall(SYS_move_pages, 0, 1UL, &page, nullptr, &where, 0) == 0 ? where : -1;
}

void is_on(const void* block, int node, const char* what) {
  if (node < 0) return;
  if (const int where = node_of(block); where != node) {
    std::fprintf(stderr, "placed_small: a block of %s lies on node %d, not %d\n", what, where,
                 node);
    std::_Exit(1);
  }
}

// The C library rounds these sizes up.
void is_of_plan(void* block, std::size_t bytes, const char* what) {
  if (placed && ::malloc_usable_size(block) != bytes) {
    std::fprintf(stderr, "placed_small: a block of %s is the C library's\n", what);
    std::_Exit(1);
  }
}

struct Node {
  Node* next;
  std::uint64_t key, value;
  char more[17];
};

// Shared by table and names, so that its own call says nothing.
__attribute__((noinline)) void* own_malloc(std::size_t bytes) {
  void* block = std::malloc(bytes);
  if (block == nullptr) fail("no memory");
  return block;
}

std::vector<Node*> make_table() {
  std::vector<Node*> heads(1 << 12);
  for (std::uint64_t key = 0; key < k_keys; ++key) {
    auto* node = static_cast<Node*>(own_malloc(sizeof(Node) + 1));
    Node*& head = heads[key * 0x9e3779b97f4a7c15u >> 52];
    *node = {head, key, key * 3, "as it was made"};
    head = node;
    if (key % 64 == 0) is_on(node, hot_node, "the table");
    is_of_plan(node, sizeof(Node) + 1, "the table");
  }
  return heads;
}

std::vector<char*> make_names() {
  std::vector<char*> names;
  for (std::size_t i = 0; i < k_names; ++i) {
    names.push_back(static_cast<char*>(own_malloc(k_name_bytes)));
    std::snprintf(names.back(), k_name_bytes, "name %zu", i);
    if (i % 64 == 0) is_on(names.back(), cold_node, "the names");
    is_of_plan(names.back(), k_name_bytes, "the names");
  }
  return names;
}

__attribute__((noinline)) void grow(char*& list, std::size_t bytes) {
  list = static_cast<char*>(std::realloc(list, bytes));
  if (list == nullptr) fail("no memory");
  is_of_plan(list, bytes, "the lists");
}

std::vector<char*> make_lists() {
  std::vector<char*> lists(k_lists);
  for (char*& list : lists) {
    std::size_t held = 0;
    for (const std::size_t bytes : {43u, 133u, 409u}) {
      grow(list, bytes);
      std::memset(list + held, 'x', bytes - held);
      held = bytes;
      if (list[0] != 'x' || list[held - 1] != 'x') fail("a grown list lost bytes");
    }
    is_on(list, cold_node, "the lists");
  }
  return lists;
}

void check_share(const std::vector<std::vector<double>>& rows) {
  std::size_t hot = 0, cold = 0;
  for (const std::vector<double>& row : rows) {
    const int node = node_of(row.data());
    hot += node == hot_node;
    cold += node == 0;
  }
  const std::size_t wanted = k_rows * static_cast<std::size_t>(percent) / 100;
  if (hot + cold == k_rows && hot > wanted - k_rows / 50 && hot < wanted + k_rows / 50) return;
  std::fprintf(stderr, "placed_small: %zu rows on node %d, %zu on node 0; %zu and %zu wanted\n",
               hot, hot_node, cold, wanted, k_rows - wanted);
  std::_Exit(1);
}

std::vector<std::vector<double>> make_rows() {
  std::vector<std::vector<double>> rows;
  rows.reserve(k_rows);
  for (std::size_t i = 0; i < k_rows; ++i) {
    rows.emplace_back(k_length, double(i));
    if (i % 16 == 0 && percent == 100) is_on(rows.back().data(), hot_node, "the rows");
  }
  if (percent != 100 && hot_node >= 0) check_share(rows);
  return rows;
}

double read_all(const std::vector<std::vector<double>>& rows, const std::vector<Node*>& table) {
  double sum = 0;
  for (const std::vector<double>& row : rows)
    for (const double value : row)
      sum += value;
  for (const Node* node : table)
    for (; node != nullptr; node = node->next)
      sum += double(node->value - 3 * node->key);
  return sum;
}

// Blocks of other calls, beside all that: resized, zeroed, aligned, freed by other threads.
void churn(unsigned seed) {
  std::vector<std::string> texts;
  for (unsigned i = 0; i < 20'000; ++i) {
    const std::size_t bytes = 1 + (i * 7919u + seed) % 700;
    auto* zeroed = static_cast<unsigned char*>(std::calloc(bytes, 1));
    for (std::size_t at = 0; at < bytes; ++at)
      if (zeroed[at] != 0) fail("calloc's block is not zero");
    std::memset(zeroed, 0x5a, bytes);
    auto* larger = static_cast<unsigned char*>(std::realloc(zeroed, 3 * bytes));
    if (larger == nullptr || larger[0] != 0x5a || larger[bytes - 1] != 0x5a)
      fail("realloc lost bytes");
    std::free(larger);
    void* aligned = std::aligned_alloc(64, 128);
    if (reinterpret_cast<std::uintptr_t>(aligned) % 64 != 0) fail("a block is not aligned");
    std::free(aligned);
    texts.push_back(std::string(40 + i % 9, 'x'));
  }
}

// Blocks of the plan that are resized, and freed by another thread.
void resize_names(std::vector<char*>& names) {
  for (std::size_t i = 0; i < names.size(); i += 3) {
    char text[k_name_bytes];
    std::strcpy(text, names[i]);
    const std::size_t bytes = i % 2 == 0 ? 2 * k_name_bytes : std::strlen(text) + 1;
    names[i] = static_cast<char*>(std::realloc(names[i], bytes));
    if (names[i] == nullptr || std::strcmp(names[i], text) != 0) fail("a resized name is another");
  }
  std::thread([&] {
    for (std::size_t i = 0; i < names.size(); ++i) {
      char text[k_name_bytes];
      std::snprintf(text, sizeof text, "name %zu", i);
      if (std::strcmp(names[i], text) != 0) fail("a name is another");
      std::free(names[i]);
    }
  }).join();
}

void free_table(std::vector<Node*>& table) {
  for (Node*& head : table)
    while (head != nullptr) {
      if (std::strcmp(head->more, "as it was made") != 0) fail("a node was overwritten");
      Node* next = head->next;
      std::free(head);
      head = next;
    }
}

void child_goes_on(std::vector<char*> names) {
  const pid_t child = ::fork();
  if (child == 0) {
    placed = false; // another call stack
    hot_node = -1;
    std::vector<Node*> table = make_table();
    free_table(table);
    resize_names(names);
    std::_Exit(0);
  }
  int status = -1;
  if (::waitpid(child, &status, 0) != child || status != 0) fail("the forked child failed");
}

} // namespace

int main(int argc, char** argv) {
  if (argc > 3) {
    placed = std::strcmp(argv[1], "placed") == 0;
    hot_node = std::atoi(argv[2]);
    cold_node = std::atoi(argv[3]);
    if (argc > 4) percent = std::atoi(argv[4]);
  }
  const std::vector<std::vector<double>> rows = make_rows();
  std::vector<Node*> table = make_table();
  std::vector<char*> names = make_names();
  const std::vector<char*> lists = make_lists();
  std::thread other(churn, 1u);
  churn(2);
  double sum = 0;
  for (int round = 0; round < 150; ++round)
    sum += read_all(rows, table);
  other.join();
  child_goes_on(names);
  resize_names(names);
  free_table(table);
  for (char* list : lists)
    std::free(list);
  std::printf("%g\n", sum);
  return 0;
}
