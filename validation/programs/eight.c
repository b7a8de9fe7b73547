/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Eight fields of a particle code, allocated in one loop; the solver works on two of them, the
 * others are output that is read at the end of a run only.
 *
 * usage: eight [thousands of particles 4000] [steps 150] [--truth FILE]
 */
#include "truth.h"

#include <stdio.h>
#include <stdlib.h>

enum { k_fields = 8, k_position = 2, k_velocity = 5 };

static void move(double* position, const double* velocity, long count, double dt) {
  for (long i = 0; i < count; ++i)
    position[i] += dt * velocity[i];
}

static double energy(const double* velocity, long count) {
  double sum = 0;
  for (long i = 0; i < count; ++i)
    sum += velocity[i] * velocity[i];
  return sum;
}

int main(int argc, char** argv) {
  const double begin = truth_clock();
  const long count = 1000 * truth_number(argc, argv, 1, 4000);
  const int steps = (int)truth_number(argc, argv, 2, 150);

  double* field[k_fields];
  for (int k = 0; k < k_fields; ++k)
    field[k] = malloc((size_t)count * sizeof *field[k]);
  for (int k = 0; k < k_fields; ++k)
    for (long i = 0; i < count; ++i)
      field[k][i] = k + 1e-6 * (double)i;
  const double filled = truth_clock();

  double sum = 0;
  for (int i = 0; i < steps; ++i) {
    move(field[k_position], field[k_velocity], count, 1e-3);
    sum += energy(field[k_velocity], count);
  }
  const double end = truth_clock();
  double checksum = 0;
  for (int k = 0; k < k_fields; ++k)
    for (long i = 0; i < count; ++i)
      checksum += field[k][i];
  const double read = truth_clock();
  printf("energy %g, checksum of the output %g\n", sum / steps, checksum);

  const char* file = truth_option(argc, argv, "--truth");
  int failed = 0;
  if (file != NULL) {
    const size_t bytes = (size_t)count * sizeof *field[0];
    const double size = (double)bytes;
    const int fields = truth_object("field", bytes, k_fields, TRUTH_SEQUENTIAL);
    truth_hot_part(fields, 0.9 * 2 / k_fields);
    truth_use(truth_loop("fill", filled - begin), fields, 0, k_fields * size);
    truth_use(truth_loop("steps", end - filled), fields, steps * 3 * size, steps * size);
    truth_use(truth_loop("output", read - end), fields, k_fields * size, 0);
    failed = truth_write(file, "eight") != 0;
  }
  for (int k = 0; k < k_fields; ++k)
    free(field[k]);
  return failed;
}
