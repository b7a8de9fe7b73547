// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A hash table with chains and a list of orders, all of small blocks; both accessed at random.
//
// usage: table [thousands of entries 2000] [thousands of lookups 6000] [--truth FILE [--alone]]
#include "truth.h"

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <utility>
#include <vector>

struct Entry {
  std::uint64_t key, value;
  Entry* next;
};

struct Order {
  Order* next;
  double price, amount;
  int customer;
};

static std::uint64_t mix(std::uint64_t x) {
  x = (x ^ (x >> 31)) * 0x7fb5d329728ea185u;
  x = (x ^ (x >> 27)) * 0x81dadef4bc2dd44du;
  return x ^ (x >> 33);
}

class Table {
public:
  explicit Table(std::size_t size) : buckets_(size) {}
  ~Table() {
    for (Entry* entry : buckets_)
      while (entry != nullptr)
        delete std::exchange(entry, entry->next);
  }
  void insert(std::uint64_t key, std::uint64_t value) {
    Entry*& head = buckets_[mix(key) % buckets_.size()];
    head = new Entry{key, value, head};
  }
  std::uint64_t find(std::uint64_t key) {
    for (Entry* entry = buckets_[mix(key) % buckets_.size()]; entry != nullptr;
         entry = entry->next) {
      ++probes_;
      if (entry->key == key) return entry->value;
    }
    return 0;
  }
  std::uint64_t probes() const { return probes_; }
  bool is_empty(std::uint64_t key) const { return buckets_[mix(key) % buckets_.size()] == nullptr; }

private:
  std::vector<Entry*> buckets_;
  std::uint64_t probes_ = 0;
};

// A list whose order in memory has nothing to do with its own.
static Order* make_orders(std::size_t count) {
  std::vector<Order*> orders(count);
  for (std::size_t i = 0; i < count; ++i)
    orders[i] =
        new Order{nullptr, 1.0 + static_cast<double>(i % 100), 2.0, static_cast<int>(i % 5000)};
  for (std::size_t i = count - 1; i > 0; --i)
    std::swap(orders[i], orders[mix(i) % (i + 1)]);
  for (std::size_t i = 0; i + 1 < count; ++i)
    orders[i]->next = orders[i + 1];
  return orders[0];
}

static double revenue(const Order* order) {
  double sum = 0;
  for (; order != nullptr; order = order->next)
    sum += order->price * order->amount;
  return sum;
}

static std::uint64_t look_up(Table& table, std::size_t entries, std::size_t lookups) {
  std::uint64_t sum = 0;
  for (std::size_t i = 0; i < lookups; ++i)
    sum += table.find(mix(i) % entries);
  return sum;
}

int main(int argc, char** argv) {
  const double begin = truth_clock();
  const std::size_t entries = 1000 * truth_number(argc, argv, 1, 2000);
  const std::size_t lookups = 1000 * truth_number(argc, argv, 2, 6000);
  const std::size_t order_count = entries / 2;
  const int rounds = 4;

  Table table(entries);
  for (std::size_t i = 0; i < entries; ++i)
    table.insert(i, i * i);
  const double inserted = truth_clock();
  Order* orders = make_orders(order_count);
  const double made = truth_clock();
  const std::uint64_t found = look_up(table, entries, lookups);
  const double looked_up = truth_clock();
  double sum = 0;
  for (int i = 0; i < rounds; ++i)
    sum += revenue(orders);
  const double end = truth_clock();
  std::printf("found %llu, revenue %g\n", static_cast<unsigned long long>(found), sum);

  const char* file = truth_option(argc, argv, "--truth");
  int status = 0;
  if (file != nullptr) {
    const double all = static_cast<double>(entries), visits = static_cast<double>(table.probes());
    const double orders_all = static_cast<double>(order_count),
                 looks = static_cast<double>(lookups);
    const int buckets = truth_object("buckets_", 8 * entries, 1, TRUTH_SCATTERED);
    // Two of three probes are a chain's first, found through the bucket.
    const int nodes = truth_object("Entry", sizeof(Entry), entries, TRUTH_INDIRECT);
    truth_through(nodes, "buckets_");
    const int list = truth_object("Order", sizeof(Order), order_count, TRUTH_CHASE);
    const int pointers = truth_object("orders", 8 * order_count, 1, TRUTH_SEQUENTIAL);

    // Where the table and the list are made, time goes by the lines that an element needs.
    const int inserting = truth_loop("insert", inserted - begin);
    truth_weight(truth_use(inserting, nodes, 0, all * sizeof(Entry)), 1);
    truth_weight(truth_use(inserting, buckets, 8 * all, 16 * all), 1);
    const int making = truth_loop("orders", made - inserted);
    truth_allocates(inserting);
    truth_allocates(making);
    truth_weight(truth_use(making, list, 0, orders_all * (sizeof(Order) + 8)), 1);
    truth_weight(truth_use(making, pointers, 32 * orders_all, 32 * orders_all), 1);
    const int finding = truth_loop("find", looked_up - made);
    const int use_buckets = truth_use(finding, buckets, 8 * looks, 0);
    const int use_nodes =
        truth_use(finding, nodes, 8 * visits + 8 * (visits - looks) + 8 * looks, 0);
    const int walking = truth_loop("revenue", end - looked_up);
    truth_use(walking, list, rounds * orders_all * 24, 0);
    volatile std::uint64_t sink = 0;
    for (int i = 0; truth_option(argc, argv, "--alone") != nullptr && i < 3; ++i) {
      const double start = truth_clock();
      std::uint64_t empty = 0;
      for (std::size_t look = 0; look < lookups; ++look)
        empty += table.is_empty(mix(look) % entries);
      const double heads = truth_clock();
      sink = empty + look_up(table, entries, lookups);
      truth_alone(use_buckets, heads - start);
      truth_alone(use_nodes, truth_clock() - heads - (heads - start));
    }
    (void)sink;
    status = truth_write(file, "table") == 0 ? 0 : 1;
  }
  while (orders != nullptr)
    delete std::exchange(orders, orders->next);
  return status;
}
