// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Every standard container on ompx::allocator and std::pmr on ompx::memory_resource: results as with
// std::allocator, memory of the handle asked for, propagation as documented, errors as the standard
// says. Compiled by each compiler, run on the patched runtime. Exit 0: all holds.
#include <ompx_memory.hpp>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <forward_list>
#include <list>
#include <map>
#include <memory>
#include <numeric>
#include <queue>
#include <scoped_allocator>
#include <set>
#include <stack>
#include <string>
#include <thread>
#include <unordered_map>
#include <unordered_set>
#include <vector>

namespace {

int checks = 0;
void check(bool good, const char *what) {
  ++checks;
  if (good) return;
  std::fprintf(stderr, "check %d: %s\n", checks, what);
  std::_Exit(1);
}

// The block's allocator wants that kind, says the runtime.
bool wanted(const void *address, int kind, int required) {
  ompx_placement_t where{};
  where.struct_size = sizeof where;
  return ompx_get_placement(address, 0, &where) == 0 && where.wanted_kind == kind &&
         where.required == required;
}

template <typename Container> void grow_and_shrink(Container c, const char *what) {
  for (int i = 0; i < 1000; ++i)
    c.insert(c.end(), i);
  check(std::distance(c.begin(), c.end()) == 1000, what);
  check(std::accumulate(c.begin(), c.end(), 0) == 499500, what);
  const auto handle = c.get_allocator().handle();
  Container copy = c;
  check(copy.get_allocator().handle() == handle, what);
  Container other(typename Container::allocator_type(ompx_auto_mem_alloc));
  other = c; // keeps its own memory
  check(other == c && other.get_allocator().handle() == ompx_auto_mem_alloc, what);
  Container moved(typename Container::allocator_type(ompx_auto_mem_alloc));
  const void *first = &*c.begin();
  moved = std::move(c); // takes the memory along
  check(moved.get_allocator().handle() == handle && &*moved.begin() == first, what);
  std::swap(moved, other);
  check(moved.get_allocator().handle() == ompx_auto_mem_alloc && moved == other, what);
  moved.clear();
}

template <typename T> using A = ompx::allocator<T>;

void containers(omp_allocator_handle_t h) {
  grow_and_shrink(std::vector<int, A<int>>(A<int>(h)), "vector");
  grow_and_shrink(std::deque<int, A<int>>(A<int>(h)), "deque");
  grow_and_shrink(std::list<int, A<int>>(A<int>(h)), "list");
  grow_and_shrink(std::set<int, std::less<int>, A<int>>(A<int>(h)), "set");
  grow_and_shrink(std::multiset<int, std::less<int>, A<int>>(A<int>(h)), "multiset");
  grow_and_shrink(std::unordered_set<int, std::hash<int>, std::equal_to<int>, A<int>>(A<int>(h)),
                  "unordered_set");
  grow_and_shrink(
      std::unordered_multiset<int, std::hash<int>, std::equal_to<int>, A<int>>(A<int>(h)),
      "unordered_multiset");

  using Pair = std::pair<const int, int>;
  std::map<int, int, std::less<int>, A<Pair>> map{A<Pair>(h)};
  std::multimap<int, int, std::less<int>, A<Pair>> multimap{A<Pair>(h)};
  std::unordered_map<int, int, std::hash<int>, std::equal_to<int>, A<Pair>> hashed{A<Pair>(h)};
  std::unordered_multimap<int, int, std::hash<int>, std::equal_to<int>, A<Pair>> many{A<Pair>(h)};
  for (int i = 0; i < 1000; ++i) {
    map[i] = hashed[i] = i;
    multimap.emplace(i / 2, i);
    many.emplace(i / 2, i);
  }
  for (int i = 0; i < 1000; i += 3)
    map.erase(i), hashed.erase(i);
  check(map.size() == 666 && hashed.size() == 666, "maps");
  check(multimap.count(7) == 2 && many.count(7) == 2, "multimaps");
  auto node = map.extract(1); // nodes move between containers of equal allocators
  std::map<int, int, std::less<int>, A<Pair>> second{A<Pair>(h)};
  second.insert(std::move(node));
  check(second.at(1) == 1 && map.count(1) == 0, "node handle");

  std::forward_list<int, A<int>> forward{A<int>(h)};
  for (int i = 0; i < 100; ++i)
    forward.push_front(i);
  forward.sort();
  check(forward.front() == 0, "forward_list");

  std::basic_string<char, std::char_traits<char>, A<char>> text(A<char>{h});
  for (int i = 0; i < 1000; ++i)
    text += "memory";
  check(text.size() == 6000 && text.find("ym") == 5, "string");

  std::vector<bool, A<bool>> bits(10000, true, A<bool>(h));
  check(std::count(bits.begin(), bits.end(), true) == 10000, "vector<bool>");

  std::priority_queue<int, std::vector<int, A<int>>> queue{std::less<int>(),
                                                           std::vector<int, A<int>>(A<int>(h))};
  std::stack<int, std::deque<int, A<int>>> stack{std::deque<int, A<int>>(A<int>(h))};
  for (const int i : {3, 9, 4})
    queue.push(i), stack.push(i);
  check(queue.top() == 9 && stack.top() == 4, "adapters");

  const auto shared = std::allocate_shared<std::string>(A<std::string>(h), "shared");
  check(*shared == "shared", "allocate_shared");

  using Inner = std::vector<int, A<int>>;
  std::vector<Inner, std::scoped_allocator_adaptor<A<Inner>>> nested{A<Inner>(h)};
  nested.emplace_back(10);
  check(nested[0].get_allocator().handle() == h, "scoped allocator");
}

void memory_and_alignment(omp_allocator_handle_t h) {
  std::vector<double, A<double>> large(1 << 20, 1.5, A<double>(h));
  check(wanted(large.data(), ompx_kind_dram, 1), "memory of the handle");
  struct alignas(4096) Page {
    char bytes[4096];
  };
  std::list<Page, A<Page>> pages{A<Page>(h)};
  std::vector<Page, A<Page>> run{A<Page>(h)};
  for (int i = 0; i < 20; ++i) {
    pages.emplace_back();
    run.emplace_back();
    check(reinterpret_cast<std::uintptr_t>(&pages.back()) % 4096 == 0, "aligned node");
    check(reinterpret_cast<std::uintptr_t>(run.data()) % 4096 == 0, "aligned array");
  }
  check(A<int>(h) == A<double>(h) && A<int>(h) != A<int>(ompx_auto_mem_alloc), "equality");
  check(A<int>().handle() == omp_get_default_allocator(), "default allocator");
  static_assert(std::is_same_v<std::allocator_traits<A<int>>::rebind_alloc<char>, A<char>>);
  int *nothing = A<int>(h).allocate(0);
  check(nothing != nullptr, "allocate(0)");
  A<int>(h).deallocate(nothing, 0);
}

void errors() {
  ompx::allocator_handle none(ompx_cxl_mem_space, ompx::traits{}.fallback(ompx::fallback::null));
  int caught = 0;
  try {
    std::vector<int, A<int>> v(1000, none);
  } catch (const std::bad_alloc &) {
    ++caught;
  }
  try {
    (void)A<double>(none).allocate(~std::size_t{0} / 4);
  } catch (const std::bad_array_new_length &) {
    ++caught;
  }
  ompx::memory_resource resource(none);
  try {
    (void)resource.allocate(100);
  } catch (const std::bad_alloc &) {
    ++caught;
  }
  try {
    (void)ompx::traits{}.importance(1001);
  } catch (const std::out_of_range &) {
    ++caught;
  }
  try {
    (void)ompx::traits{}.strided(-1);
  } catch (const std::out_of_range &) {
    ++caught;
  }
  try {
    (void)ompx::traits{}.alignment(48);
  } catch (const std::out_of_range &) {
    ++caught;
  }
  try {
    ompx::name("two words");
  } catch (const std::invalid_argument &) {
    ++caught;
  }
  try {
    ompx::allocator_handle refused(ompx_auto_mem_space,
                                   ompx::traits{}.placement(ompx::placement::required));
  } catch (const std::invalid_argument &) {
    ++caught;
  }
  check(caught == 8, "an error was not told");
}

void polymorphic(omp_allocator_handle_t h) {
  ompx::memory_resource resource(h), same(h), other(ompx_auto_mem_alloc);
  check(resource.is_equal(same) && !resource.is_equal(other), "equality of resources");
  check(!resource.is_equal(*std::pmr::new_delete_resource()), "equality with others");
  std::pmr::vector<std::pmr::string> words(&resource);
  for (int i = 0; i < 1000; ++i)
    words.emplace_back("a word that is too long for the string itself");
  check(wanted(words[999].data(), ompx_kind_dram, 1), "memory of the resource");
  std::pmr::unsynchronized_pool_resource pool(&resource);
  std::pmr::map<int, int> map(&pool);
  for (int i = 0; i < 1000; ++i)
    map[i] = i;
  check(map.size() == 1000, "pool over the resource");
  void *aligned = resource.allocate(100, 1 << 16);
  check(reinterpret_cast<std::uintptr_t>(aligned) % (1 << 16) == 0, "aligned");
  resource.deallocate(aligned, 100, 1 << 16);
}

void handles_and_traits() {
  const ompx::traits list = ompx::traits{}
                                .pattern(ompx::access_pattern::random)
                                .mode(ompx::access_mode::read_mostly)
                                .frequency(1000000)
                                .origin(ompx::access_origin::multiple_threads)
                                .importance(300)
                                .sensitivity(ompx::sensitivity::latency)
                                .placement(ompx::placement::preferred)
                                .lifetime(ompx::lifetime::program)
                                .group(ompx::name("tables"))
                                .label(ompx::name(std::string("table")))
                                .migratable(true)
                                .alignment(64)
                                .pool_size(std::size_t{1} << 30)
                                .fallback(ompx::fallback::default_memory)
                                .pinned(false)
                                .partition(ompx::partition::environment)
                                .importance(200); // the last counts
  check(list.size() == 16, "one entry a key");
  check(ompx::traits{}.strided(4096).size() == 2, "stride and pattern");
  check(ompx::traits{}.fallback_to(ompx_dram_mem_alloc).size() == 2, "fallback and its allocator");
  ompx::allocator_handle a(ompx_auto_mem_space, list);
  const auto handle = a.get();
  ompx::allocator_handle b(std::move(a));
  check(!a && b.get() == handle, "moved");
  a = std::move(b);
  check(a.get() == handle && !b, "moved back");
  check(a.update(ompx::traits{}.importance(10)) == ompx_success, "update");
  check(a.update(ompx::traits{}.pinned(true)) == ompx_error_fixed_trait, "fixed trait");
  b.reset(a.release());
  check(!a && b.get() == handle, "released");

  double *table = nullptr;
  float *cold = nullptr;
  check(ompx::declare(table, 100000, ompx::traits{}.importance(500)) == ompx_success, "declare");
  check(ompx::declare(cold, 100000) == ompx_success, "declare");
  check(ompx::declare(cold, ~std::size_t{0}) == ompx_error_invalid_argument, "no size");
  long double *wide = nullptr; // aligned to 16 by its type, to more by the list
  check(ompx::declare(wide, 100000, ompx::traits{}.alignment(8192)) == ompx_success, "declare");
  const ompx::outcome outcome = ompx::commit();
  check(outcome.result <= ompx_incomplete && outcome.considered == 3, "commit");
  check(table != nullptr && cold != nullptr && wide != nullptr, "pointers");
  check(reinterpret_cast<std::uintptr_t>(wide) % 8192 == 0, "alignment of a declared block");
  omp_free(wide, omp_null_allocator);
  check(ompx::update_traits(table, ompx::traits{}.importance(0)) == ompx_success, "update");
  check(ompx::apply().result <= ompx_incomplete, "apply");
  omp_free(table, omp_null_allocator);
  omp_free(cold, omp_null_allocator);
}

void chunks() {
  constexpr std::size_t rows = 100, columns = 10, every = 16;
  std::vector<int> from(rows * columns), to(rows * columns);
  for (std::size_t i = 0; i < from.size(); ++i)
    from[i] = static_cast<int>(i);
  ompx::chunk_shape shape;
  shape.chunk_rows = every;
  shape.allocator = ompx_dram_mem_alloc;
  {
    ompx::chunked<int> target(to.data(), rows, columns, ompx::access_mode::write_only, shape);
    shape.halo_rows = 1;
    const int* first = from.data();
    ompx::chunked<const int> source(first, rows, columns, ompx::access_mode::read_only, shape);
    std::size_t count = 0;
    for (const auto& old : source) {
      auto* fresh = target.next();
      check(fresh != nullptr && fresh->first_row() == old.first_row(), "chunks side by side");
      check(old.copied() && old.columns() == columns && old.number() == count++, "chunk");
      for (std::size_t row = 0; row < old.rows(); ++row)
        for (std::size_t column = 0; column < columns; ++column) {
          const auto r = static_cast<std::ptrdiff_t>(row);
          const bool first_of_all = old.halo_before() == 0 && row == 0;
          const bool last_of_all = old.halo_after() == 0 && row + 1 == old.rows();
          fresh->row(r)[column] = (first_of_all ? 0 : old.row(r - 1)[column]) +
                                  (last_of_all ? 0 : old.row(r + 1)[column]);
        }
    }
    check(count == 7 && target.next() == nullptr, "seven chunks");
  }
  for (std::size_t row = 0; row < rows; ++row)
    for (std::size_t column = 0; column < columns; ++column)
      check(to[row * columns + column] ==
                (row > 0 ? from[(row - 1) * columns + column] : 0) +
                    (row + 1 < rows ? from[(row + 1) * columns + column] : 0),
            "sum of the neighbours");
  bool refused = false;
  shape.halo_rows = every + 1;
  try {
    ompx::chunked<int> none(to.data(), rows, columns, ompx::access_mode::read_only, shape);
  } catch (const std::invalid_argument&) {
    refused = true;
  }
  check(refused, "a halo of more rows than a chunk");
}

void threads(omp_allocator_handle_t h) {
  std::vector<std::vector<int, A<int>>> made(4);
  std::vector<std::thread> team;
  for (int t = 0; t < 4; ++t)
    team.emplace_back([&, t] {
      std::vector<int, A<int>> mine{A<int>(h)};
      for (int i = 0; i < 100000; ++i)
        mine.push_back(i ^ t);
      made[static_cast<std::size_t>(t)] = std::move(mine);
    });
  for (auto &thread : team)
    thread.join();
  for (int t = 0; t < 4; ++t)
    check(made[static_cast<std::size_t>(t)][99999] == (99999 ^ t), "bytes of another thread");
}

} // namespace

int main() {
  ompx::allocator_handle dram(ompx_dram_mem_space, ompx::traits{}.label(ompx::name("dram")));
  containers(dram.get());
  containers(omp_default_mem_alloc);
  memory_and_alignment(dram.get());
  polymorphic(dram.get());
  handles_and_traits();
  errors();
  chunks();
  threads(dram.get());
  std::printf("containers hold, %d checks\n", checks);
}
