// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Finding libomptier.so, which lies beside this library, and the life of a process: start, fork,
// end.
#pragma once

#include "allocators/malloc_border.h"

namespace omptier::preload {

// The table of libomptier.so, which is loaded now if it was not; null when it is not there or the
// process is privileged (setuid). Loads a library: not for use inside malloc.
const omptier_malloc* library();

// A library that lies beside this one, loaded; null when it is not there.
void* open_beside(const char* name);

// A function of libomptier.so, or null.
void* library_function(const char* name);

// Which OpenMP runtime is behind us; another one than ours is offered to libomptier.so
// (openmp.cpp).
void find_openmp_runtime();

} // namespace omptier::preload
