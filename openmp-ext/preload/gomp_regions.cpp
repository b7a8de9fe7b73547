// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Parallel regions and barriers of programs on GCC's libgomp, which has no OMPT: while recording,
// its entries are forwarded and reported to the recorder before and after. On every other runtime,
// which reports by OMPT itself, and when nothing is recorded, each entry is a jump, so that the
// runtime sees the program's own call. Entries that gcc emitted only up to 4.8 are missing.
#include "preload/blocks.hpp"
#include "preload/library.hpp"
#include "preload/next.hpp"
#include "preload/recording.hpp"

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <dlfcn.h>
#include <type_traits>

#define CALLER __builtin_return_address(0)

namespace omptier::preload {
namespace {

using Body = void (*)(void*);

#define OMPTIER_ENTRIES(X)                                                                         \
  X(GOMP_parallel)                                                                                 \
  X(GOMP_parallel_reductions)                                                                      \
  X(GOMP_parallel_sections)                                                                        \
  X(GOMP_parallel_loop_static)                                                                     \
  X(GOMP_parallel_loop_dynamic)                                                                    \
  X(GOMP_parallel_loop_guided)                                                                     \
  X(GOMP_parallel_loop_nonmonotonic_dynamic)                                                       \
  X(GOMP_parallel_loop_nonmonotonic_guided)                                                        \
  X(GOMP_parallel_loop_runtime)                                                                    \
  X(GOMP_parallel_loop_nonmonotonic_runtime)                                                       \
  X(GOMP_parallel_loop_maybe_nonmonotonic_runtime)                                                 \
  X(GOMP_barrier)                                                                                  \
  X(GOMP_barrier_cancel)                                                                           \
  X(GOMP_loop_end)                                                                                 \
  X(GOMP_loop_end_cancel)                                                                          \
  X(GOMP_sections_end)                                                                             \
  X(GOMP_sections_end_cancel)                                                                      \
  X(omp_get_max_threads)
#define OMPTIER_NUMBER(NAME) e_##NAME,
#define OMPTIER_NAME(NAME) #NAME,
enum Entry : unsigned { OMPTIER_ENTRIES(OMPTIER_NUMBER) k_entries };
constexpr const char* k_names[] = {OMPTIER_ENTRIES(OMPTIER_NAME)};

// One runtime behind this library, and the range of code whose calls go to it. All entries are
// looked up at once, because at a barrier a waiting thread may hold the loader's lock.
struct Runtime {
  std::uintptr_t begin, end;
  bool libgomp;
  void* entries[k_entries];
};

const void* file_of(const void* address) {
  Dl_info info;
  return ::dladdr(address, &info) != 0 ? info.dli_fbase : nullptr;
}

// LLVM's runtime, ours or another build, has gcc's entries in the same file as its own.
Runtime runtime_in(void* scope) {
  Runtime runtime{0, ~std::uintptr_t{0}, false, {}};
  for (unsigned i = 0; i < k_entries; ++i)
    runtime.entries[i] = ::dlsym(scope, k_names[i]);
  const void* llvm = ::dlsym(scope, "__kmpc_fork_call");
  runtime.libgomp = runtime.entries[e_GOMP_parallel] != nullptr &&
                    (llvm == nullptr || file_of(llvm) != file_of(runtime.entries[e_GOMP_parallel]));
  return runtime;
}

// The runtime of libraries that were loaded with one of their own, such as Python packages: each
// may have another. It is never unloaded, since its entries are kept here.
Runtime runtime_of_library(const void* caller) {
  Dl_info info;
  void* scope =
      ::dladdr(caller, &info) != 0 ? ::dlopen(info.dli_fname, RTLD_LAZY | RTLD_NOLOAD) : nullptr;
  if (scope == nullptr) return {};
  Runtime runtime = runtime_in(scope);
  if (::dladdr(runtime.entries[e_GOMP_parallel], &info) != 0)
    ::dlopen(info.dli_fname, RTLD_LAZY | RTLD_NOLOAD | RTLD_NODELETE);
  ::dlclose(scope);
  const AddressRange library = library_around(caller);
  runtime.begin = library.begin;
  runtime.end = library.end;
  return runtime;
}

constexpr unsigned k_most_runtimes = 32;
// In order of discovery; a runtime whose range is all code hides later ones. Two threads that
// discover a runtime at the same time add it twice.
Runtime g_runtimes[k_most_runtimes];
std::atomic<bool> g_is_known[k_most_runtimes];
std::atomic<unsigned> g_runtime_count{0}; // entries begun; exceeds the maximum if there were more

const Runtime* known_runtime(const void* caller) {
  const auto at = reinterpret_cast<std::uintptr_t>(caller);
  const unsigned count = std::min(g_runtime_count.load(std::memory_order_relaxed), k_most_runtimes);
  for (unsigned i = 0; i < count; ++i)
    if (g_is_known[i].load(std::memory_order_acquire) && at >= g_runtimes[i].begin &&
        at < g_runtimes[i].end)
      return &g_runtimes[i];
  return nullptr;
}

// Symbols in the global scope come before a library's own, as without us.
__attribute__((noinline, cold)) const Runtime* find_runtime(const void* caller, Runtime& other) {
  const KeepErrno keep;
  const Busy busy;
  other = runtime_in(RTLD_NEXT);
  if (other.entries[e_GOMP_parallel] == nullptr) other = runtime_of_library(caller);
  if (const Runtime* known = known_runtime(caller)) return known;
  if (other.entries[e_GOMP_parallel] == nullptr ||
      g_runtime_count.load(std::memory_order_relaxed) >= k_most_runtimes)
    return &other;
  const unsigned mine = g_runtime_count.fetch_add(1, std::memory_order_relaxed);
  if (mine >= k_most_runtimes) return &other;
  g_runtimes[mine] = other;
  g_is_known[mine].store(true, std::memory_order_release);
  return &g_runtimes[mine];
}

const omptier_malloc_record* listener(const Runtime& runtime) {
  const omptier_malloc_record* record = g_record.load(std::memory_order_acquire);
  return record != nullptr && runtime.libgomp && !Busy::now() ? record : nullptr;
}

unsigned threads_of(const Runtime& runtime, unsigned asked) {
  if (asked != 0) return asked;
  const auto function = reinterpret_cast<int (*)()>(runtime.entries[e_omp_get_max_threads]);
  const int threads = function != nullptr ? function() : 1;
  return threads > 0 ? static_cast<unsigned>(threads) : 1;
}

class Region {
public:
  Region(const omptier_malloc_record* record, const void* codeptr, unsigned threads)
      : record_(record), number_(begin(record, codeptr, threads)) {}
  ~Region() {
    const KeepErrno keep;
    const Busy busy;
    record_->region_end(number_);
  }
  Region(const Region&) = delete;
  Region& operator=(const Region&) = delete;

private:
  static std::uint64_t begin(const omptier_malloc_record* record, const void* codeptr,
                             unsigned threads) {
    const KeepErrno keep;
    const Busy busy;
    return record->region_begin(codeptr, threads);
  }

  const omptier_malloc_record* record_;
  std::uint64_t number_;
};

void passed(const omptier_malloc_record* record, const void* codeptr) {
  const KeepErrno keep;
  const Busy busy;
  record->barrier_passed(codeptr);
}

// The recording paths are separate functions, so that the other path ends in a jump.
template <typename R, typename... A>
__attribute__((noinline)) R in_region(const omptier_malloc_record* record, const Runtime& runtime,
                                      const void* codeptr, R (*next)(Body, void*, unsigned, A...),
                                      Body body, void* data, unsigned threads, A... more) {
  const Region region(record, codeptr, threads_of(runtime, threads));
  return next(body, data, threads, more...);
}

template <typename R>
__attribute__((noinline)) R at_barrier(const omptier_malloc_record* record, const void* codeptr,
                                       R (*next)()) {
  if constexpr (std::is_void_v<R>) {
    next();
    passed(record, codeptr);
  } else {
    const R result = next();
    passed(record, codeptr);
    return result;
  }
}

} // namespace
} // namespace omptier::preload

using namespace omptier::preload;

// The runtime that the caller's calls go to, and its entry.
// NOLINTBEGIN(bugprone-macro-parentheses): a type takes none
#define OMPTIER_NEXT(TYPE, NAME)                                                                   \
  Runtime other;                                                                                   \
  const Runtime* runtime = known_runtime(CALLER);                                                  \
  if (runtime == nullptr) [[unlikely]]                                                             \
    runtime = find_runtime(CALLER, other);                                                         \
  auto* function = reinterpret_cast<std::add_pointer_t<TYPE>>(runtime->entries[e_##NAME]);
// NOLINTEND(bugprone-macro-parentheses)

// Defines a region entry NAME of libgomp; all begin with body, data and number of threads.
#define OMPTIER_REGION(RESULT, NAME, PARAMETERS, ARGUMENTS)                                        \
  OMPTIER_EXPORT RESULT NAME PARAMETERS {                                                          \
    OMPTIER_NEXT(RESULT PARAMETERS, NAME)                                                          \
    if (const omptier_malloc_record* record = listener(*runtime)) [[unlikely]]                     \
      return in_region(record, *runtime, CALLER, function, OMPTIER_LIST ARGUMENTS);                \
    return function ARGUMENTS;                                                                     \
  }
#define OMPTIER_LIST(...) __VA_ARGS__
#define OMPTIER_BARRIER(RESULT, NAME)                                                              \
  OMPTIER_EXPORT RESULT NAME() {                                                                   \
    OMPTIER_NEXT(RESULT(), NAME)                                                                   \
    if (const omptier_malloc_record* record = listener(*runtime)) [[unlikely]]                     \
      return at_barrier(record, CALLER, function);                                                 \
    return function();                                                                             \
  }
#define OMPTIER_CHUNKED_LOOP(NAME)                                                                 \
  OMPTIER_REGION(void, NAME,                                                                       \
                 (Body body, void* data, unsigned threads, long start, long end, long step,        \
                  long chunk, unsigned flags),                                                     \
                 (body, data, threads, start, end, step, chunk, flags))
#define OMPTIER_LOOP(NAME)                                                                         \
  OMPTIER_REGION(                                                                                  \
      void, NAME,                                                                                  \
      (Body body, void* data, unsigned threads, long start, long end, long step, unsigned flags),  \
      (body, data, threads, start, end, step, flags))

OMPTIER_REGION(void, GOMP_parallel, (Body body, void* data, unsigned threads, unsigned flags),
               (body, data, threads, flags))
OMPTIER_REGION(unsigned, GOMP_parallel_reductions,
               (Body body, void* data, unsigned threads, unsigned flags),
               (body, data, threads, flags))
OMPTIER_REGION(void, GOMP_parallel_sections,
               (Body body, void* data, unsigned threads, unsigned count, unsigned flags),
               (body, data, threads, count, flags))
OMPTIER_CHUNKED_LOOP(GOMP_parallel_loop_static)
OMPTIER_CHUNKED_LOOP(GOMP_parallel_loop_dynamic)
OMPTIER_CHUNKED_LOOP(GOMP_parallel_loop_guided)
OMPTIER_CHUNKED_LOOP(GOMP_parallel_loop_nonmonotonic_dynamic)
OMPTIER_CHUNKED_LOOP(GOMP_parallel_loop_nonmonotonic_guided)
OMPTIER_LOOP(GOMP_parallel_loop_runtime)
OMPTIER_LOOP(GOMP_parallel_loop_nonmonotonic_runtime)
OMPTIER_LOOP(GOMP_parallel_loop_maybe_nonmonotonic_runtime)
OMPTIER_BARRIER(void, GOMP_barrier)
OMPTIER_BARRIER(bool, GOMP_barrier_cancel)
OMPTIER_BARRIER(void, GOMP_loop_end)
OMPTIER_BARRIER(bool, GOMP_loop_end_cancel)
OMPTIER_BARRIER(void, GOMP_sections_end)
OMPTIER_BARRIER(bool, GOMP_sections_end_cancel)
