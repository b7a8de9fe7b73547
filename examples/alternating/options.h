/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * The command line of `alternating`.
 */
#ifndef ALTERNATING_OPTIONS_H
#define ALTERNATING_OPTIONS_H

#include <stddef.h>

typedef struct {
  size_t bytes; /* of each array */
  int rounds;   /* visits to each array */
  int sweeps; /* loads per visit, in multiples of the array's lines (random) or words (stream) */
  int threads; /* 0: as OpenMP decides */
  int random;  /* else stream */
  int compute; /* after a visit, by each thread: millions of steps without memory accesses */
  int barriers; /* one region, in which barriers divide the visits */
  int mark;
  int where; /* print at each visit where the kernel has the pages */
} alternating_options;

/* Returns -1 to go on, else the exit status, after an error message or the help. */
int read_alternating_options(int argc, char** argv, alternating_options* options);

#endif
