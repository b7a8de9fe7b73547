// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Parallel regions and barriers of programs on GCC's libgomp, which has no OMPT: while recording,
// its entries are passed on to with a word to the recorder before and behind. On every other
// runtime, which tells by OMPT itself, and when nothing is recorded, each is a jump, so that the
// runtime sees the program's call as its own. Entries that gcc made up to 4.8 are not here.
#include "preload/blocks.hpp"
#include "preload/record.hpp"

#include <atomic>
#include <dlfcn.h>

#define OMPTIER_EXPORT extern "C" __attribute__((visibility("default")))
#define CALLER __builtin_return_address(0)

namespace omptier::preload {
namespace {

using Body = void (*)(void*);

void* find(const char* name) {
  if (void* found = ::dlsym(RTLD_NEXT, name)) return found;
  // The runtime came with a library that was loaded later, out of RTLD_NEXT's sight.
  for (const char* runtime : {"libgomp.so.1", "libomp.so.5", "libomp.so", "libiomp5.so"})
    if (void* handle = ::dlopen(runtime, RTLD_LAZY | RTLD_NOLOAD))
      if (void* found = ::dlsym(handle, name)) return found;
  return nullptr;
}

// An entry of the runtime behind us: found at the first call.
template <typename F> class Next {
public:
  explicit constexpr Next(const char* name) : name_(name) {}
  F* get() {
    F* function = function_.load(std::memory_order_acquire);
    return function != nullptr ? function : look_up();
  }

private:
  __attribute__((noinline, cold)) F* look_up() {
    const KeepErrno keep;
    const Busy busy;
    auto* function = reinterpret_cast<F*>(find(name_));
    function_.store(function, std::memory_order_release);
    return function;
  }

  const char* name_;
  std::atomic<F*> function_{nullptr};
};

enum class Runtime : int { unknown, libgomp, other };
std::atomic<Runtime> g_runtime_kind{Runtime::unknown};

// LLVM's runtime, ours or another, has gcc's entries beside its own, in one file.
__attribute__((noinline)) bool is_libgomp(const void* entry) {
  Runtime kind = g_runtime_kind.load(std::memory_order_acquire);
  if (kind == Runtime::unknown) {
    const KeepErrno keep;
    const Busy busy;
    Dl_info gomp, other;
    const void* llvm = find("__kmpc_fork_call");
    const bool same = llvm != nullptr && ::dladdr(entry, &gomp) != 0 &&
                      ::dladdr(llvm, &other) != 0 && gomp.dli_fbase == other.dli_fbase;
    kind = same ? Runtime::other : Runtime::libgomp;
    g_runtime_kind.store(kind, std::memory_order_release);
  }
  return kind == Runtime::libgomp;
}

// Whom to tell, or null.
template <typename F> const omptier_malloc_record* listener(F* entry) {
  const omptier_malloc_record* record = g_record.load(std::memory_order_acquire);
  if (record == nullptr || g_runtime_kind.load(std::memory_order_acquire) == Runtime::other ||
      Busy::now())
    return nullptr;
  return is_libgomp(reinterpret_cast<const void*>(entry)) ? record : nullptr;
}

unsigned threads_of(unsigned asked) {
  static Next<int()> most("omp_get_max_threads");
  if (asked != 0) return asked;
  auto* function = most.get();
  const int threads = function != nullptr ? function() : 1;
  return threads > 0 ? static_cast<unsigned>(threads) : 1;
}

// Tells of a region as long as it lives.
class Region {
public:
  Region(const omptier_malloc_record* record, const void* codeptr, unsigned asked)
      : record_(record) {
    const unsigned threads = threads_of(asked);
    const KeepErrno keep;
    const Busy busy;
    number_ = record_->region_begin(codeptr, threads);
  }
  ~Region() {
    const KeepErrno keep;
    const Busy busy;
    record_->region_end(number_);
  }
  Region(const Region&) = delete;
  Region& operator=(const Region&) = delete;

private:
  const omptier_malloc_record* record_;
  std::uint64_t number_ = 0;
};

void passed(const omptier_malloc_record* record, const void* codeptr) {
  const KeepErrno keep;
  const Busy busy;
  record->barrier_passed(codeptr);
}

// The ways through the recorder stand apart, so that the other way is a jump.
template <typename R, typename... A>
__attribute__((noinline)) R in_region(const omptier_malloc_record* record, const void* codeptr,
                                      R (*next)(Body, void*, unsigned, A...), Body body, void* data,
                                      unsigned threads, A... more) {
  const Region region(record, codeptr, threads);
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

// NAME(parameters) of libgomp, all of which begin with body, data and number of threads.
#define OMPTIER_REGION(RESULT, NAME, PARAMETERS, ARGUMENTS)                                        \
  OMPTIER_EXPORT RESULT NAME PARAMETERS {                                                          \
    static constinit Next<RESULT PARAMETERS> next(#NAME);                                          \
    auto* function = next.get();                                                                   \
    if (const omptier_malloc_record* record = listener(function)) [[unlikely]]                     \
      return in_region(record, CALLER, function, OMPTIER_LIST ARGUMENTS);                          \
    return function ARGUMENTS;                                                                     \
  }
#define OMPTIER_LIST(...) __VA_ARGS__
#define OMPTIER_BARRIER(RESULT, NAME)                                                              \
  OMPTIER_EXPORT RESULT NAME() {                                                                   \
    static constinit Next<RESULT()> next(#NAME);                                                   \
    auto* function = next.get();                                                                   \
    if (const omptier_malloc_record* record = listener(function)) [[unlikely]]                     \
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
