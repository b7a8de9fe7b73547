// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "sampling_kernels.hpp"

#include <cstdint>
#include <cstdlib>
#include <memory>
#include <sys/mman.h>
#include <utility>

namespace sampling_kernels {

namespace {

constexpr std::size_t k_mega = 1 << 20;
constexpr std::size_t k_block = 4096; // elements handled by one call of a loop
// Index masks: the whole array, or a piece of 16 KiB that stays in the first-level cache.
constexpr std::size_t k_small = 2048;

template <typename T> T* allocate(std::size_t elements) {
  void* memory = mmap(nullptr, elements * sizeof(T), PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) std::abort();
  madvise(memory, elements * sizeof(T), MADV_HUGEPAGE);
  return static_cast<T*>(memory);
}

std::uint64_t random_next(std::uint64_t& state) {
  state ^= state << 13;
  state ^= state >> 7;
  return state ^= state << 17;
}

double* filled(std::size_t elements) {
  double* array = allocate<double>(elements);
  for (std::size_t i = 0; i < elements; ++i)
    array[i] = 1 + static_cast<double>(i % 7);
  return array;
}

std::uint32_t* random_indices(std::size_t elements, std::uint64_t range) {
  auto* indices = allocate<std::uint32_t>(elements);
  std::uint64_t state = 88172645463325252u;
  for (std::size_t i = 0; i < elements; ++i)
    indices[i] = static_cast<std::uint32_t>(random_next(state) % range);
  return indices;
}

volatile double sink;

// The loops themselves, out of line so that nothing is specialised for a mask.
#define LOOP __attribute__((noinline)) static

LOOP void triad(double* a, const double* b, const double* c, std::size_t n) {
  for (std::size_t i = 0; i < n; ++i)
    a[i] = b[i] + 3.0 * c[i];
}
LOOP double gather(const double* data, const std::uint32_t* index, std::uint32_t mask,
                   std::size_t n) {
  double sum = 0;
  for (std::size_t i = 0; i < n; ++i)
    sum += data[index[i] & mask];
  return sum;
}
LOOP void scatter(double* out, const std::uint32_t* index, std::uint32_t mask, std::size_t n) {
  for (std::size_t i = 0; i < n; ++i)
    out[index[i] & mask] = static_cast<double>(i);
}
LOOP void histogram(double* bins, const std::uint32_t* index, std::uint32_t mask, std::size_t n) {
  for (std::size_t i = 0; i < n; ++i)
    bins[index[i] & mask] += 1;
}
LOOP double two_tables(const double* a, std::size_t mask_a, const double* b, std::size_t mask_b,
                       std::uint64_t& state, std::size_t n) {
  double sum = 0;
  for (std::size_t i = 0; i < n; ++i) {
    random_next(state);
    sum += a[(state >> 5) & mask_a] * b[(state >> 20) & mask_b];
  }
  return sum;
}
LOOP double search(const double* sorted, std::size_t size, std::size_t grid_mask,
                   const double* table, std::size_t mask, std::uint64_t& state, std::size_t n) {
  double sum = 0;
  for (std::size_t i = 0; i < n; ++i) {
    auto wanted = static_cast<double>(random_next(state) % size);
    std::size_t low = 0, length = size;
    while (length > 1) {
      std::size_t half = length / 2;
      if (sorted[(low + half) & grid_mask] <= wanted) low += half;
      length -= half;
    }
    for (std::size_t k = 0; k < 4; ++k)
      sum += table[((state >> 7) + low % 8 + k * 2592192) & mask];
  }
  return sum;
}
LOOP void stencil(double* out, const double* above, const double* row, const double* below,
                  std::size_t n) {
  for (std::size_t i = 1; i + 1 < n; ++i)
    out[i] = 0.25 * (row[i - 1] + row[i + 1] + above[i] + below[i]);
}
LOOP void* chase(void* node, std::size_t n) {
  while (n--)
    node = *static_cast<void**>(node);
  return node;
}

Kernel make_triad() {
  std::size_t n = 128 * k_mega / 8;
  // Staggered: equal offsets within a page would make loads wait for stores they do not depend on.
  double *a = filled(n), *b = filled(n + 160) + 160, *c = filled(n + 320) + 320;
  auto at = std::make_shared<std::size_t>(0);
  return {"triad",
          {{"a", a, n * 8, 8, true}, {"b", b, n * 8, 8}, {"c", c, n * 8, 8}},
          [=](unsigned resident) {
            for (int block = 0; block < 400; ++block) {
              std::size_t i = *at = (*at + k_small) % (n - k_small);
              triad(a + (resident & 1 ? 0 : i), b + (resident & 2 ? 0 : i),
                    c + (resident & 4 ? 0 : i), k_small);
            }
          },
          true};
}

template <typename Loop> Kernel make_indexed(const char* name, const char* target, Loop loop) {
  std::size_t indices = 128 * k_mega / 4, n = 256 * k_mega / 8;
  std::uint32_t* index = random_indices(indices, n);
  double* data = filled(n);
  auto at = std::make_shared<std::size_t>(0);
  return {name, {{"index", index, indices * 4}, {target, data, n * 8}}, [=](unsigned resident) {
            for (int block = 0; block < 60; ++block) {
              std::size_t i = *at = (*at + k_block) % (indices - k_block);
              // A piece of the index repeated would repeat its targets: they are moved along.
              std::size_t moved = resident & 1 ? (i * 977) % (n / 2) : 0;
              auto mask = static_cast<std::uint32_t>(resident & 2   ? k_small - 1
                                                     : resident & 1 ? n / 2 - 1
                                                                    : n - 1);
              loop(data + (resident & 2 ? 0 : moved), index + (resident & 1 ? 0 : i), mask,
                   k_block);
            }
          }};
}

Kernel make_stencil() {
  constexpr std::size_t width = 4096, rows = 256 * k_mega / 8 / width;
  double *in = filled(width * rows), *out = filled(width * rows + 160) + 160;
  auto at = std::make_shared<std::size_t>(1);
  return {"stencil",
          {{"in", in, width * rows * 8, 32}, {"out", out, width * rows * 8, 8, true}},
          [=](unsigned resident) {
            for (int i = 0; i < 200; ++i) {
              std::size_t row = *at = *at % (rows - 2) + 1;
              const double* middle = in + (resident & 1 ? width : row * width);
              stencil(out + (resident & 2 ? 0 : row * width), middle - width, middle,
                      middle + width, width);
            }
          },
          true};
}

Kernel make_two_tables() {
  std::size_t na = 256 * k_mega / 8, nb = 64 * k_mega / 8;
  double *a = filled(na), *b = filled(nb);
  auto state = std::make_shared<std::uint64_t>(88172645463325252u);
  return {"two-tables",
          {{"large", a, na * 8}, {"small", b, nb * 8}},
          [=](unsigned resident) {
            sink = two_tables(a, resident & 1 ? k_small - 1 : na - 1, b,
                              resident & 2 ? k_small - 1 : nb - 1, *state, 100'000);
          },
          false};
}

Kernel make_search() {
  std::size_t ns = 64 * k_mega / 8, nt = 256 * k_mega / 8;
  double *sorted = allocate<double>(ns), *table = filled(nt);
  for (std::size_t i = 0; i < ns; ++i)
    sorted[i] = static_cast<double>(i);
  auto state = std::make_shared<std::uint64_t>(88172645463325252u);
  return {"search",
          {{"grid", sorted, ns * 8}, {"table", table, nt * 8}},
          [=](unsigned resident) {
            // Resident: as many steps of the search, within a piece of the grid.
            sink = search(sorted, ns, resident & 1 ? k_small - 1 : ns - 1, table,
                          resident & 2 ? k_small - 1 : nt - 1, *state, 10'000);
          },
          false,
          true};
}

Kernel make_chase() {
  std::size_t nodes = 128 * k_mega / 64;
  char* memory = reinterpret_cast<char*>(allocate<double>(nodes * 8));
  auto link = [=](std::size_t i) -> void*& { return *reinterpret_cast<void**>(memory + i * 64); };
  for (std::size_t i = 0; i < nodes; ++i)
    link(i) = memory + i * 64;
  std::uint64_t state = 88172645463325252u;
  for (std::size_t i = nodes - 1; i > 0; --i)
    std::swap(link(i), link(random_next(state) % i));
  auto node = std::make_shared<void*>(memory);
  return {"chase", {{"nodes", memory, nodes * 64}}, [=](unsigned resident) {
            static void* self = &self;
            if (resident)
              self = chase(self, 50'000);
            else
              *node = chase(*node, 50'000);
          }};
}

} // namespace

std::vector<std::string> names() {
  return {"chase",      "gather", "triad",   "scatter", "histogram",
          "two-tables", "search", "neutron", "stencil"};
}

Kernel make(const std::string& name) {
  if (name == "chase") return make_chase();
  if (name == "triad") return make_triad();
  if (name == "two-tables") return make_two_tables();
  if (name == "stencil") return make_stencil();
  if (name == "search") return make_search();
  if (name == "neutron") return make_neutron();
  if (name == "gather")
    return make_indexed("gather", "data",
                        [](double* d, const std::uint32_t* i, std::uint32_t m, std::size_t n) {
                          sink = gather(d, i, m, n);
                        });
  if (name == "scatter")
    return make_indexed("scatter", "out",
                        [](double* d, const std::uint32_t* i, std::uint32_t m, std::size_t n) {
                          scatter(d, i, m, n);
                        });
  if (name == "histogram")
    return make_indexed("histogram", "bins",
                        [](double* d, const std::uint32_t* i, std::uint32_t m, std::size_t n) {
                          histogram(d, i, m, n);
                        });
  return {};
}

void give_back(const Kernel& kernel) {
  constexpr std::uintptr_t k_page = 4096; // an array begins in the first page of its mapping
  for (const Array& array : kernel.arrays) {
    const auto begin = reinterpret_cast<std::uintptr_t>(array.begin), first = begin & ~(k_page - 1);
    munmap(reinterpret_cast<void*>(first), begin + array.bytes - first);
  }
}

} // namespace sampling_kernels
