/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * The command line of alternating.
 */
#ifndef ALTERNATING_OPTIONS_H
#define ALTERNATING_OPTIONS_H

#include <stddef.h>

typedef struct {
  size_t bytes; /* of each array */
  int rounds;   /* visits to each array */
  int sweeps; /* per visit: times as many loads as the array has lines (random) or words (stream) */
  int threads; /* 0: as OpenMP decides */
  int random;  /* else stream */
  int mark;
  int where; /* say at each visit where the kernel has the pages */
} alternating_options;

/* Returns -1 to go on, else the status to end with, after having said why. */
int read_alternating_options(int argc, char** argv, alternating_options* options);

#endif
