// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Threads of our own in the program: they take no signal of the program's, and may run on every
// processor that the process could use at its start (a thread of a team is often bound to one).
#pragma once

#include <pthread.h>
#include <sched.h>

namespace omptier {

// To be called before threads are bound to single processors. Only the first call counts.
void remember_processors();
// Those of the start, else those of the calling thread; false if neither is known.
bool processors_of_process(cpu_set_t& set);
unsigned count_processors(); // of these; 1 if they are not known

// Starts up to `wanted` threads that run work(argument); returns how many could be started. Signals
// that a thread causes itself (a fault in the program's memory, say) stay as the program has them.
unsigned start_own_threads(pthread_t* threads, unsigned wanted, void* (*work)(void*),
                           void* argument);

} // namespace omptier
