// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Copies chunks of an array into buffers and back while the program computes. A job is cut into
// pieces: rows of the buffer, from which the old chunk is written back and into which the new one
// is then read. Whoever is free takes the next piece: threads of ours, and the program's thread
// once it needs the chunk. So a job ends without threads of ours, too (none could be started, a
// forked child). A fork waits until no piece is under way.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <pthread.h>
#include <sched.h>
#include <span>
#include <sys/types.h>

namespace omptier {

inline constexpr unsigned k_most_copiers = 64;

// Rows of one chunk, in the array and at their place in the buffer.
struct ChunkRows {
  char* array = nullptr;      // first byte of the first row that is copied
  std::size_t buffer_row = 0; // where that row lies
  std::size_t rows = 0;       // 0: nothing is copied
  std::size_t bytes = 0;      // of each row
};

struct ChunkJob {
  char* buffer = nullptr;
  std::size_t pitch = 0;  // bytes from row to row of the buffer,
  std::size_t stride = 0; // of the array
  std::size_t rows = 0;   // of the buffer
  ChunkRows back, in;
};

class ChunkCopier {
public:
  // Starts so many threads; returns how many there are. near: the processors that they may use, as
  // far as the process may; none: all of its.
  unsigned start(unsigned threads, std::span<const unsigned> near);
  // Finishes the job, ends the threads.
  void stop();
  // The job before must have ended.
  void begin(const ChunkJob& job);
  // Copies what is left of the job, and waits for what threads of ours have under way.
  void finish();
  // Whether a job has pieces that are not done.
  bool is_busy() const { return undone_.load(std::memory_order_acquire) != 0; }

private:
  static void* run(void* self);
  void work();
  bool copy_piece();
  void notice_fork();

  ChunkJob job_;
  std::size_t rows_each_ = 1;            // of a piece
  std::atomic<std::uint32_t> left_{0};   // pieces that nobody has taken yet
  std::atomic<std::uint32_t> undone_{0}; // futex: pieces not done
  std::atomic<std::uint32_t> jobs_{0};   // futex: how many there were
  std::atomic<bool> stop_{false};
  pthread_t threads_[k_most_copiers];
  unsigned count_ = 0;
  cpu_set_t allowed_{}; // none: as inherited
  pid_t process_ = 0;
};

// Held during a fork.
void hold_chunk_copies();
void go_on_with_chunk_copies();

} // namespace omptier
