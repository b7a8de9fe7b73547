// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// See record.hpp. Here too: which processes are recorded. pthread_create is passed on with a
// function of ours in front of the program's, so that a thread is known from its first instruction
// to its last (a key's destructor). Threads that the recorder makes for itself are told by where
// their function lies.
#include "preload/record.hpp"

#include "preload/library.hpp"
#include "preload/mappings.hpp"
#include "preload/next_malloc.hpp"

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <pthread.h>
#include <sys/auxv.h>
#include <unistd.h>

#define OMPTIER_EXPORT extern "C" __attribute__((visibility("default")))

namespace omptier::preload {

constinit std::atomic<const omptier_malloc_record*> g_record{nullptr};
__attribute__((tls_model("initial-exec"))) thread_local constinit std::uint32_t t_until_small = 0;

namespace {

constexpr unsigned k_small_period = 64;
constexpr std::uint32_t k_first_seed = 2463534242;

__attribute__((tls_model("initial-exec"))) thread_local std::uint32_t t_random = 0;

pthread_key_t g_at_thread_end;

// Programs allocate in patterns: the distance varies from 1 to twice the period less one.
std::uint32_t next_distance() {
  if (t_random == 0) {
    static constinit std::atomic<std::uint32_t> threads{0}; // one after the other in the same place
    constexpr std::uint32_t k_apart = 0x9e3779b9;
    t_random = k_first_seed ^ (threads.fetch_add(1, std::memory_order_relaxed) * k_apart);
    if (t_random == 0) t_random = k_first_seed;
  }
  t_random ^= t_random << 13;
  t_random ^= t_random >> 17;
  t_random ^= t_random << 5;
  return 1 + t_random % (2 * k_small_period - 1);
}

// The program that `omptier record` was told to run, or one with an OpenMP runtime: not the shells
// and tools on the way to it. Without children, OMPTIER_RECORD goes with the first that is
// recorded.
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
    return false; // there is no /proc, and the name that was started is gone
  return std::strcmp(self, program) == 0;
}

// Programs that bring an own start of threads and an own malloc (sanitizers), or whose checks come
// after our constructor (omptier-cc): the OMPT tool records these by itself, from OpenMP's start.
bool starts_by_itself() {
  for (const char* sign : {"__tsan_init", "__asan_init", "__msan_init", "omptier_exact_table"})
    if (::dlsym(RTLD_DEFAULT, sign) != nullptr) return true;
  return false;
}

// A thread begins somewhere between two blocks that are told: the smaller of two distances is one
// half of a distance on average, and 1 in k_small_period times.
std::uint32_t first_distance() {
  return std::min(next_distance(), next_distance());
}

struct Start {
  void* (*function)(void*);
  void* argument;
  bool ours; // the recorder's own thread
};

void* run_thread(void* argument) {
  const Start start = *static_cast<Start*>(argument);
  g_next.free(argument);
  const omptier_malloc_record* record = g_record.load(std::memory_order_acquire);
  if (start.ours || record == nullptr) {
    if (start.ours) Busy::enter();
    return start.function(start.argument);
  }
  ::pthread_setspecific(g_at_thread_end, record);
  {
    const Busy busy;
    record->thread_begin();
  }
  return start.function(start.argument);
}

void at_thread_end(void*) {
  if (const omptier_malloc_record* record = g_record.load(std::memory_order_acquire)) {
    const Busy busy;
    record->thread_end();
  }
}

bool is_ours(void* (*function)(void*)) {
  constexpr char k_ours[] = "libomptier_";
  Dl_info info;
  if (::dladdr(reinterpret_cast<const void*>(function), &info) == 0 || info.dli_fname == nullptr)
    return false;
  const char* slash = std::strrchr(info.dli_fname, '/');
  return std::strncmp(slash != nullptr ? slash + 1 : info.dli_fname, k_ours, sizeof k_ours - 1) ==
         0;
}

} // namespace

ThreadCreate next_thread_create() {
  static std::atomic<ThreadCreate> next{nullptr};
  ThreadCreate create = next.load(std::memory_order_relaxed);
  if (create == nullptr) {
    create = reinterpret_cast<ThreadCreate>(::dlsym(RTLD_NEXT, "pthread_create"));
    next.store(create, std::memory_order_relaxed);
  }
  return create;
}

bool start_recording() {
  if (::getauxval(AT_SECURE) != 0 || starts_by_itself() || !is_to_be_recorded()) return false;
  const Busy busy;
  void* handle = open_beside("libomptier_ompt.so");
  using Attach = const omptier_malloc_record* (*)(std::uint32_t);
  const auto attach =
      handle != nullptr ? reinterpret_cast<Attach>(::dlsym(handle, "omptier_malloc_record_attach"))
                        : nullptr;
  const omptier_malloc_record* record =
      attach != nullptr ? attach(OMPTIER_MALLOC_RECORD_VERSION) : nullptr;
  if (record == nullptr || ::pthread_key_create(&g_at_thread_end, at_thread_end) != 0 ||
      record->start() == 0)
    return false;
  watch_mappings();
  next_sigaction(); // looked up now: programs call it where nothing can be looked up
  next_signal();
  // After the recorder's own handlers: these run before them at a fork, and behind them after it.
  ::pthread_atfork(Busy::enter, Busy::leave, Busy::leave);
  g_record.store(record, std::memory_order_release);
  return true;
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
    if (is_untold()) return;
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
  const ThreadCreate create = next_thread_create();
  const bool ours = Busy::now() || is_ours(function);
  const omptier_malloc_record* record = g_record.load(std::memory_order_acquire);
  if (!ours && record == nullptr) return create(thread, attributes, function, argument);
  if (!ours) { // in a forked child, which may be known by this only
    const Busy busy;
    record->thread_begin();
  }
  auto* start = static_cast<Start*>(g_next.malloc(sizeof(Start)));
  if (start == nullptr) return EAGAIN;
  *start = {function, argument, ours};
  const int error = create(thread, attributes, run_thread, start);
  if (error != 0) g_next.free(start);
  return error;
}
