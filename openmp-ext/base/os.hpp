// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Every operating-system call that can fail, behind one table of function pointers:
// `os().name(...)`. Tests install a table that injects faults. Calls return what the kernel
// returns: -1 and errno, or MAP_FAILED.
#pragma once

#include <cstddef>
#include <cstdint>
#include <pthread.h>
#include <sched.h>
#include <sys/types.h>

struct flock;
struct perf_event_attr;
struct stat;

namespace omptier {

struct OsCalls {
  void* (*map)(void* address, std::size_t bytes, int protection, int flags, int fd, off_t offset);
  int (*unmap)(void* address, std::size_t bytes);
  int (*protect)(void* address, std::size_t bytes, int protection);
  int (*advise)(void* address, std::size_t bytes, int advice);
  long (*bind_memory)(void* address, std::size_t bytes, int mode, const unsigned long* nodes,
                      unsigned long node_limit, unsigned flags); // mbind
  long (*move_pages)(int pid, unsigned long count, void** pages, const int* nodes, int* status,
                     int flags);
  int (*perf_event_open)(perf_event_attr* attributes, pid_t pid, int cpu, int group_fd,
                         unsigned long flags);
  int (*open)(const char* path, int flags, unsigned mode);
  ssize_t (*write)(int fd, const void* data, std::size_t bytes);
  ssize_t (*read)(int fd, void* data, std::size_t bytes);
  int (*close)(int fd);
  int (*allocate_file)(int fd, off_t bytes); // fallocate from 0: no page is missing later
  int (*file_status)(int fd, struct stat* status);
  int (*lock_file)(int fd, int command, struct flock* range); // fcntl: F_OFD_SETLK, F_OFD_GETLK
  int (*unlink)(const char* path);
  int (*lock)(void* address, std::size_t bytes);                          // mlock
  int (*unlock)(void* address, std::size_t bytes);                        // munlock
  long (*set_home_node)(void* address, std::size_t bytes, unsigned node); // Linux 5.17
  long (*get_policy)(int* mode, unsigned long* nodes, unsigned long node_limit);
  long (*set_policy)(int mode, const unsigned long* nodes, unsigned long node_limit);
  int (*set_file_size)(int fd, off_t bytes);                                   // ftruncate
  int (*allocate_range)(int fd, int mode, off_t offset, off_t bytes);          // fallocate
  int (*start_thread)(pthread_t* thread, void* (*run)(void*), void* argument); // an errno number
};

// Never null. replace_os_calls returns the previous one (tests only, one thread).
const OsCalls& os();
const OsCalls* replace_os_calls(const OsCalls* calls);

// malloc and omp_alloc are no points where a thread may be cancelled: it would end with our locks
// held. Neither is what they call while one of these lives.
class NotCancelled {
public:
  NotCancelled() { ::pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &before_); }
  ~NotCancelled() { ::pthread_setcancelstate(before_, nullptr); }
  NotCancelled(const NotCancelled&) = delete;
  NotCancelled& operator=(const NotCancelled&) = delete;

private:
  int before_ = PTHREAD_CANCEL_ENABLE;
};

// Moves one of our descriptors to 240 or above, because some programs rely on the lowest free
// numbers. Returns the given one if there is no room.
int move_up(int fd);

// Facts of the machine, read once.
std::size_t page_size();
std::size_t huge_page_size(); // 0 when transparent huge pages are off

// 0 where the kernel does not say.
inline unsigned current_cpu() {
  const int cpu = ::sched_getcpu();
  return cpu >= 0 ? static_cast<unsigned>(cpu) : 0;
}

// CLOCK_MONOTONIC: the time base of profiles and reports.
std::uint64_t monotonic_nanoseconds();
std::uint64_t own_cpu_nanoseconds();
// Some milliseconds late but cheaper: to check that an interval is over.
std::uint64_t coarse_nanoseconds();

} // namespace omptier
