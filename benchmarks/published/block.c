// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// An implicit time step in the manner of NAS BT (flow.h): along the lines of each direction in
// turn, a tridiagonal system of blocks of 5 x 5, solved by elimination.
//
// usage: block NODES
//   NODES   of the solution, the right-hand side, the forcing, what is derived from the solution
//   prints  seconds, bytes of each group
#define KEEPS_VELOCITIES 1
#include "flow.h"

static const double k_dt = 8e-4;
static const double k_nearer = 0.7588174; // after the step, of the distance from the solution

struct row {
  double before[5][5], here[5][5], after[5][5];
};

// Of a thread, and of one line: they stay in its caches.
static _Thread_local struct {
  double flux[k_nx][5][5], viscosity[k_nx][5][5];
  struct row row[k_nx];
} line;

ALWAYS_INLINE void jacobians(const struct flow* f, size_t p, int d, int place) {
  memset(line.flux[place], 0, sizeof line.flux[place]);
  memset(line.viscosity[place], 0, sizeof line.viscosity[place]);
  add_flux(line.flux[place], f, p, d, 1);
  add_viscosity(line.viscosity[place], f, p, d, 1);
}

static void fill_row(int place) {
  const double t1 = k_dt * k_t1, t2 = k_dt * k_t2;
  struct row* row = &line.row[place];
  for (int a = 0; a < 5; a++)
    for (int b = 0; b < 5; b++) {
      row->before[a][b] = -t2 * line.flux[place - 1][a][b] - t1 * line.viscosity[place - 1][a][b];
      row->here[a][b] = 2 * t1 * line.viscosity[place][a][b];
      row->after[a][b] = t2 * line.flux[place + 1][a][b] - t1 * line.viscosity[place + 1][a][b];
    }
  for (int a = 0; a < 5; a++) {
    row->before[a][a] -= t1 * k_smooth;
    row->here[a][a] += 1 + 2 * t1 * k_smooth;
    row->after[a][a] -= t1 * k_smooth;
  }
}

// v -= m w
ALWAYS_INLINE void subtract_product(double* v, double (*m)[5], const double* w) {
  UNROLL for (int a = 0; a < 5; a++)
    v[a] -= m[a][0] * w[0] + m[a][1] * w[1] + m[a][2] * w[2] + m[a][3] * w[3] + m[a][4] * w[4];
}

// Divides by row->here: row->after and the right-hand side.
ALWAYS_INLINE void divide(struct row* row, double* r) {
  double(*m)[5] = row->here, (*c)[5] = row->after;
  UNROLL for (int pivot = 0; pivot < 5; pivot++) {
    const double inverse = 1 / m[pivot][pivot];
    UNROLL for (int b = 0; b < 5; b++) {
      if (b > pivot) m[pivot][b] *= inverse;
      c[pivot][b] *= inverse;
    }
    r[pivot] *= inverse;
    UNROLL for (int a = 0; a < 5; a++) {
      if (a == pivot) continue;
      const double factor = m[a][pivot];
      UNROLL for (int b = 0; b < 5; b++) {
        if (b > pivot) m[a][b] -= factor * m[pivot][b];
        c[a][b] -= factor * c[pivot][b];
      }
      r[a] -= factor * r[pivot];
    }
  }
}

static __attribute__((noinline)) void eliminate(struct row* row, double* r,
                                                const double* r_before) {
  subtract_product(r, row->before, r_before);
  UNROLL for (int a = 0; a < 5; a++)
    UNROLL for (int b = 0; b < 5; b++)
      for (int c = 0; c < 5; c++)
        row->here[a][b] -= row->before[a][c] * row[-1].after[c][b];
  divide(row, r);
}

// The ends of a line do not change: their rows say so.
ALWAYS_INLINE void solve_line(const struct flow* f, size_t first, int d) {
  const size_t step = k_step[d];
  const int size = k_size[d];
  for (int place = 0; place < size; place++)
    jacobians(f, first + (size_t)place * step, d, place);
  memset(&line.row[0], 0, sizeof line.row[0]);
  for (int place = 1; place < size - 1; place++)
    fill_row(place);
  state* r = f->rhs + first;
  for (int place = 1; place < size - 1; place++)
    eliminate(&line.row[place], r[(size_t)place * step], r[(size_t)(place - 1) * step]);
  for (int place = size - 3; place > 0; place--)
    subtract_product(r[(size_t)place * step], line.row[place].after, r[(size_t)(place + 1) * step]);
}

static void step(const struct flow* f) {
#pragma omp parallel
  {
    compute_rhs(f, k_dt);
    along_lines(f, 0, solve_line);
    along_lines(f, 1, solve_line);
    along_lines(f, 2, solve_line);
    add_to_solution(f, 1);
  }
}

int main(int count, char** arguments) {
  return run_flow(count, arguments, "block", 0, step, k_nearer);
}
