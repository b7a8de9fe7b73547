// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Without a plan, start-up costs a few look-ups in the environment. libomptier.so stays loaded and
// its table in use to the very end, since blocks are freed even after the last destructors.
#include "preload/library.hpp"

#include "base/warnings_wanted.hpp"
#include "preload/blocks.hpp"
#include "preload/placed_small.hpp"
#include "preload/recording.hpp"

#include <algorithm>
#include <atomic>
#include <climits>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <link.h>
#include <pthread.h>
#include <sys/auxv.h>
#include <unistd.h>

namespace omptier::preload {
namespace {

constinit std::atomic<const omptier_malloc*> g_library{nullptr};
constinit std::atomic<void*> g_handle{nullptr};
pthread_once_t g_loading = PTHREAD_ONCE_INIT;
pid_t g_started_in = 0;

void print_warning(const char* text) {
  if (!warnings_wanted()) return;
  [[maybe_unused]] const ssize_t written = ::write(STDERR_FILENO, text, std::strlen(text));
}

// The forking thread holds the library's locks until both processes go on.
void before_fork() {
  Busy::enter();
  placed_small::before_fork();
}
void after_fork() {
  placed_small::after_fork();
  Busy::leave();
}

void load() {
  if (::getauxval(AT_SECURE) != 0) return;
  const Busy busy;
  void* handle = open_beside("libomptier.so");
  const auto* table =
      attach<omptier_malloc>(handle, "omptier_malloc_attach", OMPTIER_MALLOC_VERSION);
  if (table == nullptr) {
    print_warning("OMP: Warning #5101: libomptier.so is not beside libomptier_preload.so, or is of "
                  "another version: memory is not placed.\n");
    return;
  }
  // After the library's own handlers: at a fork these run before them, later behind them.
  ::pthread_atfork(before_fork, after_fork, after_fork);
  g_handle.store(handle, std::memory_order_relaxed);
  g_library.store(table, std::memory_order_release);
}

bool is_set(const char* name) {
  const char* text = std::getenv(name);
  return text != nullptr && *text != '\0';
}

// Includes what a plan places already.
void record_everything() {
  if (!start_recording()) return;
  watch_everything();
  watch_placed_blocks();
}

// Runs after the libraries that this process was started with, before main.
__attribute__((constructor)) void start() {
  next_sigaction(); // looked up now: programs call them where no look-up is possible
  next_signal();
  next_register_atfork();
  const bool later = start_recording_when_checked(record_everything);
  const bool recording = later || start_recording();
  if (recording && !later) watch_everything();
  const bool placing =
      is_set("OMPTIER_PLAN") || is_set("OMPTIER_STRATEGY") || is_set("OMPTIER_SITES");
  const omptier_malloc* table = placing ? library() : nullptr;
  if (table == nullptr) return recording ? void() : leave_malloc_alone();
  g_started_in = ::getpid();
  {
    const Busy busy;
    table->start();
  }
  if (recording) watch_placed_blocks(); // from the first on, not from the OpenMP runtime's start
  if (table->wants != 0)
    start_placing(table, recording);
  else if (!recording)
    leave_malloc_alone();
}

__attribute__((destructor)) void end() {
  end_recording();
  const omptier_malloc* table = g_library.load(std::memory_order_acquire);
  if (table == nullptr || g_started_in != ::getpid()) return;
  const Busy busy;
  table->end();
}

} // namespace

// The OpenMP runtime or the program may have loaded another copy of libomptier.so: it is the same
// file, so the loader returns the same library.
void* open_beside(const char* name) {
  Dl_info self;
  char path[PATH_MAX + 64];
  if (::dladdr(reinterpret_cast<const void*>(&open_beside), &self) == 0 ||
      self.dli_fname == nullptr || ::realpath(self.dli_fname, path) == nullptr)
    return nullptr;
  char* folder_end = std::strrchr(path, '/');
  if (folder_end == nullptr || std::strlen(name) >= 64) return nullptr;
  std::strcpy(folder_end + 1, name);
  return ::dlopen(path, RTLD_NOW | RTLD_LOCAL);
}

AddressRange library_around(const void* address) {
  struct Search {
    std::uintptr_t address;
    AddressRange found;
  } search{reinterpret_cast<std::uintptr_t>(address), {}};
  const auto look = [](dl_phdr_info* info, std::size_t, void* argument) {
    auto& wanted = *static_cast<Search*>(argument);
    AddressRange range{UINTPTR_MAX, 0, info->dlpi_name};
    for (unsigned i = 0; i < info->dlpi_phnum; ++i) {
      const ElfW(Phdr)& segment = info->dlpi_phdr[i];
      if (segment.p_type != PT_LOAD) continue;
      const std::uintptr_t begin = info->dlpi_addr + segment.p_vaddr;
      range.begin = std::min(range.begin, begin);
      range.end = std::max(range.end, begin + segment.p_memsz);
    }
    if (wanted.address < range.begin || wanted.address >= range.end) return 0;
    wanted.found = range;
    return 1;
  };
  ::dl_iterate_phdr(look, &search);
  return search.found;
}

const omptier_malloc* library() {
  const omptier_malloc* table = g_library.load(std::memory_order_acquire);
  if (table != nullptr) return table;
  ::pthread_once(&g_loading, load);
  return g_library.load(std::memory_order_acquire);
}

void* library_function(const char* name) {
  return library() != nullptr ? ::dlsym(g_handle.load(std::memory_order_relaxed), name) : nullptr;
}

} // namespace omptier::preload
