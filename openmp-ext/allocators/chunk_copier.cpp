// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// See chunk_copier.hpp. Waits on futex words: pthread condition variables would have to be
// initialised again after fork, and waiting for them is a point of cancellation.
#include "allocators/chunk_copier.hpp"

#include "base/os.hpp"
#include "placement/own_threads.hpp"

#include <algorithm>
#include <climits>
#include <cstring>
#include <ctime>
#include <linux/futex.h>
#include <mutex>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>
#if defined(__x86_64__)
#include <emmintrin.h>
#endif

namespace omptier {
namespace {

// Bytes of a piece: a fork waits for so much, and the end of a job for a part of it.
constexpr std::size_t k_piece = 256 << 10;

constinit std::mutex gate;          // no piece begins while it is held
std::atomic<unsigned> under_way{0}; // pieces
// Of these, this thread's: it may fork in a signal handler.
__attribute__((tls_model("initial-exec"))) thread_local constinit unsigned t_under_way = 0;

void wait_on(std::atomic<std::uint32_t>& word, std::uint32_t value) {
  syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, value, nullptr, nullptr, 0);
}
void wake_all(std::atomic<std::uint32_t>& word) {
  syscall(SYS_futex, &word, FUTEX_WAKE_PRIVATE, INT_MAX, nullptr, nullptr, 0);
}

// The array's memory is the slow one: stores past the caches do not read its lines first.
void copy_past_caches(char* to, const char* from, std::size_t bytes) {
#if defined(__x86_64__)
  constexpr std::size_t k_store = sizeof(__m128i);
  const std::size_t head =
      std::min(bytes, (k_store - reinterpret_cast<std::uintptr_t>(to) % k_store) % k_store);
  std::memcpy(to, from, head);
  for (to += head, from += head, bytes -= head; bytes >= k_store;
       to += k_store, from += k_store, bytes -= k_store)
    _mm_stream_si128(reinterpret_cast<__m128i*>(to),
                     _mm_loadu_si128(reinterpret_cast<const __m128i*>(from)));
  std::memcpy(to, from, bytes);
  _mm_sfence();
#else
  std::memcpy(to, from, bytes);
#endif
}

void copy_in(char* to, const char* from, std::size_t bytes) {
  std::memcpy(to, from, bytes);
}

// Rows [first, last) of the buffer, as far as the chunk has them.
template <typename Copy>
void copy_rows(const ChunkJob& job, const ChunkRows& chunk, std::size_t first, std::size_t last,
               Copy&& copy) {
  first = std::max(first, chunk.buffer_row);
  last = std::min(last, chunk.buffer_row + chunk.rows);
  if (first >= last) return;
  char* in_array = chunk.array + (first - chunk.buffer_row) * job.stride;
  char* in_buffer = job.buffer + first * job.pitch;
  if (chunk.bytes == job.pitch && chunk.bytes == job.stride)
    return copy(in_array, in_buffer, (last - first) * chunk.bytes);
  for (std::size_t row = first; row < last; ++row, in_array += job.stride, in_buffer += job.pitch)
    copy(in_array, in_buffer, chunk.bytes);
}

} // namespace

unsigned ChunkCopier::start(unsigned threads, std::span<const unsigned> near) {
  process_ = ::getpid();
  if (cpu_set_t processors; processors_of_process(processors)) {
    for (const unsigned cpu : near)
      if (cpu < CPU_SETSIZE && CPU_ISSET(cpu, &processors)) CPU_SET(cpu, &allowed_);
    if (CPU_COUNT(&allowed_) == 0) allowed_ = processors;
  }
  count_ = start_own_threads(threads_, std::min(threads, k_most_copiers), &ChunkCopier::run, this);
  return count_;
}

void ChunkCopier::stop() {
  finish();
  stop_.store(true);
  jobs_.fetch_add(1);
  wake_all(jobs_);
  for (unsigned i = 0; i < count_; ++i)
    pthread_join(threads_[i], nullptr);
  count_ = 0;
}

void ChunkCopier::begin(const ChunkJob& job) {
  job_ = job;
  rows_each_ = std::max<std::size_t>(k_piece / std::max<std::size_t>(job.pitch, 1), 1);
  const std::size_t pieces = (job.rows + rows_each_ - 1) / rows_each_;
  if (job.back.rows == 0 && job.in.rows == 0) return;
  undone_.store(static_cast<std::uint32_t>(pieces));
  left_.store(static_cast<std::uint32_t>(pieces), std::memory_order_release);
  if (count_ == 0) return;
  jobs_.fetch_add(1);
  wake_all(jobs_);
}

void ChunkCopier::finish() {
  notice_fork();
  while (copy_piece()) {
  }
  for (std::uint32_t undone; (undone = undone_.load(std::memory_order_acquire)) != 0;)
    wait_on(undone_, undone);
}

// In a child whose fork handlers did not run, pieces may have been under way: they are lost.
void ChunkCopier::notice_fork() {
  const pid_t process = ::getpid();
  if (process == process_) return;
  process_ = process;
  count_ = 0;
  undone_.store(left_.load());
}

// False: none was left.
bool ChunkCopier::copy_piece() {
  {
    const std::lock_guard guard(gate);
    under_way.fetch_add(1);
    ++t_under_way;
  }
  // Counted down: whoever takes one knows that the job it belongs to is set up.
  std::uint32_t left = left_.load(std::memory_order_acquire);
  while (left != 0 && !left_.compare_exchange_weak(left, left - 1, std::memory_order_acq_rel)) {
  }
  if (left != 0) {
    const std::size_t first = (left - 1) * rows_each_;
    const std::size_t last = std::min(first + rows_each_, job_.rows);
    copy_rows(job_, job_.back, first, last, [](char* array, char* buffer, std::size_t bytes) {
      copy_past_caches(array, buffer, bytes);
    });
    copy_rows(job_, job_.in, first, last,
              [](char* array, char* buffer, std::size_t bytes) { copy_in(buffer, array, bytes); });
    if (undone_.fetch_sub(1, std::memory_order_acq_rel) == 1) wake_all(undone_);
  }
  --t_under_way;
  under_way.fetch_sub(1);
  return left != 0;
}

void* ChunkCopier::run(void* self) {
  static_cast<ChunkCopier*>(self)->work();
  return nullptr;
}

void ChunkCopier::work() {
  if (CPU_COUNT(&allowed_) != 0) sched_setaffinity(0, sizeof allowed_, &allowed_);
  pthread_setname_np(pthread_self(), "omptier");
  for (;;) {
    const std::uint32_t jobs = jobs_.load(); // read first, so that no later job is missed
    if (stop_.load()) return;
    if (!copy_piece()) wait_on(jobs_, jobs);
  }
}

void hold_chunk_copies() {
  gate.lock();
  while (under_way.load() > t_under_way) {
    const timespec pause{0, 50'000};
    syscall(SYS_nanosleep, &pause, nullptr); // the C library's is a point of cancellation
  }
}

void go_on_with_chunk_copies() {
  gate.unlock();
}

} // namespace omptier
