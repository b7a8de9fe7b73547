// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// `omptier record`: blocks and threads (here), mappings, signals and libgomp's regions (their own
// files) are reported to the recorder, libomptier_ompt.so. Blocks under 4 KiB are sampled: of each
// thread's, one in k_small_period is reported and stands for all of them. A free is reported if the
// block has 4 KiB or more, by glibc's word before it (is_short), else by its usable size.
#pragma once

#include "borders/malloc_record.h"
#include "preload/blocks.hpp"
#include "preload/next.hpp"

#include <csignal>
#include <pthread.h>
#include <threads.h>

namespace omptier::preload {

inline constexpr std::size_t k_least_recorded = 4096;

extern __attribute__((visibility("hidden"))) std::atomic<const omptier_malloc_record*> g_record;

// The C library's functions.
extern constinit Next<int(pthread_t*, const pthread_attr_t*, void* (*)(void*), void*)>
    next_pthread_create;
extern constinit Next<int(thrd_t*, thrd_start_t, void*)> next_thrd_create;
extern constinit Next<int(int, const struct sigaction*, struct sigaction*)> next_sigaction;
extern constinit Next<sighandler_t(int, sighandler_t)> next_signal;

// Whether small blocks that are not the next malloc's can be given out: it is glibc's, and all of
// malloc's functions are ours.
bool can_serve_small();
// Loads and starts the recorder if this process is to be recorded. Called before main.
bool start_recording();
// A program of omptier-cc cannot be counted before its own check has run: true if start will be
// called then, before main. Called before main.
bool start_recording_when_checked(void (*start)());
void end_recording();
// Blocks that libomptier.so places from now on are objects of the recording, too.
void watch_placed_blocks();
// Whether code belongs to the recorder. Any time after the start, in signal handlers too.
bool is_recorder(const void* code);

// Blocks under 4 KiB that this thread allocates until one is reported.
extern
    __attribute__((visibility("hidden"),
                   tls_model("initial-exec"))) thread_local constinit std::uint32_t t_until_small;

// Called after a block of the program's malloc was allocated, and before it is freed.
void record_block(const void* block, std::size_t bytes, const void* caller);
void record_free(void* block);
// Counts a block; false if it is the one to report by record_block.
inline bool is_left_out() {
  if (t_until_small <= 1) [[unlikely]]
    return false;
  --t_until_small;
  return true;
}

} // namespace omptier::preload
