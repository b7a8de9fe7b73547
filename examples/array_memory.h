/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Allocation of the examples' arrays: by OpenMP's allocators or, with -DPLAIN_MALLOC, by malloc as
 * in a program that knows nothing of them. Macros, so that the call is where it is written: its
 * place is the allocation site that profiles and plans name.
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
