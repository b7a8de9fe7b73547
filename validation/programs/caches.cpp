// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Three tables that are walked through one after the other, again and again, line after line in an
// order without rule: one fits the core's own cache, one is 0.58 of the last-level cache, one 2.44
// of it. Every line of a table comes once in a walk, so a table beyond the cache is never found
// there, and the others always are, but for their first walk.
//
// usage: caches [millions of steps of each table 2] [--truth FILE]
#include "truth.h"

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <vector>

struct Line {
  std::uint64_t next;
  std::uint64_t rest[7];
};

// One cycle through all lines (Sattolo's shuffle).
static std::vector<Line> make_table(std::size_t bytes) {
  std::vector<Line> table(bytes / sizeof(Line));
  std::uint64_t random = 88172645463325252u;
  for (std::size_t i = 0; i < table.size(); ++i)
    table[i].next = i;
  for (std::size_t i = table.size() - 1; i > 0; --i) {
    random ^= random << 13;
    random ^= random >> 7;
    random ^= random << 17;
    std::swap(table[i].next, table[random % i].next);
  }
  return table;
}

static std::uint64_t walk(const std::vector<Line>& table, long steps) {
  std::uint64_t at = 0;
  for (long i = 0; i < steps; ++i)
    at = table[at].next;
  return at;
}

int main(int argc, char** argv) {
  const double begin = truth_clock();
  const long steps = 1000000 * truth_number(argc, argv, 1, 2);
  const std::size_t cache = truth_last_level_cache();

  const std::vector<Line> small = make_table(128 << 10);
  const double made_small = truth_clock();
  const std::vector<Line> medium = make_table(cache * 58 / 100 / 64 * 64);
  const double made_medium = truth_clock();
  const std::vector<Line> large = make_table(cache * 244 / 100 / 64 * 64);
  const double made = truth_clock();

  // So many more in the small ones that each takes a fair part of the time.
  const long small_steps = 32 * steps, medium_steps = 3 * steps;
  std::uint64_t sum = walk(small, small_steps);
  const double small_walked = truth_clock();
  sum += walk(medium, medium_steps);
  const double medium_walked = truth_clock();
  sum += walk(large, steps);
  const double end = truth_clock();
  std::printf("%llu\n", static_cast<unsigned long long>(sum));
  std::printf("ns a step: %.1f, %.1f, %.1f\n", 1e9 * (small_walked - made) / small_steps,
              1e9 * (medium_walked - small_walked) / medium_steps,
              1e9 * (end - medium_walked) / steps);

  const char* file = truth_option(argc, argv, "--truth");
  if (file == nullptr) return 0;
  const struct {
    const char* name;
    const std::vector<Line>& table;
    double making, walking;
    long steps;
    double from_cache;
  } tables[] = {
      {"small", small, made_small - begin, small_walked - made, small_steps, 1},
      {"medium", medium, made_medium - made_small, medium_walked - small_walked, medium_steps, 1},
      {"large", large, made - made_medium, end - medium_walked, steps, 0}};
  for (const auto& one : tables) {
    const double lines = static_cast<double>(one.table.size());
    const int object = truth_object(one.name, one.table.size() * sizeof(Line), 1, TRUTH_CHASE);
    truth_from_cache(object, one.from_cache);
    truth_use(truth_loop("make", one.making), object, 16 * lines, lines * (sizeof(Line) + 24));
    truth_use(truth_loop("walk", one.walking), object, 8.0 * static_cast<double>(one.steps), 0);
  }
  return truth_write(file, "caches") == 0 ? 0 : 1;
}
