// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// See memory_areas.hpp.
#include "recorder/memory_areas.hpp"

#include "base/kernel_files.hpp"

#include <algorithm>
#include <cstdlib>
#include <link.h>
#include <pthread.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

// The loader's: where the first thread's stack begins, above its frames.
extern "C" __attribute__((weak)) void* __libc_stack_end;

namespace omptier {
namespace {

std::uintptr_t first_break() {
  char text[1024];
  const char* at = read_stat_field(-1, 47, text, sizeof text);
  return at != nullptr ? std::strtoull(at, nullptr, 10) : 0;
}

// The first thread's thread-local variables lie where the loader put them: below the thread's
// pointer, which is followed by the thread's own record.
int find_thread_data(dl_phdr_info* info, std::size_t, void* lowest) {
  constexpr std::uintptr_t k_farthest = std::uintptr_t{64} << 20;
  const auto data = reinterpret_cast<std::uintptr_t>(info->dlpi_tls_data);
  const auto thread = static_cast<std::uintptr_t>(pthread_self());
  auto& low = *static_cast<std::uintptr_t*>(lowest);
  if (data != 0 && data < thread && thread - data < k_farthest) low = std::min(low, data);
  return 0;
}

// As far down as the limit lets the stack grow: nothing else lies there that is not known better.
// False in the child of another thread.
bool log_first_stack(LogWriter& log, std::uint32_t thread, std::uint64_t now) {
  constexpr rlim_t k_farthest = rlim_t{1} << 40;
  constexpr std::uintptr_t k_arguments = std::uintptr_t{6} << 20; // and environment, above
  rlimit limit{};
  const auto here = reinterpret_cast<std::uintptr_t>(__builtin_frame_address(0));
  const auto top =
      &__libc_stack_end != nullptr ? reinterpret_cast<std::uintptr_t>(__libc_stack_end) : here;
  if (getrlimit(RLIMIT_STACK, &limit) != 0 || limit.rlim_cur > k_farthest)
    limit.rlim_cur = k_farthest;
  const std::uintptr_t bytes = std::min<std::uintptr_t>(limit.rlim_cur, top);
  if (here > top || here < top - bytes) return false;
  log.area(AreaKind::stack, thread, top - bytes, bytes + k_arguments, now);
  std::uintptr_t lowest = static_cast<std::uintptr_t>(pthread_self());
  dl_iterate_phdr(find_thread_data, &lowest);
  constexpr std::uintptr_t k_own_record = 4096;
  const std::uintptr_t end = static_cast<std::uintptr_t>(pthread_self()) + k_own_record;
  log.area(AreaKind::thread_data, thread, lowest, end - lowest, now);
  return true;
}

} // namespace

void MemoryAreas::restart(std::uint64_t now) {
  last_look_ = now;
  generation_ = 0;
  heap_begin_ = heap_end_ = 0;
  std::fill(std::begin(logged_), std::end(logged_), false);
}

bool MemoryAreas::modules_have_changed() {
  refresh_modules();
  const std::uint32_t generation = module_generation();
  if (generation == generation_) return false;
  generation_ = generation;
  for (unsigned number = 0; number < module_count(); ++number)
    if (const ModuleListUse use; use)
      identity_of(module_at(number), use);
    else
      generation_ = 0; // a fork is under way: at the next look
  return true;
}

void MemoryAreas::tell(LogWriter& log, const LoadedModule& module, std::uint64_t now) {
  bool& logged = logged_[module.number];
  logged = !logged;
  const std::uint64_t data = module.data_end - module.data_begin;
  if (logged) {
    if (module.begin < module.end)
      log.area(AreaKind::module, module.number, module.begin, module.end - module.begin,
               last_look_);
    if (data > 0) log.area(AreaKind::statics, module.number, module.data_begin, data, last_look_);
  } else {
    log.area_end(AreaKind::module, module.number, now);
    log.area_end(AreaKind::statics, module.number, now);
  }
}

void MemoryAreas::look_at_heap(LogWriter& log, std::uint64_t now) {
  constexpr std::uintptr_t k_unknown = 1;
  if (heap_begin_ == 0) heap_begin_ = std::max(first_break(), k_unknown);
  if (heap_begin_ == k_unknown) return;
  // By a system call: libraries that watch memory (UCX) replace the C library's sbrk by one that
  // sets the break even for 0, and so takes back what another thread's malloc has just got.
  const auto end = static_cast<std::uintptr_t>(syscall(SYS_brk, 0));
  if (end <= std::max(heap_begin_, heap_end_)) return;
  heap_end_ = end;
  log.area(AreaKind::heap, 0, heap_begin_, end - heap_begin_, std::min(last_look_, now));
}

void MemoryAreas::thread_begin(LogWriter& log, std::uint32_t thread) {
  const std::uint64_t now = monotonic_nanoseconds();
  if (thread == static_cast<std::uint32_t>(getpid()) && log_first_stack(log, thread, now)) return;
  pthread_attr_t attributes;
  if (pthread_getattr_np(pthread_self(), &attributes) != 0) return;
  void* stack = nullptr;
  std::size_t bytes = 0;
  if (pthread_attr_getstack(&attributes, &stack, &bytes) == 0 && bytes > 0)
    log.area(AreaKind::stack, thread, reinterpret_cast<std::uintptr_t>(stack), bytes, now);
  pthread_attr_destroy(&attributes);
}

void MemoryAreas::thread_end(LogWriter& log, std::uint32_t thread) {
  log.area_end(AreaKind::stack, thread, monotonic_nanoseconds());
}

} // namespace omptier
