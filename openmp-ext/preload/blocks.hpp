// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// How malloc.cpp treats blocks that may concern OMPTier: those from k_least_bytes on, and those
// within the bounds of all blocks that we ever handed out. Other blocks never come here.
#pragma once

#include "borders/malloc_placement.h"

#include <atomic>
#include <cerrno>
#include <cstddef>
#include <cstdint>

namespace omptier::preload {

inline constexpr std::size_t k_least_bytes = OMPTIER_MALLOC_LEAST_LARGE;

// Blocks of at least this size come here; 0 when all are recorded (preload/recording.hpp), less
// when a plan places small ones (preload/placed_small.hpp).
extern __attribute__((visibility("hidden"))) std::atomic<std::size_t> g_least_bytes;
inline bool is_small(std::size_t bytes) {
  return bytes < g_least_bytes.load(std::memory_order_relaxed);
}

// Every block of ours lies in [low, high). Both bounds only ever move outwards, so a thread that
// has a block sees bounds that contain it. Empty at first.
struct Bounds {
  std::atomic<std::uintptr_t> low{~std::uintptr_t{0}};
  std::atomic<std::uintptr_t> high{0};
};
extern __attribute__((visibility("hidden"))) Bounds g_bounds;

inline bool may_be_ours(const void* block) {
  const auto at = reinterpret_cast<std::uintptr_t>(block);
  return at >= g_bounds.low.load(std::memory_order_relaxed) &&
         at < g_bounds.high.load(std::memory_order_relaxed);
}
void cover(const void* block, std::size_t bytes);

// While glibc's malloc serves everything: a smaller value in its word before a block (the size and
// three flags) means that the block is too small to be recorded. 0 = unknown, or not glibc's.
extern __attribute__((visibility("hidden"))) std::atomic<std::size_t> g_least_header;
inline bool is_short(const void* block) {
  const std::size_t least = g_least_header.load(std::memory_order_relaxed);
  return least != 0 && block != nullptr && static_cast<const std::size_t*>(block)[-1] < least;
}

// Bytes of a block of the program's malloc; 0 = unknown.
std::size_t next_size(void* block);

// Null: the program's malloc serves the block. alignment 0 = malloc's own.
void* place(std::size_t bytes, std::size_t alignment, bool zeroed, const void* caller);
// Reports a block of the program's malloc to observers and recorder; returns it.
void* served(void* block, std::size_t bytes, const void* caller);
void* resize(void* block, std::size_t bytes, const void* caller);
// free, for blocks within the bounds.
void give_back(void* block);
// Bytes of a block of ours; 0: it is not ours.
std::size_t size_of_ours(const void* block);
// Whether a block of ours has room for so many bytes where it is, and now has that size.
bool stays_in_place(void* block, std::size_t bytes);
// malloc_usable_size, for blocks within the bounds.
std::size_t usable_size(void* block);

// libomptier.so will never be used: malloc becomes the program's own again (malloc.cpp).
void leave_malloc_alone();
// There will be blocks of ours: free looked up by the handle of the next malloc's library becomes
// ours (malloc.cpp). Called before main.
void take_blocks_by_handle();
// recording: the program is or will be recorded.
void start_placing(const omptier_malloc* table, bool recording);
// Every block is reported and every free checked from now on.
void watch_everything();
// While one exists, the program's malloc serves this thread, and blocks of ours that it frees are
// freed later: the thread is inside libomptier.so, or holds its locks for a fork.
class Busy {
public:
  Busy() { ++depth_; }
  ~Busy() { --depth_; }
  Busy(const Busy&) = delete;
  Busy& operator=(const Busy&) = delete;
  static void enter() { ++depth_; }
  static void leave() { --depth_; }
  static bool now() { return depth_ != 0; }

private:
  __attribute__((tls_model("initial-exec"))) static thread_local unsigned depth_;
};

// Restores errno: a successful allocation must not change it.
class KeepErrno {
public:
  ~KeepErrno() { errno = before_; }

private:
  int before_ = errno;
};

} // namespace omptier::preload
