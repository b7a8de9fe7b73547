/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Where the examples' arrays come from: OpenMP's allocators, or, compiled with -DPLAIN_MALLOC, the malloc
 * that a program has which knows nothing of them. Macros, so that the call stands where it is written:
 * its place is the allocation site that profiles and plans name.
 */
#ifndef EXAMPLES_ARRAY_MEMORY_H
#define EXAMPLES_ARRAY_MEMORY_H

#include <omp.h>
#include <stdlib.h>

#ifdef PLAIN_MALLOC
#define ARRAY_ALLOC(bytes, allocator) ((void)(allocator), malloc(bytes))
#define ARRAY_FREE(block, allocator) ((void)(allocator), free(block))
#else
#define ARRAY_ALLOC(bytes, allocator) omp_alloc(bytes, allocator)
#define ARRAY_FREE(block, allocator) omp_free(block, allocator)
#endif

#endif
