// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Also decides which processes are recorded. pthread_create and thrd_create are forwarded with a
// function of ours around the program's, so that a thread is known from its first instruction to
// its last (a key's destructor). The recorder's threads are known by their function's address.
#include "preload/recording.hpp"

#include "base/os.hpp"
#include "borders/exact_counts.h"
#include "preload/library.hpp"
#include "preload/mmap.hpp"
#include "preload/next_malloc.hpp"
#include "preload/small_spans.hpp"

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <pthread.h>
#include <sys/auxv.h>
#include <threads.h>
#include <unistd.h>

namespace omptier::preload {

constinit std::atomic<const omptier_malloc_record*> g_record{nullptr};
__attribute__((tls_model("initial-exec"))) thread_local constinit std::uint32_t t_until_small = 0;

namespace {

constexpr unsigned k_small_period = 64;
constexpr std::uint32_t k_first_seed = 2463534242;

__attribute__((tls_model("initial-exec"))) thread_local std::uint32_t t_random = 0;

pthread_key_t g_at_thread_end;

// Programs allocate in patterns, so the distance varies from 1 to twice the period less one.
std::uint32_t next_distance() {
  if (t_random == 0) {
    static constinit std::atomic<std::uint32_t> threads{0}; // one seed per thread
    constexpr std::uint32_t k_apart = 0x9e3779b9;
    t_random = k_first_seed ^ (threads.fetch_add(1, std::memory_order_relaxed) * k_apart);
    if (t_random == 0) t_random = k_first_seed;
  }
  t_random ^= t_random << 13;
  t_random ^= t_random >> 17;
  t_random ^= t_random << 5;
  return 1 + t_random % (2 * k_small_period - 1);
}

// The program that `omptier record` runs, or one with an OpenMP runtime, but not shells and tools
// before it. Without children, the first recorded process removes OMPTIER_RECORD.
bool is_to_be_recorded() {
  const char* tools = std::getenv("OMP_TOOL_LIBRARIES");
  if (tools == nullptr || std::strstr(tools, "libomptier_ompt.so") == nullptr) return false;
  const char* program = std::getenv("OMPTIER_RECORD");
  const char* children = std::getenv("OMPTIER_CHILDREN");
  if (children != nullptr && std::strcmp(children, "all") == 0) return true;
  if (children != nullptr && std::strcmp(children, "no") == 0 && program == nullptr) return false;
  if (::dlsym(RTLD_DEFAULT, "omp_get_max_threads") != nullptr) return true;
  if (program == nullptr || *program == '\0') return false;
  char self[PATH_MAX];
  const ssize_t length = ::readlink("/proc/self/exe", self, sizeof self - 1);
  if (length > 0)
    self[length] = '\0';
  else if (::realpath(reinterpret_cast<const char*>(::getauxval(AT_EXECFN)), self) == nullptr)
    return false; // there is no /proc, and the program's file is gone
  return std::strcmp(self, program) == 0;
}

// Sanitizers have their own thread start and malloc: the OMPT tool records from OpenMP's start.
bool starts_by_itself() {
  for (const char* sign : {"__tsan_init", "__asan_init", "__msan_init"})
    if (::dlsym(RTLD_DEFAULT, sign) != nullptr) return true;
  return false;
}

// A thread begins at a random point between two reported blocks: the smaller of two distances is
// half a distance on average, and 1 once in k_small_period.
std::uint32_t first_distance() {
  return std::min(next_distance(), next_distance());
}

struct Start {
  void (*function)(); // pthread_create's or thrd_create's
  void* argument;
  bool ours; // the recorder's own thread, or one that copies chunks
};

// Runs on the new thread. Returns the function that it shall run.
Start begin_thread(void* argument) {
  const Start start = *static_cast<Start*>(argument);
  g_next.free(argument);
  const omptier_malloc_record* record = g_record.load(std::memory_order_acquire);
  if (start.ours) {
    Busy::enter();
  } else if (record != nullptr) {
    ::pthread_setspecific(g_at_thread_end, record);
    const Busy busy;
    const NotCancelled meanwhile; // it opens files
    record->thread_begin();
  }
  return start;
}

void* run_thread(void* argument) {
  const Start start = begin_thread(argument);
  return reinterpret_cast<void* (*)(void*)>(start.function)(start.argument);
}

int run_c11_thread(void* argument) {
  const Start start = begin_thread(argument);
  return reinterpret_cast<thrd_start_t>(start.function)(start.argument);
}

void at_thread_end(void*) {
  if (const omptier_malloc_record* record = g_record.load(std::memory_order_acquire)) {
    const Busy busy;
    record->thread_end();
  }
}

constinit AddressRange g_recorder;

// The recorder's thread, and those that move or copy memory. Libraries that were loaded otherwise
// (as OpenMP's tool) are recognised by their name.
bool is_ours(const void* function) {
  if (g_record.load(std::memory_order_acquire) != nullptr && g_recorder.holds(function))
    return true;
  constexpr char k_ours[] = "libomptier";
  const char* name = library_around(function).name;
  const char* slash = std::strrchr(name, '/');
  if (slash != nullptr) name = slash + 1;
  const char after =
      std::strncmp(name, k_ours, sizeof k_ours - 1) == 0 ? name[sizeof k_ours - 1] : '\0';
  return after == '_' || after == '.';
}

void hold_for_fork() {
  Busy::enter();
  small_spans::before_fork();
}
void resume_parent() {
  small_spans::after_fork_in_parent();
  Busy::leave();
}
void resume_child() {
  small_spans::after_fork_in_child();
  Busy::leave();
}

void start_reporting(const omptier_malloc_record* record) {
  g_recorder = library_around(reinterpret_cast<const void*>(record));
  g_record.store(record, std::memory_order_release);
}

// Runs code of ours at a thread's begin and end: create(start) calls the C library's function with
// run or another function that passes start to it. no_memory: the result if memory is exhausted.
template <typename Function, typename Create>
int create_thread(Function function, void* argument, int no_memory, Create&& create) {
  const bool ours = Busy::now() || is_ours(reinterpret_cast<const void*>(function));
  const omptier_malloc_record* record = g_record.load(std::memory_order_acquire);
  if (!ours && record == nullptr) return create(nullptr);
  if (!ours) { // in a forked child, whose only sign may be this thread
    const Busy busy;
    const NotCancelled meanwhile;
    record->thread_begin();
  }
  auto* start = static_cast<Start*>(g_next.malloc(sizeof(Start)));
  if (start == nullptr) return no_memory;
  *start = {reinterpret_cast<void (*)()>(function), argument, ours};
  const int error = create(start);
  if (error != 0) g_next.free(start);
  return error;
}

} // namespace

constinit Next<int(pthread_t*, const pthread_attr_t*, void* (*)(void*), void*)> next_pthread_create{
    "pthread_create"};
constinit Next<int(thrd_t*, thrd_start_t, void*)> next_thrd_create{"thrd_create"};

// Another malloc may have entries of its own that take its blocks (sdallocx, mi_free), and would
// get ours. A program's own malloc or free may take only some of the blocks.
bool can_serve_small() {
  if (!next_malloc_has_headers()) return false;
  const AddressRange self = library_around(reinterpret_cast<const void*>(&can_serve_small));
  for (const char* name : {"malloc", "calloc", "realloc", "free"})
    if (!self.holds(::dlsym(RTLD_DEFAULT, name))) return false;
  return true;
}

bool start_recording() {
  if (::getauxval(AT_SECURE) != 0 || starts_by_itself() || !is_to_be_recorded()) return false;
  const Busy busy;
  const auto* record =
      attach<omptier_malloc_record>(open_beside("libomptier_ompt.so"),
                                    "omptier_malloc_record_attach", OMPTIER_MALLOC_RECORD_VERSION);
  const bool serves_small = can_serve_small();
  if (record == nullptr || ::pthread_key_create(&g_at_thread_end, at_thread_end) != 0 ||
      record->start(serves_small ? &small_spans::k_table : nullptr) == 0)
    return false;
  if (serves_small) take_blocks_by_handle();
  watch_mappings();
  // After the recorder's own handlers: at a fork these run before them, later behind them. All run
  // innermost (fork.cpp).
  ::pthread_atfork(hold_for_fork, resume_parent, resume_child);
  start_reporting(record);
  return true;
}

void watch_placed_blocks() {
  const omptier_malloc_record* record = g_record.load(std::memory_order_acquire);
  if (record == nullptr) return;
  const Busy busy;
  record->runtime_attached();
}

bool start_recording_when_checked(void (*start)()) {
  if (::getauxval(AT_SECURE) != 0 || !is_to_be_recorded()) return false;
  const auto look_up = reinterpret_cast<const omptier_exact* (*)(std::uint32_t)>(
      ::dlsym(RTLD_DEFAULT, "omptier_exact_table"));
  const omptier_exact* exact = look_up != nullptr ? look_up(OMPTIER_EXACT_VERSION) : nullptr;
  if (exact == nullptr) return false;
  exact->when_checked(start);
  return true;
}

bool is_recorder(const void* code) {
  return g_recorder.holds(code);
}

void end_recording() {
  const omptier_malloc_record* record = g_record.load(std::memory_order_acquire);
  if (record == nullptr) return;
  const Busy busy;
  record->end();
}

void record_block(const void* block, std::size_t bytes, const void* caller) {
  const omptier_malloc_record* record = g_record.load(std::memory_order_acquire);
  if (record == nullptr || Busy::now()) return;
  if (bytes < k_least_recorded) {
    if (t_until_small == 0) t_until_small = first_distance();
    if (is_left_out()) return;
    t_until_small = next_distance();
  }
  const KeepErrno keep;
  const Busy busy;
  if (bytes >= k_least_recorded)
    record->allocated(block, bytes, caller);
  else
    record->small(block, bytes, caller, k_small_period);
}

void record_free(void* block) {
  const omptier_malloc_record* record = g_record.load(std::memory_order_acquire);
  if (record == nullptr || block == nullptr || Busy::now()) return;
  if (const std::size_t bytes = next_size(block); bytes != 0 && bytes < k_least_recorded) return;
  const KeepErrno keep;
  const Busy busy;
  record->released(block);
}

} // namespace omptier::preload

using namespace omptier::preload;

OMPTIER_EXPORT int pthread_create(pthread_t* thread, const pthread_attr_t* attributes,
                                  void* (*function)(void*), void* argument) {
  const auto next = next_pthread_create();
  next_thrd_create(); // looked up with the first thread: later, a thread that loads a library may
                      // wait for the new one, and no look-up is possible meanwhile
  return create_thread(function, argument, EAGAIN, [&](Start* start) {
    return start != nullptr ? next(thread, attributes, run_thread, start)
                            : next(thread, attributes, function, argument);
  });
}

// The C library's thrd_create does not call the pthread_create above.
OMPTIER_EXPORT int thrd_create(thrd_t* thread, thrd_start_t function, void* argument) {
  const auto next = next_thrd_create();
  next_pthread_create();
  if (next == nullptr) return thrd_error;
  return create_thread(function, argument, thrd_nomem, [&](Start* start) {
    return start != nullptr ? next(thread, run_c11_thread, start)
                            : next(thread, function, argument);
  });
}
