/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * The two loops of the example, and what they share. See chunked.c.
 */
#ifndef EXAMPLES_CHUNKED_H
#define EXAMPLES_CHUNKED_H

#include <ompx_memory.h>
#include <stddef.h>

struct options {
  size_t size, rows, chunk, sweeps, passes;
  int plain, check;
  omp_allocator_handle_t allocator; /* of the arrays */
};

struct outcome {
  double seconds;
  const double* array; /* one of those that were worked on */
  int copied;          /* chunks were copies in faster memory */
  size_t wrong;        /* values that differ from the plain form's */
};

struct outcome run_multiply(const struct options* options);
struct outcome run_stencil(const struct options* options);

/* Both end the program with one line if they cannot. */
void must(const char* what, ompx_result_t result);
double* new_array(size_t count, omp_allocator_handle_t allocator);

/* The next chunk's data; NULL behind the last one. */
double* next_chunk(ompx_chunked_t* chunked, ompx_chunk_t* chunk);

#endif
