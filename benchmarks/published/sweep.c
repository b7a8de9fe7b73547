// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A step of symmetric successive over-relaxation in the manner of NAS LU (flow.h): a sweep through
// the points from one corner of the box, and one back, each with blocks of 5 x 5 of the neighbours
// before it. Threads share out each plane and follow each other from plane to plane.
//
// usage: sweep NODES
//   NODES   of the solution, the right-hand side, the forcing, what else is derived
//   prints  seconds, bytes of each group
#define KEEPS_VELOCITIES 0
#include "flow.h"

enum { k_threads = 4, k_share = (k_ny - 2) / k_threads };

static const double k_dt = 2, k_omega = 1.2;
static const double k_nearer = 0.8737567; // after the step, of the distance from the solution

// Of a thread, and of the line that it is at: of each point its own block, and those of the
// neighbours that the sweep has left, in each direction.
static _Thread_local struct {
  double here[5][5], left[3][5][5];
} blocks[k_nx];

// way: -1 if the neighbours that were left are the lower ones, else 1.
ALWAYS_INLINE void fill_blocks(const struct flow* f, int j, int k, int way) {
  const double t1 = k_dt * k_t1, t2 = k_dt * k_t2;
  for (int i = 1; i < k_nx - 1; i++) {
    const size_t p = at(i, j, k);
    memset(&blocks[i], 0, sizeof blocks[i]);
    UNROLL for (int d = 0; d < 3; d++) {
      const size_t left = way < 0 ? p - k_step[d] : p + k_step[d];
      double(*m)[5] = blocks[i].left[d];
      add_flux(m, f, left, d, way * t2);
      add_viscosity(m, f, left, d, -t1);
      add_viscosity(blocks[i].here, f, p, d, 2 * t1);
      for (int c = 0; c < 5; c++)
        m[c][c] -= t1 * k_smooth;
    }
    for (int c = 0; c < 5; c++)
      blocks[i].here[c][c] += 1 + 6 * t1 * k_smooth;
  }
}

ALWAYS_INLINE void divide(double (*m)[5], double* v) {
  UNROLL for (int pivot = 0; pivot < 5; pivot++) {
    const double inverse = 1 / m[pivot][pivot];
    UNROLL for (int a = pivot + 1; a < 5; a++) {
      const double factor = inverse * m[a][pivot];
      UNROLL for (int b = pivot + 1; b < 5; b++)
        m[a][b] -= factor * m[pivot][b];
      v[a] -= factor * v[pivot];
    }
  }
  UNROLL for (int a = 4; a >= 0; a--) {
    UNROLL for (int b = a + 1; b < 5; b++)
      v[a] -= m[a][b] * v[b];
    v[a] /= m[a][a];
  }
}

// The way there solves for the point; the way back corrects what that has found.
ALWAYS_INLINE void relax(const struct flow* f, size_t p, int i, int way) {
  state sum = {0};
  UNROLL for (int d = 0; d < 3; d++) {
    const double* v = f->rhs[way < 0 ? p - k_step[d] : p + k_step[d]];
    double(*m)[5] = blocks[i].left[d];
    UNROLL for (int a = 0; a < 5; a++)
      sum[a] += m[a][0] * v[0] + m[a][1] * v[1] + m[a][2] * v[2] + m[a][3] * v[3] + m[a][4] * v[4];
  }
  double* r = f->rhs[p];
  if (way < 0) {
    for (int a = 0; a < 5; a++)
      r[a] -= k_omega * sum[a];
    divide(blocks[i].here, r);
  } else {
    divide(blocks[i].here, sum);
    for (int a = 0; a < 5; a++)
      r[a] -= k_omega * sum[a];
  }
}

// A thread begins a plane when the one before it has done its part of that plane.
ALWAYS_INLINE void sweep(const struct flow* f, int way) {
  const int planes = k_nz - 2, me = omp_get_thread_num();
  for (int round = 0; round < planes + k_threads - 1; round++) {
    const int plane = round - me;
    if (plane >= 0 && plane < planes)
      for (int line = 0; line < k_share; line++) {
        const int before = me * k_share + line;
        const int j = way < 0 ? 1 + before : k_ny - 2 - before;
        const int k = way < 0 ? 1 + plane : k_nz - 2 - plane;
        fill_blocks(f, j, k, way);
        for (int place = 1; place < k_nx - 1; place++) {
          const int i = way < 0 ? place : k_nx - 1 - place;
          relax(f, at(i, j, k), i, way);
        }
      }
#pragma omp barrier
  }
}

static void step(const struct flow* f) {
#pragma omp parallel num_threads(k_threads)
  {
    compute_rhs(f, k_dt);
    sweep(f, -1);
    sweep(f, 1);
    add_to_solution(f, 1 / (k_omega * (2 - k_omega)));
  }
}

int main(int count, char** arguments) {
  return run_flow(count, arguments, "sweep", 0, step, k_nearer);
}
