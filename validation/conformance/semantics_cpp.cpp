// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What is C++'s own: default arguments of the routines, objects with constructors and destructors
// as private copies and locals in an allocator's memory, allocators as template arguments,
// exceptions that pass them. (Neither clang-19 nor gcc 12 has the allocator types of namespace
// omp.)
#include "semantics.h"

#include <new>
#include <stdexcept>
#include <vector>

namespace {

constexpr int k_threads = 4;
omp_allocator_handle_t allocator;

omp_allocator_handle_t with_alignment(std::size_t alignment) {
  const omp_alloctrait_t traits[] = {{omp_atk_alignment, alignment}};
  return make(ompx_dram_mem_space, 1, traits);
}

// Counts its living copies; knows whether it was made well.
struct Counted {
  static int living, made;
  int value;
  Counted* self;
  explicit Counted(int v = 0) : value(v), self(this) { count(1); }
  Counted(const Counted& other) : value(other.value), self(this) { count(1); }
  Counted& operator=(const Counted& other) { return value = other.value, *this; }
  ~Counted() {
    if (self != this) _exit(7); // memory was given back before its end
    count(-1);
  }
  static void count(int by) {
#pragma omp atomic
    living += by;
    if (by > 0) {
#pragma omp atomic
      ++made;
    }
  }
};
int Counted::living = 0, Counted::made = 0;

void default_arguments() {
  omp_set_default_allocator(ompx_dram_mem_alloc);
  char* block = static_cast<char*>(omp_alloc(3000));
  check(is_placed(block), "omp_alloc without an allocator is the default one's");
  fill(block, 3000, 1);
  block = static_cast<char*>(omp_realloc(block, 9000));
  check(is_placed(block) && holds(block, 3000, 1), "omp_realloc");
  char* zeroed = static_cast<char*>(omp_calloc(30, 100));
  check(is_placed(zeroed) && all_zero(zeroed, 3000), "omp_calloc");
  char* aligned = static_cast<char*>(omp_aligned_alloc(512, 3000));
  check(is_placed(aligned) && aligned_to(aligned, 512), "omp_aligned_alloc");
  char* both = static_cast<char*>(omp_aligned_calloc(512, 3, 1000));
  check(is_placed(both) && aligned_to(both, 512) && all_zero(both, 3000), "omp_aligned_calloc");
  for (char* each : {block, zeroed, aligned, both})
    omp_free(each);
}

// Copies are made in the allocator's memory and end before it is given back.
void private_objects() {
  allocator = with_alignment(256);
  int wrong = 0;
  {
    Counted object(42);
#pragma omp parallel num_threads(k_threads) firstprivate(object) allocate(allocator : object)      \
    reduction(+ : wrong)
    {
      wrong += object.value != 42 || object.self != &object;
      wrong += !is_placed(&object) || !aligned_to(&object, 256);
      object.value = omp_get_thread_num();
#pragma omp barrier
      wrong += object.value != omp_get_thread_num();
    }
    check(object.value == 42 && Counted::living == 1, "%d alive", Counted::living);
  }
  check(wrong == 0 && Counted::living == 0 && Counted::made >= 1 + k_threads, "%d wrong", wrong);
}

template <typename T, std::size_t Count> int use_private(omp_allocator_handle_t handle) {
  T values[Count];
  int wrong = 0;
#pragma omp parallel num_threads(k_threads) private(values) allocate(handle : values)              \
    reduction(+ : wrong)
  {
    for (std::size_t i = 0; i < Count; ++i)
      values[i] = T(omp_get_thread_num() + int(i));
#pragma omp barrier
    for (std::size_t i = 0; i < Count; ++i)
      wrong += values[i] != T(omp_get_thread_num() + int(i));
    wrong += !is_placed(values);
  }
  return wrong;
}
void in_templates() {
  allocator = with_alignment(64);
  check(use_private<double, 100>(allocator) == 0, "double");
  check(use_private<short, 7>(allocator) == 0, "short");
}

void vectors() {
  allocator = with_alignment(64);
  int wrong = 0;
  std::vector<int> numbers(1000, 5);
#pragma omp parallel num_threads(k_threads) firstprivate(numbers) allocate(allocator : numbers)    \
    reduction(+ : wrong)
  {
    numbers.push_back(omp_get_thread_num());
    wrong += numbers.size() != 1001 || numbers[999] != 5 || numbers[1000] != omp_get_thread_num();
  }
  check(wrong == 0 && numbers.size() == 1000, "%d wrong", wrong);
}

#ifdef __clang__
int local_object(omp_allocator_handle_t handle, bool leave) {
  double values[100];
#pragma omp allocate(values) allocator(handle) align(1024)
  if (!is_placed(values) || !aligned_to(values, 1024)) return 1;
  for (int i = 0; i < 100; ++i)
    values[i] = i;
  if (leave) throw std::runtime_error("left");
  return values[99] != 99;
}
// Also when an exception leaves the function its locals are given back.
void locals_and_exceptions() {
  const omp_alloctrait_t traits[] = {{omp_atk_pool_size, 4096},
                                     {omp_atk_fallback, omp_atv_null_fb}};
  const omp_allocator_handle_t pool = make(ompx_dram_mem_space, 2, traits);
  for (int i = 0; i < 50; ++i) { // the pool has room for five
    int thrown = 0;
    try {
      check(local_object(pool, i % 2 != 0) == 0, "round %d", i);
    } catch (const std::runtime_error&) {
      ++thrown;
    }
    check(thrown == i % 2, "round %d: thrown", i);
  }
  char* all = static_cast<char*>(omp_alloc(4096, pool));
  check(all != nullptr, "locals are still in the pool");
  omp_free(all, pool);
}
#endif

// A class-specific operator new over an allocator, used by every thread.
struct Placed {
  double payload[16];
  static void* operator new(std::size_t bytes) {
    void* block = omp_alloc(bytes, ompx_dram_mem_alloc);
    if (block == nullptr) throw std::bad_alloc();
    return block;
  }
  static void operator delete(void* block) { omp_free(block, ompx_dram_mem_alloc); }
};
void operator_new() {
  int wrong = 0;
#pragma omp parallel num_threads(k_threads) reduction(+ : wrong)
  for (int i = 0; i < 200; ++i) {
    auto* object = new Placed();
    wrong += !is_placed(object) || object->payload[15] != 0;
    object->payload[3] = i;
    wrong += object->payload[3] != i;
    delete object;
  }
  check(wrong == 0, "%d wrong", wrong);
}

// Handles are constants that templates take.
template <omp_allocator_handle_t Handle> int placed_by() {
  void* block = omp_alloc(1000, Handle);
  const int placed = is_placed(block);
  omp_free(block, Handle);
  return placed;
}
void constant_handles() {
  check(placed_by<ompx_dram_mem_alloc>() == 1, "ompx_dram_mem_alloc");
  check(placed_by<omp_low_lat_mem_alloc>() == 1, "omp_low_lat_mem_alloc");
  check(placed_by<omp_default_mem_alloc>() == 0, "omp_default_mem_alloc");
}

const semantics_case cases[] = {
    {"default-arguments", default_arguments, k_dram},
    {"private-objects", private_objects, k_dram},
    {"in-templates", in_templates, k_dram},
    {"vectors", vectors, k_dram},
#ifdef __clang__
    {"locals-and-exceptions", locals_and_exceptions, k_dram},
#endif
    {"operator-new", operator_new, k_dram},
    {"constant-handles", constant_handles, k_dram},
};

} // namespace

int main(int argc, char** argv) {
  return run_cases(cases, LENGTH(cases), argc, argv);
}
