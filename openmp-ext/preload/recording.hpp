// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// `omptier record`: blocks and threads (here), mappings, signals and libgomp's regions (their own
// files) are told to the recorder, libomptier_ompt.so. Blocks under 4 KiB are told by sample: of
// every thread's one in k_small_period, which stands for them all. A free is told when the block is
// 4 KiB or larger: glibc's word before it says so (is_short), else its usable size.
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

// The C library's.
extern constinit Next<int(pthread_t*, const pthread_attr_t*, void* (*)(void*), void*)>
    next_pthread_create;
extern constinit Next<int(thrd_t*, thrd_start_t, void*)> next_thrd_create;
extern constinit Next<int(int, const struct sigaction*, struct sigaction*)> next_sigaction;
extern constinit Next<sighandler_t(int, sighandler_t)> next_signal;

// Loads the recorder and starts it when this process is to be recorded. Before main.
bool start_recording();
void end_recording();
// Whether code is the recorder's. Any time after that, in signal handlers too.
bool is_recorder(const void* code);

// How many blocks under 4 KiB this thread allocates before one is told.
extern
    __attribute__((visibility("hidden"),
                   tls_model("initial-exec"))) thread_local constinit std::uint32_t t_until_small;

// The program has, or is about to give back, a block of its own malloc.
void record_block(const void* block, std::size_t bytes, const void* caller);
void record_free(void* block);
// Counts one of them down. False: it is this one, whose record_block is to come.
inline bool is_untold() {
  if (t_until_small <= 1) [[unlikely]]
    return false;
  --t_until_small;
  return true;
}

} // namespace omptier::preload
