// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The table of operating-system calls for Linux, and a few facts of the machine from /sys. mbind
// and move_pages are called directly: libnuma would add only a constructor.
#include "base/os.hpp"

#include "base/kernel_files.hpp"

#include <atomic>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <fcntl.h>
#include <linux/perf_event.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

// Defined only in a process that runs with a sanitizer.
extern "C" {
__attribute__((weak)) void __asan_init();
__attribute__((weak)) void __tsan_init();
__attribute__((weak)) void __msan_init();
}

namespace omptier {
namespace {

// Our own mappings bypass libc's mmap, which libomptier_preload.so intercepts to record the
// program's. Not under a sanitizer, because it must know all memory.
bool goes_to_the_kernel() {
#if defined(__x86_64__) || defined(__aarch64__)
  return __asan_init == nullptr && __tsan_init == nullptr && __msan_init == nullptr;
#else
  return false;
#endif
}

void* sys_map(void* address, std::size_t bytes, int protection, int flags, int fd, off_t offset) {
  if (!goes_to_the_kernel()) return ::mmap(address, bytes, protection, flags, fd, offset);
  return reinterpret_cast<void*>(
      ::syscall(SYS_mmap, address, bytes, protection, flags, fd, offset));
}
int sys_unmap(void* address, std::size_t bytes) {
  if (!goes_to_the_kernel()) return ::munmap(address, bytes);
  return static_cast<int>(::syscall(SYS_munmap, address, bytes));
}
int sys_protect(void* address, std::size_t bytes, int protection) {
  return ::mprotect(address, bytes, protection);
}
int sys_advise(void* address, std::size_t bytes, int advice) {
  return ::madvise(address, bytes, advice);
}
long sys_bind(void* address, std::size_t bytes, int mode, const unsigned long* nodes,
              unsigned long node_limit, unsigned flags) {
  return ::syscall(SYS_mbind, address, bytes, mode, nodes, node_limit, flags);
}
long sys_move(int pid, unsigned long count, void** pages, const int* nodes, int* status,
              int flags) {
  return ::syscall(SYS_move_pages, pid, count, pages, nodes, status, flags);
}
int sys_perf(perf_event_attr* attributes, pid_t pid, int cpu, int group_fd, unsigned long flags) {
  return static_cast<int>(::syscall(SYS_perf_event_open, attributes, pid, cpu, group_fd, flags));
}
// Some of the next are cancellation points, but malloc, which calls them, must not be one.
int sys_open(const char* path, int flags, unsigned mode) {
  const NotCancelled meanwhile;
  return ::open(path, flags, mode);
}
ssize_t sys_write(int fd, const void* data, std::size_t bytes) {
  const NotCancelled meanwhile;
  return ::write(fd, data, bytes);
}
ssize_t sys_read(int fd, void* data, std::size_t bytes) {
  const NotCancelled meanwhile;
  return ::read(fd, data, bytes);
}
int sys_close(int fd) {
  const NotCancelled meanwhile;
  return ::close(fd);
}
int sys_allocate_file(int fd, off_t bytes) {
  const NotCancelled meanwhile;
  return ::fallocate(fd, 0, 0, bytes);
}
int sys_file_status(int fd, struct stat* status) {
  return ::fstat(fd, status);
}
int sys_lock_file(int fd, int command, struct flock* range) {
  return ::fcntl(fd, command, range);
}
int sys_unlink(const char* path) {
  return ::unlink(path);
}
int sys_lock(void* address, std::size_t bytes) {
  return ::mlock(address, bytes);
}
int sys_unlock(void* address, std::size_t bytes) {
  return ::munlock(address, bytes);
}

int sys_set_file_size(int fd, off_t bytes) {
  return ::ftruncate(fd, bytes);
}
int sys_allocate_range(int fd, int mode, off_t offset, off_t bytes) {
  const NotCancelled meanwhile;
  return ::fallocate(fd, mode, offset, bytes);
}
#ifndef SYS_set_mempolicy_home_node
#define SYS_set_mempolicy_home_node 450 // on every architecture
#endif
long sys_set_home(void* address, std::size_t bytes, unsigned node) {
  return ::syscall(SYS_set_mempolicy_home_node, address, bytes, node, 0);
}
long sys_get_policy(int* mode, unsigned long* nodes, unsigned long node_limit) {
  return ::syscall(SYS_get_mempolicy, mode, nodes, node_limit, nullptr, 0);
}
long sys_set_policy(int mode, const unsigned long* nodes, unsigned long node_limit) {
  return ::syscall(SYS_set_mempolicy, mode, nodes, node_limit);
}

int sys_start_thread(pthread_t* thread, void* (*run)(void*), void* argument) {
  return ::pthread_create(thread, nullptr, run, argument);
}

constexpr OsCalls k_linux = {
    sys_map,           sys_unmap,          sys_protect,     sys_advise,     sys_bind,
    sys_move,          sys_perf,           sys_open,        sys_write,      sys_read,
    sys_close,         sys_allocate_file,  sys_file_status, sys_lock_file,  sys_unlink,
    sys_lock,          sys_unlock,         sys_set_home,    sys_get_policy, sys_set_policy,
    sys_set_file_size, sys_allocate_range, sys_start_thread};
std::atomic<const OsCalls*> calls{&k_linux};

std::size_t read_huge_page_size() {
  char text[64];
  read_small_file("/sys/kernel/mm/transparent_hugepage/enabled", text, sizeof text);
  if (text[0] == '\0' || std::strstr(text, "[never]") != nullptr) return 0;
  read_small_file("/sys/kernel/mm/transparent_hugepage/hpage_pmd_size", text, sizeof text);
  return std::strtoull(text, nullptr, 10);
}

} // namespace

const OsCalls& os() {
  return *calls.load(std::memory_order_relaxed);
}

const OsCalls* replace_os_calls(const OsCalls* replacement) {
  return calls.exchange(replacement != nullptr ? replacement : &k_linux);
}

std::size_t page_size() {
  static const std::size_t size = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
  return size;
}

std::size_t huge_page_size() {
  static const std::size_t size = read_huge_page_size();
  return size;
}

namespace {
std::uint64_t nanoseconds_of(clockid_t clock) {
  timespec now{};
  ::clock_gettime(clock, &now);
  return static_cast<std::uint64_t>(now.tv_sec) * 1'000'000'000u +
         static_cast<std::uint64_t>(now.tv_nsec);
}
} // namespace

int move_up(int fd) {
  constexpr int k_lowest = 240;
  const int high = ::fcntl(fd, F_DUPFD_CLOEXEC, k_lowest);
  if (high < 0) return fd;
  os().close(fd);
  return high;
}

std::uint64_t monotonic_nanoseconds() {
  return nanoseconds_of(CLOCK_MONOTONIC);
}

std::uint64_t own_cpu_nanoseconds() {
  return nanoseconds_of(CLOCK_THREAD_CPUTIME_ID);
}

std::uint64_t coarse_nanoseconds() {
  return nanoseconds_of(CLOCK_MONOTONIC_COARSE);
}

} // namespace omptier
