// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A profile's name from its pattern, and what the launchers of parallel jobs say of this process.
// Called in the recorded process: no malloc. The environment must not be changed meanwhile.
#pragma once

#include <cstddef>

namespace omptier {

// Replaces %h (host), %p (process), %r (rank, 0 without a launcher), %% in an OMPTIER_PROFILE
// pattern. With several ranks and neither %p nor %r, puts "-%r" before the ending. False when the
// result does not fit.
bool expand_pattern(const char* pattern, char* out, std::size_t size);

// From the environment of the launcher (Open MPI, MPICH, Slurm); else 0 and "".
unsigned rank_in_job();
const char* job_name();

} // namespace omptier
