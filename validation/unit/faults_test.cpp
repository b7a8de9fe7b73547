// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Every operating-system call of the runtime half fails at every point in turn, from the discovery
// of the machine on, while a fixed script of 200 operations runs (faults_script.hpp): no crash, no
// wrong byte, results as OpenMP allows, sound books, nothing left. Each fault has a process of its
// own. The numbers of injected faults are printed, by call.
//
// One fault alone at every point, and at a part of the points that fault and all calls after it.
// OMPTIER_FAULTS=all takes every point for that too (the soak form).
#include "faults_script.hpp"

#include "base/os.hpp"
#include "made_up_nodes.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

using namespace omptier;

namespace {

enum Call {
  c_map,
  c_unmap,
  c_protect,
  c_advise,
  c_bind,
  c_move,
  c_perf,
  c_open,
  c_write,
  c_read,
  c_close,
  c_allocate_file,
  c_file_status,
  c_lock_file,
  c_unlink,
  c_lock,
  c_unlock,
  c_home,
  c_get_policy,
  c_set_policy,
  c_file_size,
  c_allocate_range,
  c_thread,
  c_count
};
constexpr const char* k_names[c_count] = {"mmap",
                                          "munmap",
                                          "mprotect",
                                          "madvise",
                                          "mbind",
                                          "move_pages",
                                          "perf_event_open",
                                          "open",
                                          "write",
                                          "read",
                                          "close",
                                          "fallocate",
                                          "fstat",
                                          "fcntl",
                                          "unlink",
                                          "mlock",
                                          "munlock",
                                          "set_mempolicy_home_node",
                                          "get_mempolicy",
                                          "set_mempolicy",
                                          "ftruncate",
                                          "fallocate of a range",
                                          "clone"};
static_assert(c_count * sizeof(void (*)()) == sizeof(OsCalls), "every call of the table can fail");

struct Shared { // with the processes of the faults
  long calls;   // of all kinds so far
  long failed[c_count];
  char problem[400];
};
Shared* shared = nullptr;
const OsCalls* real = nullptr;
long first_failing = -1; // number of the call that fails; negative: none
bool lasting = false;    // all after it fail too

bool fails(Call call) {
  const long now = shared->calls++;
  const bool failing =
      first_failing >= 0 && (now == first_failing || (lasting && now > first_failing));
  if (failing) ++shared->failed[call];
  return failing;
}

// The error is the one that the kernel would give most likely; of several, in turn.
template <typename R> R error(std::initializer_list<int> numbers, R result) {
  errno = numbers.begin()[first_failing % static_cast<long>(numbers.size())];
  return result;
}

OsCalls faulty_calls() {
  OsCalls calls = *real;
  calls.map = [](void* a, std::size_t b, int p, int f, int d, off_t o) {
    return fails(c_map) ? error({ENOMEM, EAGAIN}, MAP_FAILED) : real->map(a, b, p, f, d, o);
  };
  calls.unmap = [](void* a, std::size_t b) {
    return fails(c_unmap) ? error({ENOMEM}, -1) : real->unmap(a, b);
  };
  calls.protect = [](void* a, std::size_t b, int p) {
    return fails(c_protect) ? error({ENOMEM, EACCES}, -1) : real->protect(a, b, p);
  };
  calls.advise = [](void* a, std::size_t b, int advice) {
    return fails(c_advise) ? error({ENOMEM, EINVAL, EAGAIN}, -1) : real->advise(a, b, advice);
  };
  calls.bind_memory = [](void* a, std::size_t b, int m, const unsigned long* n, unsigned long l,
                         unsigned f) {
    return fails(c_bind) ? error({EPERM, EINVAL, ENOMEM, ENOSYS}, -1L)
                         : real->bind_memory(a, b, m, n, l, f);
  };
  calls.move_pages = [](int p, unsigned long c, void** a, const int* n, int* s, int f) {
    return fails(c_move) ? error({EPERM, ENOMEM, ENOSYS, E2BIG}, -1L)
                         : real->move_pages(p, c, a, n, s, f);
  };
  calls.perf_event_open = [](perf_event_attr* a, pid_t p, int c, int g, unsigned long f) {
    return fails(c_perf) ? error({EACCES, EMFILE}, -1) : real->perf_event_open(a, p, c, g, f);
  };
  calls.open = [](const char* p, int f, unsigned m) {
    return fails(c_open) ? error({EMFILE, ENOENT, EACCES}, -1) : real->open(p, f, m);
  };
  calls.write = [](int fd, const void* d, std::size_t b) {
    return fails(c_write) ? error({ENOSPC, EIO}, ssize_t{-1}) : real->write(fd, d, b);
  };
  calls.read = [](int fd, void* d, std::size_t b) {
    return fails(c_read) ? error({EIO, EINTR}, ssize_t{-1}) : real->read(fd, d, b);
  };
  calls.close = [](int fd) { // what it tells is an error of before: the number is free all the same
    const bool failing = fails(c_close);
    const int result = real->close(fd);
    return failing ? error({EIO}, -1) : result;
  };
  calls.allocate_file = [](int fd, off_t b) {
    return fails(c_allocate_file) ? error({ENOSPC}, -1) : real->allocate_file(fd, b);
  };
  calls.file_status = [](int fd, struct stat* s) {
    return fails(c_file_status) ? error({EIO}, -1) : real->file_status(fd, s);
  };
  calls.lock_file = [](int fd, int c, struct flock* r) {
    return fails(c_lock_file) ? error({ENOLCK, EAGAIN}, -1) : real->lock_file(fd, c, r);
  };
  calls.unlink = [](const char* p) {
    return fails(c_unlink) ? error({EACCES}, -1) : real->unlink(p);
  };
  calls.lock = [](void* a, std::size_t b) {
    return fails(c_lock) ? error({ENOMEM, EPERM}, -1) : real->lock(a, b);
  };
  calls.unlock = [](void* a, std::size_t b) {
    return fails(c_unlock) ? error({ENOMEM}, -1) : real->unlock(a, b);
  };
  calls.set_home_node = [](void* a, std::size_t b, unsigned n) {
    return fails(c_home) ? error({ENOSYS, EINVAL}, -1L) : real->set_home_node(a, b, n);
  };
  calls.get_policy = [](int* m, unsigned long* n, unsigned long l) {
    return fails(c_get_policy) ? error({EPERM, ENOSYS}, -1L) : real->get_policy(m, n, l);
  };
  calls.set_policy = [](int m, const unsigned long* n, unsigned long l) {
    return fails(c_set_policy) ? error({EPERM, ENOSYS}, -1L) : real->set_policy(m, n, l);
  };
  calls.set_file_size = [](int fd, off_t b) {
    return fails(c_file_size) ? error({EIO, EFBIG}, -1) : real->set_file_size(fd, b);
  };
  calls.allocate_range = [](int fd, int m, off_t o, off_t b) {
    return fails(c_allocate_range) ? error({ENOSPC, EINTR, EOPNOTSUPP}, -1)
                                   : real->allocate_range(fd, m, o, b);
  };
  calls.start_thread = [](pthread_t* t, void* (*run)(void*), void* a) {
    return fails(c_thread) ? EAGAIN : real->start_thread(t, run, a);
  };
  return calls;
}

// One process: the script with its fault. What the shared page says in the end is the verdict.
bool run_with_fault(bool more_kinds, long point, bool all_after) {
  shared->calls = 0;
  shared->problem[0] = '\0';
  std::fflush(stdout);
  const pid_t child = ::fork();
  if (child == 0) {
    ::alarm(60);
    ::setenv("KMP_WARNINGS", "0", 1);
    static OsCalls made_up, faulty;
    if (more_kinds) made_up = made_up_nodes::calls();
    if (more_kinds) replace_os_calls(&made_up);
    real = &os();
    faulty = faulty_calls();
    first_failing = point;
    lasting = all_after;
    replace_os_calls(&faulty);
    std::string problem = run_fault_script(more_kinds);
    const long calls = shared->calls;
    replace_os_calls(real);
    if (problem.empty()) problem = check_nothing_left(more_kinds);
    std::snprintf(shared->problem, sizeof shared->problem, "%s", problem.c_str());
    shared->calls = calls;
    ::_exit(problem.empty() ? 0 : 1);
  }
  int status = 0;
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  if (status == 0) return true;
  if (shared->problem[0] == '\0')
    std::snprintf(shared->problem, sizeof shared->problem, "ended with status %x", status);
  return false;
}

// step: of the points, for one fault alone. reached: calls that must be among those that failed.
void every_call_fails_in_turn(bool more_kinds, long step, std::initializer_list<Call> reached) {
  shared = static_cast<Shared*>(
      ::mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0));
  ASSERT_NE(shared, MAP_FAILED);
  ASSERT_TRUE(run_with_fault(more_kinds, -1, false)) << shared->problem;
  const long all = shared->calls;
  ASSERT_GT(all, 200);
  const char* form = std::getenv("OMPTIER_FAULTS");
  const long lasting_step = form != nullptr && std::strcmp(form, "all") == 0 ? 1 : 19;
  long runs = 0;
  int bad = 0;
  for (const bool all_after : {false, true})
    for (long point = 0; point < all && bad < 5; point += all_after ? lasting_step : step, ++runs)
      if (!run_with_fault(more_kinds, point, all_after)) {
        ++bad;
        ADD_FAILURE() << "call " << point << (all_after ? " and all after: " : ": ")
                      << shared->problem;
      }
  long sum = 0;
  std::string by_call;
  for (int call = 0; call < c_count; ++call) {
    sum += shared->failed[call];
    if (shared->failed[call] != 0)
      by_call += std::string(" ") + k_names[call] + " " + std::to_string(shared->failed[call]);
  }
  std::printf("%ld calls in the script; %ld faults injected in %ld runs:%s\n", all, sum, runs,
              by_call.c_str());
  for (const Call call : reached)
    EXPECT_GT(shared->failed[call], 0) << k_names[call] << " did not come in the script";
  ::munmap(shared, sizeof(Shared));
}

// The machine as it is: with one kind of memory on most, a smaller form of the same.
TEST(Faults, CallsFailOnThisMachine) {
  const char* form = std::getenv("OMPTIER_FAULTS");
  every_call_fails_in_turn(false, form != nullptr ? 1 : 9, {c_map, c_advise, c_open, c_close});
}

TEST(Faults, EveryCallFailsInTurn) {
  every_call_fails_in_turn(true, 1,
                           {c_map, c_unmap, c_protect, c_advise, c_move, c_open, c_write, c_read,
                            c_close, c_file_status, c_lock, c_unlock, c_file_size,
                            c_allocate_range});
}

} // namespace
