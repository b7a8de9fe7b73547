// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// libomptier_exact.so: the functions that a program built by omptier-cc calls before each access,
// under the names of clang's kernel-address instrumentation. Every thread counts in a table of its
// own, mapped at its first access. Nothing is counted until a profiler attaches
// (borders/exact_counts.h).
//
// The pc of an access is its callback's return address: the instruction follows the call.
#include "base/os.hpp"
#include "sampling/exact/counters.hpp"

#include <cstring>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace omptier::exact {
namespace {

enum class State : std::uint8_t { off, counting, checking };

constexpr std::uint32_t k_ended = 1u << 31; // in ThreadCounters::thread: drain once more, then free

using Consumer = void (*)(void*, std::uint32_t, const omptier_exact_access*, std::size_t);

std::atomic<State> g_state{State::off};
std::atomic<ThreadCounters*> g_all{nullptr};
std::atomic<Consumer> g_consumer{nullptr};
std::atomic<void*> g_consumer_taker{nullptr};
std::atomic<std::uint64_t> g_refused{0}; // accesses of threads without a table
pthread_key_t g_key;
bool g_key_made = false;
const char* g_why_not = "the program was not linked by omptier-cc (its check is missing)";

thread_local ThreadCounters* t_counters __attribute__((tls_model("initial-exec"))) = nullptr;

// To be called when the check has run.
std::atomic<void (*)()> g_ready{nullptr};
std::atomic<bool> g_checked{false};

// Used by the check, which runs on one thread.
pthread_t g_checker;
std::uint64_t g_loaded = 0, g_stored = 0;

ObjectMap& objects() {
  alignas(ObjectMap) static unsigned char storage[sizeof(ObjectMap)];
  static ObjectMap* made = new (storage) ObjectMap;
  return *made;
}
// Used at every access, so without the guard of a function-local static.
ObjectMap* g_objects = nullptr;

void flush_waiting(ThreadCounters& mine) {
  const Consumer consumer = g_consumer.load(std::memory_order_acquire);
  if (consumer != nullptr && mine.waiting_count > 0)
    consumer(g_consumer_taker.load(), mine.thread.load() & ~k_ended, mine.waiting,
             mine.waiting_count);
  mine.waiting_count = 0;
}

void thread_ends(void* counters) {
  auto* mine = static_cast<ThreadCounters*>(counters);
  flush_waiting(*mine);
  t_counters = nullptr;
  mine->thread.fetch_or(k_ended, std::memory_order_release);
}

// A table for the calling thread: a free one, or a new one.
ThreadCounters* make_mine() {
  const auto id = static_cast<std::uint32_t>(syscall(SYS_gettid));
  ThreadCounters* mine = g_all.load(std::memory_order_acquire);
  for (; mine != nullptr; mine = mine->next) {
    std::uint32_t unowned = 0;
    if (mine->thread.compare_exchange_strong(unowned, id)) break;
  }
  if (mine == nullptr) {
    void* memory = os().map(nullptr, sizeof(ThreadCounters), PROT_READ | PROT_WRITE,
                            MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) return nullptr;
    mine = static_cast<ThreadCounters*>(memory); // zero bytes are an empty table
    mine->thread.store(id, std::memory_order_relaxed);
    mine->next = g_all.load(std::memory_order_relaxed);
    while (!g_all.compare_exchange_weak(mine->next, mine, std::memory_order_release))
      ;
  }
  t_counters = mine;
  if (g_key_made) pthread_setspecific(g_key, mine);
  return mine;
}

void note_checked(std::uint64_t bytes, bool store) {
  if (pthread_equal(g_checker, pthread_self()) != 0) (store ? g_stored : g_loaded) += bytes;
}

inline void note(const void* address, std::size_t bytes, bool store, const void* pc) {
  const State state = g_state.load(std::memory_order_relaxed);
  if (state == State::off) return;
  if (state == State::checking) return note_checked(bytes, store);
  ThreadCounters* mine = t_counters;
  if (mine == nullptr) mine = make_mine();
  if (mine == nullptr) {
    g_refused.fetch_add(1, std::memory_order_relaxed);
    return;
  }
  const Access access{reinterpret_cast<std::uintptr_t>(pc),
                      reinterpret_cast<std::uintptr_t>(address), bytes, store};
  mine->count(access, *g_objects);
  if (g_consumer.load(std::memory_order_relaxed) == nullptr) return;
  mine->waiting[mine->waiting_count++] = {access.pc, access.address, bytes, store};
  if (mine->waiting_count == ThreadCounters::k_waiting) flush_waiting(*mine);
}

void new_moment() {
  moment().time.store(monotonic_nanoseconds(), std::memory_order_relaxed);
}

const char* begin() {
  if (g_why_not != nullptr) return g_why_not;
  if (!objects().open()) return "address space for its tables cannot be had (ulimit -v?)";
  g_objects = &objects();
  if (!g_key_made) g_key_made = pthread_key_create(&g_key, thread_ends) == 0;
  new_moment();
  g_state.store(State::counting, std::memory_order_release);
  return nullptr;
}

void end() {
  g_state.store(State::off, std::memory_order_release);
}

void object_begin(std::uint64_t address, std::uint64_t bytes, std::uint64_t object) {
  new_moment();
  objects().begin(address, bytes, object);
}

void object_end(std::uint64_t address) {
  objects().end(address);
}

void region(std::uint64_t number) {
  moment().region.store(number, std::memory_order_relaxed);
  new_moment();
  objects().changed();
}

std::uint64_t drain(void (*take)(void*, const omptier_exact_counts*), void* taker) {
  std::uint64_t lost = g_refused.exchange(0);
  for (auto* table = g_all.load(std::memory_order_acquire); table != nullptr; table = table->next) {
    const std::uint32_t thread = table->thread.load(std::memory_order_acquire);
    if (thread == 0) continue;
    lost += table->drain(take, taker);
    if ((thread & k_ended) == 0) continue;
    table->clear();
    table->thread.store(0, std::memory_order_release);
  }
  return lost;
}

// Only the calling thread exists; it keeps its table, emptied.
void forked_child() {
  objects().forked_child();
  for (auto* table = g_all.load(); table != nullptr; table = table->next) {
    table->clear();
    table->thread.store(table == t_counters ? static_cast<std::uint32_t>(syscall(SYS_gettid)) : 0);
  }
}

void consume(Consumer take, void* taker) {
  if (take == nullptr)
    for (auto* table = g_all.load(std::memory_order_acquire); table != nullptr; table = table->next)
      if (table == t_counters) flush_waiting(*table);
  g_consumer_taker.store(taker);
  g_consumer.store(take, std::memory_order_release);
}

void call_ready() {
  if (const auto ready = g_ready.exchange(nullptr)) ready();
}

void when_checked(void (*ready)()) {
  g_ready.store(ready);
  if (g_checked.load()) call_ready();
}

constexpr omptier_exact k_table = {OMPTIER_EXACT_VERSION,
                                   sizeof(omptier_exact),
                                   begin,
                                   end,
                                   object_begin,
                                   object_end,
                                   region,
                                   drain,
                                   forked_child,
                                   consume,
                                   when_checked};

} // namespace
} // namespace omptier::exact

using omptier::exact::note;

extern "C" const omptier_exact* omptier_exact_table(std::uint32_t version) {
  return version == OMPTIER_EXACT_VERSION ? &omptier::exact::k_table : nullptr;
}

extern "C" void omptier_exact_check(void (*loop)(double*, const double*, std::size_t)) {
  using namespace omptier::exact;
  constexpr std::size_t k_count = 1000; // covers vectors of every width and a remainder
  static double from[k_count], to[k_count];
  if (g_state.load() != State::off) return; // loaded late, while accesses are counted already
  g_checker = pthread_self();
  g_loaded = g_stored = 0;
  g_state.store(State::checking);
  loop(to, from, k_count);
  g_state.store(State::off);
  const bool whole = g_loaded == 2 * sizeof from && g_stored == sizeof to;
  g_why_not = whole ? nullptr
                    : "this compiler does not instrument every access (a loop of known accesses "
                      "was counted wrong); build with clang 19";
  g_checked.store(true);
  call_ready();
}

#define OMPTIER_EXPORT __attribute__((visibility("default")))
#define OMPTIER_ACCESS(bytes)                                                                      \
  extern "C" OMPTIER_EXPORT void __asan_load##bytes##_noabort(const void* address) {               \
    note(address, bytes, false, __builtin_return_address(0));                                      \
  }                                                                                                \
  extern "C" OMPTIER_EXPORT void __asan_store##bytes##_noabort(const void* address) {              \
    note(address, bytes, true, __builtin_return_address(0));                                       \
  }
OMPTIER_ACCESS(1)
OMPTIER_ACCESS(2)
OMPTIER_ACCESS(4)
OMPTIER_ACCESS(8)
OMPTIER_ACCESS(16)

extern "C" {
OMPTIER_EXPORT void __asan_loadN_noabort(const void* address, std::size_t bytes) {
  note(address, bytes, false, __builtin_return_address(0));
}
OMPTIER_EXPORT void __asan_storeN_noabort(const void* address, std::size_t bytes) {
  note(address, bytes, true, __builtin_return_address(0));
}
OMPTIER_EXPORT void* __asan_memcpy(void* to, const void* from, std::size_t bytes) {
  if (bytes > 0) {
    const char* pc = static_cast<const char*>(__builtin_return_address(0));
    note(from, bytes, false, pc - 1); // a byte less, to distinguish the call's two accesses
    note(to, bytes, true, pc);
  }
  return std::memcpy(to, from, bytes);
}
OMPTIER_EXPORT void* __asan_memmove(void* to, const void* from, std::size_t bytes) {
  if (bytes > 0) {
    const char* pc = static_cast<const char*>(__builtin_return_address(0));
    note(from, bytes, false, pc - 1);
    note(to, bytes, true, pc);
  }
  return std::memmove(to, from, bytes);
}
OMPTIER_EXPORT void* __asan_memset(void* to, int value, std::size_t bytes) {
  if (bytes > 0) note(to, bytes, true, __builtin_return_address(0));
  return std::memset(to, value, bytes);
}
OMPTIER_EXPORT void __asan_handle_no_return() {}
}
