// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Intercepts mmap, munmap and mremap for `omptier record`. The C library's own mappings do not come
// here; those of another malloc belong to that malloc. A mapping that moves or grows is a new one,
// like a block after realloc. Only successful calls are reported. Until the library starts, the
// functions are system calls, because the first calls may come from the loader.
#include "preload/mmap.hpp"

#include "base/rounding.hpp"
#include "preload/blocks.hpp"
#include "preload/library.hpp"
#include "preload/next.hpp"
#include "preload/next_malloc.hpp"
#include "preload/recording.hpp"

#include <cerrno>
#include <cstdarg>
#include <dlfcn.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace omptier::preload {
namespace {

void* kernel_mmap(void* address, std::size_t bytes, int protection, int flags, int fd,
                  off_t offset) {
  return reinterpret_cast<void*>(
      ::syscall(SYS_mmap, address, bytes, protection, flags, fd, offset));
}
int kernel_munmap(void* address, std::size_t bytes) {
  return static_cast<int>(::syscall(SYS_munmap, address, bytes));
}
void* kernel_mremap(void* address, std::size_t old_bytes, std::size_t bytes, int flags, ...) {
  va_list arguments;
  va_start(arguments, flags);
  void* wanted = (flags & MREMAP_FIXED) != 0 ? va_arg(arguments, void*) : nullptr;
  va_end(arguments);
  return reinterpret_cast<void*>(::syscall(SYS_mremap, address, old_bytes, bytes, flags, wanted));
}

constinit NextMmap g_next_mmap = {kernel_mmap, kernel_munmap, kernel_mremap};

// The library that serves malloc, when that is not the C library. Its mappings are not reported: it
// holds its own locks meanwhile, for which our allocations wait while holding ours.
constinit AddressRange g_allocator;

const omptier_malloc_record* record_for_mapping() {
  const omptier_malloc_record* record = g_record.load(std::memory_order_acquire);
  return record != nullptr && !Busy::now() ? record : nullptr;
}

// Number of mappings reported so far. As soon as the addresses are free, another thread may map
// them and report that before this thread reports the unmapping.
std::uint64_t moment() {
  const omptier_malloc_record* record = record_for_mapping();
  return record != nullptr ? record->mappings_reported() : 0;
}

void report_unmapped(const void* address, std::size_t bytes, std::uint64_t before) {
  if (const omptier_malloc_record* record = record_for_mapping()) {
    const KeepErrno keep;
    const Busy busy;
    record->unmapped(address, round_up(bytes, page()), before);
  }
}

void report_mapped(const void* address, std::size_t bytes, const void* caller) {
  const omptier_malloc_record* record = record_for_mapping();
  if (record == nullptr) return;
  const KeepErrno keep;
  const Busy busy;
  if (!g_allocator.holds(caller)) record->mapped(address, round_up(bytes, page()), caller);
}

void* map(void* address, std::size_t bytes, int protection, int flags, int fd, off_t offset,
          const void* caller) {
  void* result = g_next_mmap.mmap(address, bytes, protection, flags, fd, offset);
  if (result != MAP_FAILED) report_mapped(result, bytes, caller);
  return result;
}

} // namespace

NextMmap next_mmap() {
  NextMmap next = g_next_mmap;
  look_up(next.mmap, "mmap");
  look_up(next.munmap, "munmap");
  look_up(next.mremap, "mremap");
  return next;
}

void watch_mappings() {
  g_next_mmap = next_mmap();
  const AddressRange allocator = library_around(reinterpret_cast<const void*>(g_next.malloc));
  if (!allocator.holds(reinterpret_cast<const void*>(g_next_mmap.mmap))) g_allocator = allocator;
}

} // namespace omptier::preload

using namespace omptier::preload;

OMPTIER_EXPORT void* mmap(void* address, std::size_t bytes, int protection, int flags, int fd,
                          off_t offset) {
  if (g_record.load(std::memory_order_relaxed) == nullptr) [[likely]]
    return g_next_mmap.mmap(address, bytes, protection, flags, fd, offset);
  return map(address, bytes, protection, flags, fd, offset, __builtin_return_address(0));
}

OMPTIER_EXPORT void* mmap64(void* address, std::size_t bytes, int protection, int flags, int fd,
                            off_t offset) {
  if (g_record.load(std::memory_order_relaxed) == nullptr) [[likely]]
    return g_next_mmap.mmap(address, bytes, protection, flags, fd, offset);
  return map(address, bytes, protection, flags, fd, offset, __builtin_return_address(0));
}

OMPTIER_EXPORT int munmap(void* address, std::size_t bytes) {
  if (g_record.load(std::memory_order_relaxed) == nullptr ||
      g_allocator.holds(__builtin_return_address(0)))
    return g_next_mmap.munmap(address, bytes);
  const std::uint64_t before = moment();
  const int result = g_next_mmap.munmap(address, bytes);
  if (result == 0) report_unmapped(address, bytes, before);
  return result;
}

OMPTIER_EXPORT void* mremap(void* address, std::size_t old_bytes, std::size_t bytes, int flags,
                            ...) {
  va_list arguments;
  va_start(arguments, flags);
  void* wanted =
      (flags & (MREMAP_FIXED | MREMAP_DONTUNMAP)) != 0 ? va_arg(arguments, void*) : nullptr;
  va_end(arguments);
  if (g_record.load(std::memory_order_relaxed) == nullptr ||
      g_allocator.holds(__builtin_return_address(0)))
    return g_next_mmap.mremap(address, old_bytes, bytes, flags, wanted);
  const std::uint64_t before = moment();
  void* result = g_next_mmap.mremap(address, old_bytes, bytes, flags, wanted);
  if (result == MAP_FAILED) return result;
  if (old_bytes > 0 && (flags & MREMAP_DONTUNMAP) == 0) report_unmapped(address, old_bytes, before);
  report_mapped(result, bytes, __builtin_return_address(0));
  return result;
}
