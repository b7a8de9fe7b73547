/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * A heat equation on a field that is cut into strips of columns, one for each MPI rank: each step
 * sends the outermost columns to the neighbours, packed, since a column is not contiguous.
 *
 * usage: mpirun -n 2 halo [rows 4096] [columns of a rank 4096] [steps 30] [--truth FILE [--alone]]
 */
#include "truth.h"

#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

typedef struct {
  long rows, columns; /* columns with a halo column on either side */
  double *field, *next, *source;
  double *send, *receive; /* a column each */
} domain;

static domain make_domain(long rows, long columns) {
  domain d = {.rows = rows, .columns = columns + 2};
  const size_t cells = (size_t)(d.rows * d.columns);
  d.field = malloc(cells * sizeof *d.field);
  d.next = malloc(cells * sizeof *d.next);
  d.source = malloc(cells * sizeof *d.source);
  d.send = malloc((size_t)rows * sizeof *d.send);
  d.receive = malloc((size_t)rows * sizeof *d.receive);
  for (size_t i = 0; i < cells; ++i)
    d.field[i] = d.next[i] = 0;
  for (size_t i = 0; i < cells; ++i)
    d.source[i] = i % 1000 == 0;
  return d;
}

/* Sends a column to a rank and receives its halo from another. The seconds of packing and
 * unpacking: MPI's own, and its waiting, are nobody's here. */
static double exchange(domain* d, long from, long to, int destination, int origin) {
  const double begin = truth_clock();
  for (long row = 0; row < d->rows; ++row)
    d->send[row] = d->field[row * d->columns + from];
  const double packed = truth_clock() - begin;
  MPI_Sendrecv(d->send, (int)d->rows, MPI_DOUBLE, destination, 0, d->receive, (int)d->rows,
               MPI_DOUBLE, origin, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  if (origin == MPI_PROC_NULL) return packed;
  const double received = truth_clock();
  for (long row = 0; row < d->rows; ++row)
    d->field[row * d->columns + to] = d->receive[row];
  return packed + truth_clock() - received;
}

static void step(domain* d) {
  for (long row = 1; row < d->rows - 1; ++row) {
    const double* here = d->field + row * d->columns;
    const double* source = d->source + row * d->columns;
    double* next = d->next + row * d->columns;
    for (long i = 1; i < d->columns - 1; ++i)
      next[i] = 0.25 * (here[i - 1] + here[i + 1] + here[i - d->columns] + here[i + d->columns]) +
                source[i];
  }
  double* swap = d->field;
  d->field = d->next;
  d->next = swap;
}

/* A use whose time goes by its bytes. */
static void use(int loop, int object, double read, double written) {
  truth_weight(truth_use(loop, object, read, written), read + written);
}

/* The field and the next one take turns: each is read and written in every second step. */
static void tell(const domain* d, int steps, const double* seconds, int alone) {
  const size_t bytes = (size_t)(d->rows * d->columns) * sizeof(double);
  const size_t column = (size_t)d->rows * sizeof(double);
  const double inner = ((double)d->rows - 2) * ((double)d->columns - 2);
  const int field = truth_object("field", bytes, 1, TRUTH_SEQUENTIAL);
  const int next = truth_object("next", bytes, 1, TRUTH_SEQUENTIAL);
  const int source = truth_object("source", bytes, 1, TRUTH_SEQUENTIAL);
  const int send = truth_object("send", column, 1, TRUTH_SEQUENTIAL);
  const int receive = truth_object("receive", column, 1, TRUTH_SEQUENTIAL);
  truth_from_cache(send, 1);
  truth_from_cache(receive, 1);
  if (3 * bytes > 2 * truth_last_level_cache()) truth_from_cache(source, 0);

  const int filling = truth_loop("fill", seconds[0]);
  use(filling, field, 0, (double)bytes);
  use(filling, next, 0, (double)bytes);
  use(filling, source, 0, (double)bytes);
  const int packing = truth_loop("exchange", seconds[1]);
  const double sent = (double)steps * (double)column; /* a rank of two sends one and receives one */
  use(packing, field, sent, sent / 2);
  use(packing, next, sent, sent / 2);
  use(packing, send, sent, 2 * sent);
  use(packing, receive, sent, sent);
  const int stepping = truth_loop("step", seconds[2]);
  const int use_field = truth_use(stepping, field, steps * 16 * inner, steps * 4 * inner);
  const int use_next = truth_use(stepping, next, steps * 16 * inner, steps * 4 * inner);
  const int use_source = truth_use(stepping, source, steps * 8 * inner, 0);
  for (int round = 0; alone && round < 5; ++round) { /* two steps' time */
    truth_alone(use_source, 2 * truth_read_lines(d->source, bytes));
    truth_alone(use_field, truth_read_lines(d->field, bytes) + truth_write_lines(d->field, bytes));
    truth_alone(use_next, truth_read_lines(d->next, bytes) + truth_write_lines(d->next, bytes));
  }
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank = 0, ranks = 1;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  const long rows = truth_number(argc, argv, 1, 4096);
  const long columns = truth_number(argc, argv, 2, 4096);
  const int steps = (int)truth_number(argc, argv, 3, 30);
  const int left = rank > 0 ? rank - 1 : MPI_PROC_NULL;
  const int right = rank + 1 < ranks ? rank + 1 : MPI_PROC_NULL;

  const double started = truth_clock();
  domain d = make_domain(rows, columns);
  double seconds[3] = {truth_clock() - started};
  for (int i = 0; i < steps; ++i) {
    seconds[1] += exchange(&d, 1, d.columns - 1, left, right);
    seconds[1] += exchange(&d, d.columns - 2, 0, right, left);
    const double exchanged = truth_clock();
    step(&d);
    seconds[2] += truth_clock() - exchanged;
  }
  double mine = 0, sum = 0;
  for (long i = 0; i < d.columns; ++i)
    mine += d.field[d.rows / 2 * d.columns + i];
  MPI_Reduce(&mine, &sum, 1, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);
  if (rank == 0) printf("heat in the middle: %g\n", sum);
  MPI_Finalize();

  const char* file = truth_option(argc, argv, "--truth");
  int failed = 0;
  if (file != NULL) {
    tell(&d, steps, seconds, truth_option(argc, argv, "--alone") != NULL);
    failed = rank == 0 && truth_write(file, "halo") != 0;
  }
  free(d.field);
  free(d.next);
  free(d.source);
  free(d.send);
  free(d.receive);
  return failed;
}
