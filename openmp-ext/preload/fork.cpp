// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// OMPTier's fork handlers are the last before a fork and the first after it, as the C library's own
// locks are. Other handlers may wait for threads (OpenBLAS joins its workers), which wait for our
// locks when they allocate or end. Handlers run in the order of registration, so one set is
// registered before any other of the process, and calls those that our libraries register.
#include "preload/library.hpp"
#include "preload/next.hpp"

#include <atomic>
#include <cerrno>
#include <cstring>
#include <sched.h>

namespace omptier::preload {

// What pthread_atfork calls, which is linked into every program and library.
constinit Next<RegisterAtFork> next_register_atfork{"__register_atfork"};

namespace {

struct Handlers {
  void (*prepare)() = nullptr;
  void (*parent)() = nullptr;
  void (*child)() = nullptr;
};
constexpr unsigned k_most = 8;
constinit Handlers g_ours[k_most];
constinit std::atomic<unsigned> g_count{0};
// How many handlers the forking thread has called: others may be registered meanwhile.
__attribute__((tls_model("initial-exec"))) thread_local constinit unsigned t_called = 0;

void prepare() {
  t_called = g_count.load(std::memory_order_acquire);
  for (unsigned i = t_called; i-- > 0;)
    if (g_ours[i].prepare != nullptr) g_ours[i].prepare();
}
void resume(void (*Handlers::*handler)()) {
  for (unsigned i = 0; i < t_called; ++i)
    if (g_ours[i].*handler != nullptr) (g_ours[i].*handler)();
}

bool is_ours(const Handlers& handlers) {
  void (*any)() = handlers.prepare != nullptr ? handlers.prepare : handlers.parent;
  if (any == nullptr) any = handlers.child;
  const char* name = library_around(reinterpret_cast<const void*>(any)).name;
  const char* slash = std::strrchr(name, '/');
  constexpr char k_ours[] = "libomptier";
  return std::strncmp(slash != nullptr ? slash + 1 : name, k_ours, sizeof k_ours - 1) == 0;
}

// No pthread_mutex_t or pthread_once: a sanitizer registers handlers before it can serve these.
bool add_ours(const Handlers& handlers) {
  static constinit std::atomic<bool> lock{false};
  while (lock.exchange(true, std::memory_order_acquire))
    ::sched_yield();
  const unsigned count = g_count.load(std::memory_order_relaxed);
  if (count < k_most) {
    g_ours[count] = handlers;
    g_count.store(count + 1, std::memory_order_release);
  }
  lock.store(false, std::memory_order_release);
  return count < k_most;
}

void register_first() {
  next_register_atfork()(
      prepare, [] { resume(&Handlers::parent); }, [] { resume(&Handlers::child); }, nullptr);
}

} // namespace
} // namespace omptier::preload

using namespace omptier::preload;

OMPTIER_EXPORT int __register_atfork(void (*prepare)(), void (*parent)(), void (*child)(),
                                     void* library) {
  static constinit std::atomic<bool> registered{false};
  const auto next = next_register_atfork();
  if (next == nullptr) return ENOMEM;
  if (!registered.exchange(true)) register_first();
  const Handlers handlers{prepare, parent, child};
  if (is_ours(handlers) && add_ours(handlers)) return 0;
  return next(prepare, parent, child, library);
}
