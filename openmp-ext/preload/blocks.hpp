// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What malloc.cpp does with blocks that concern OMPTier: those from k_least_bytes on, and those
// that lie within the bounds of what was ever handed out by us. Everything else never comes here.
#pragma once

#include "borders/malloc_placement.h"

#include <atomic>
#include <cerrno>
#include <cstddef>
#include <cstdint>

namespace omptier::preload {

inline constexpr std::size_t k_least_bytes = std::size_t{64} << 10;

// Blocks from here on come here: 0 when all are recorded (preload/recording.hpp).
extern __attribute__((visibility("hidden"))) std::atomic<std::size_t> g_least_bytes;
inline bool is_small(std::size_t bytes) {
  return bytes < g_least_bytes.load(std::memory_order_relaxed);
}

// Every block of ours lies in [low, high); both only ever move outwards, so whoever knows a block
// sees bounds that hold it. Empty at first.
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

// While glibc's malloc serves everything, its word before a block (the size, with three flags)
// tells blocks too small to be recorded: they have less than this. 0 = not known, or not glibc's.
extern __attribute__((visibility("hidden"))) std::atomic<std::size_t> g_least_header;
inline bool is_short(const void* block) {
  const std::size_t least = g_least_header.load(std::memory_order_relaxed);
  return least != 0 && block != nullptr && static_cast<const std::size_t*>(block)[-1] < least;
}

// Bytes of a block of the program's malloc; 0 = it does not say.
std::size_t next_size(void* block);

// A block of ours, or null: the program's malloc serves it. alignment 0 = malloc's own.
void* place(std::size_t bytes, std::size_t alignment, bool zeroed, const void* caller);
// The program's malloc served it: whoever lists or records blocks hears of it. Returns the block.
void* served(void* block, std::size_t bytes, const void* caller);
// realloc of any block.
void* resize(void* block, std::size_t bytes, const void* caller);
// free of a block within the bounds.
void give_back(void* block);
// malloc_usable_size of a block within the bounds.
std::size_t usable_size(void* block);

// Nobody will ever answer: malloc is the program's own again (malloc.cpp).
void leave_malloc_alone();
// libomptier.so answers from now on.
void start_placing(const omptier_malloc* table);
// Every block is of interest from now on, every free looked at.
void watch_everything();
// While one exists, what this thread allocates is the program's malloc's, and what it frees of ours
// is freed later: the library itself is at work, or its locks are held for a fork.
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

// errno is the caller's: a block that is served changes nothing in it.
class KeepErrno {
public:
  ~KeepErrno() { errno = before_; }

private:
  int before_ = errno;
};

} // namespace omptier::preload
