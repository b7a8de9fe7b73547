// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A profile's name from its pattern, and what the launchers of parallel jobs say of this process.
// Called in the recorded process: no malloc. The environment is read; nobody may change it
// meanwhile.
#pragma once

#include <cstddef>

namespace omptier {

// Replaces %h (host), %p (process), %r (rank, 0 without a launcher), %% in an OMPTIER_PROFILE
// pattern; under a launcher of several ranks, where neither %p nor %r is in it, "-%r" is put before
// the ending. False when the result does not fit.
bool expand_pattern(const char* pattern, char* out, std::size_t size);

// Rank and job as the launchers say it in the environment (Open MPI, MPICH, Slurm); 0 and "".
unsigned rank_in_job();
const char* job_name();

} // namespace omptier
