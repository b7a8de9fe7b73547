// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Compressible flow in a box, for the programs in the manner of NAS BT, SP and LU, after its
// description (RNR-94-007, section 3): central differences of flux and viscosity, a fourth-order
// dissipation. The forcing makes a smooth field the exact solution; a program begins beside it and
// comes nearer, as much as it did where many steps led to it. The box is flat, so that lines and
// planes are to the caches as the published runs' (408^3 points) to theirs. KEEPS_VELOCITIES:
// velocities lie in arrays of their own (BT, SP), else they are computed (LU).
#pragma once

#include "groups.h"

enum {
  k_nx = 66,
  k_ny = 66,
  k_nz = 10,
  k_row = k_nx + 1,
  k_plane = k_row * k_ny,
  k_points = k_plane * k_nz
};
typedef double state[5]; // density, momentum, energy

enum group { k_u_group, k_rhs_group, k_forcing_group, k_derived_group, k_groups };

struct flow {
  state *u, *rhs, *forcing;
  double *velocity[3], *rho_i; // rho_i: 1 / density
  double *square, *qs, *speed; // kinetic energy, and of a unit of mass; of sound
};

static const double k_c1 = 1.4, k_c2 = 0.4, k_viscosity = 0.1, k_heat = 1.4 * 1.4;
static const double k_smooth = 0.75, k_dissipation = 0.25;
static const double k_t1 = (k_nx - 1.0) * (k_nx - 1.0), k_t2 = (k_nx - 1.0) / 2; // 1/h^2, 1/2h

#define ALWAYS_INLINE static inline __attribute__((always_inline))
#define UNROLL _Pragma("GCC unroll 5")

static const size_t k_step[3] = {1, k_row, k_plane};
static const int k_size[3] = {k_nx, k_ny, k_nz};

ALWAYS_INLINE size_t at(int i, int j, int k) {
  return (size_t)k * k_plane + (size_t)j * k_row + (size_t)i;
}

ALWAYS_INLINE double velocity(const struct flow* f, size_t p, int d) {
  return KEEPS_VELOCITIES ? f->velocity[d][p] : f->u[p][1 + d] * f->rho_i[p];
}

ALWAYS_INLINE double specific(const struct flow* f, size_t p) {
  return KEEPS_VELOCITIES ? f->qs[p] : f->square[p] * f->rho_i[p];
}

static void derive(const struct flow* f) {
#pragma omp for schedule(static)
  for (int k = 0; k < k_nz; k++)
    for (size_t p = at(0, 0, k); p < at(0, 0, k + 1); p++) {
      const double *u = f->u[p], inverse = 1 / u[0];
      const double square = 0.5 * (u[1] * u[1] + u[2] * u[2] + u[3] * u[3]) * inverse;
      f->rho_i[p] = inverse;
      f->square[p] = square;
      if (KEEPS_VELOCITIES) {
        for (int d = 0; d < 3; d++)
          f->velocity[d][p] = u[1 + d] * inverse;
        f->qs[p] = square * inverse;
      }
      if (f->speed) f->speed[p] = sqrt(k_c1 * k_c2 * inverse * (u[4] - square));
    }
}

ALWAYS_INLINE void add_differences(const struct flow* f, size_t p, int d) {
  const size_t m = p - k_step[d], q = p + k_step[d];
  const double *um = f->u[m], *uc = f->u[p], *uq = f->u[q];
  const double vm = velocity(f, m, d), vc = velocity(f, p, d), vq = velocity(f, q, d);
  const double viscosity = k_viscosity * k_t1;
  double* r = f->rhs[p];
  r[0] += k_smooth * k_t1 * (uq[0] - 2 * uc[0] + um[0]) - k_t2 * (uq[1 + d] - um[1 + d]);
  UNROLL for (int c = 0; c < 3; c++) {
    const double bend = c == d ? vq - 2 * vc + vm
                               : velocity(f, q, c) - 2 * velocity(f, p, c) + velocity(f, m, c);
    r[1 + c] += k_smooth * k_t1 * (uq[1 + c] - 2 * uc[1 + c] + um[1 + c]) +
                viscosity * (c == d ? 4.0 / 3 : 1) * bend -
                k_t2 * (uq[1 + c] * vq - um[1 + c] * vm);
  }
  r[1 + d] -= k_t2 * k_c2 * (uq[4] - f->square[q] - um[4] + f->square[m]);
  r[4] += k_smooth * k_t1 * (uq[4] - 2 * uc[4] + um[4]) +
          viscosity * ((1 - k_heat) * (specific(f, q) - 2 * specific(f, p) + specific(f, m)) +
                       (vq * vq - 2 * vc * vc + vm * vm) / 6 +
                       k_heat * (uq[4] * f->rho_i[q] - 2 * uc[4] * f->rho_i[p] +
                                 um[4] * f->rho_i[m])) -
          k_t2 * ((k_c1 * uq[4] - k_c2 * f->square[q]) * vq -
                  (k_c1 * um[4] - k_c2 * f->square[m]) * vm);
}

// place: of the point on its line, beside whose ends fewer neighbours are used.
ALWAYS_INLINE void subtract_dissipation(const struct flow* f, size_t p, int d, int place) {
  const size_t step = k_step[d];
  const int last = k_size[d] - 2;
  const double middle = place == 1 || place == last ? 5 : 6;
  UNROLL for (int c = 0; c < 5; c++) {
    double sum = middle * f->u[p][c];
    if (place > 1) sum -= 4 * f->u[p - step][c];
    if (place > 2) sum += f->u[p - 2 * step][c];
    if (place < last) sum -= 4 * f->u[p + step][c];
    if (place < last - 1) sum += f->u[p + 2 * step][c];
    f->rhs[p][c] -= k_dissipation * sum;
  }
}

ALWAYS_INLINE void add_direction(const struct flow* f, int d) {
#pragma omp for schedule(static)
  for (int k = 1; k < k_nz - 1; k++) {
    for (int j = 1; j < k_ny - 1; j++)
      for (int i = 1; i < k_nx - 1; i++)
        add_differences(f, at(i, j, k), d);
    for (int j = 1; j < k_ny - 1; j++)
      for (int i = 1; i < k_nx - 1; i++)
        subtract_dissipation(f, at(i, j, k), d, d == 0 ? i : d == 1 ? j : k);
  }
}

// rhs = dt (forcing - differences of u)
static void compute_rhs(const struct flow* f, double dt) {
  derive(f);
#pragma omp for schedule(static)
  for (int k = 0; k < k_nz; k++)
    memcpy(f->rhs[at(0, 0, k)], f->forcing[at(0, 0, k)], k_plane * sizeof(state));
  add_direction(f, 0);
  add_direction(f, 1);
  add_direction(f, 2);
#pragma omp for schedule(static)
  for (int k = 1; k < k_nz - 1; k++)
    for (int j = 1; j < k_ny - 1; j++)
      for (size_t p = at(1, j, k); p < at(k_nx - 1, j, k); p++)
        for (int c = 0; c < 5; c++)
          f->rhs[p][c] *= dt;
}

static void add_to_solution(const struct flow* f, double factor) {
#pragma omp for schedule(static)
  for (int k = 1; k < k_nz - 1; k++)
    for (int j = 1; j < k_ny - 1; j++)
      for (size_t p = at(1, j, k); p < at(k_nx - 1, j, k); p++)
        for (int c = 0; c < 5; c++)
          f->u[p][c] += factor * f->rhs[p][c];
}

// Jacobians of flux and of viscosity along d, times the scale, added to a block.
ALWAYS_INLINE void add_flux(double (*m)[5], const struct flow* f, size_t p, int d, double scale) {
  const double *u = f->u[p], inverse = f->rho_i[p], qs = specific(f, p), v = u[1 + d] * inverse;
  m[0][1 + d] += scale;
  UNROLL for (int a = 0; a < 3; a++) {
    const double va = u[1 + a] * inverse;
    m[1 + a][0] += scale * (a == d ? k_c2 * qs - va * v : -va * v);
    m[1 + a][1 + d] += scale * va;
    m[1 + a][1 + a] += scale * v;
    if (a == d) {
      UNROLL for (int b = 0; b < 3; b++)
        m[1 + a][1 + b] -= scale * k_c2 * u[1 + b] * inverse;
      m[1 + a][4] += scale * k_c2;
    }
    m[4][1 + a] -= scale * k_c2 * va * v;
  }
  m[4][0] += scale * v * (2 * k_c2 * qs - k_c1 * u[4] * inverse);
  m[4][1 + d] += scale * (k_c1 * u[4] * inverse - k_c2 * qs);
  m[4][4] += scale * k_c1 * v;
}

ALWAYS_INLINE void add_viscosity(double (*m)[5], const struct flow* f, size_t p, int d,
                                 double scale) {
  const double *u = f->u[p], inverse = f->rho_i[p], factor = scale * k_viscosity * inverse;
  const double v = u[1 + d] * inverse;
  UNROLL for (int a = 0; a < 3; a++) {
    const double share = a == d ? 4.0 / 3 : 1, va = u[1 + a] * inverse;
    m[1 + a][0] -= factor * share * va;
    m[1 + a][1 + a] += factor * share;
    m[4][1 + a] += factor * (1 - k_heat + (a == d ? 1.0 / 3 : 0)) * va;
  }
  m[4][0] -= factor * (2 * (1 - k_heat) * specific(f, p) + v * v / 3 + k_heat * u[4] * inverse);
  m[4][4] += factor * k_heat;
}

// A smooth field, the solution.
static void exact(int i, int j, int k, double* u) {
  const double x = (double)i / k_nx, y = (double)j / k_ny, z = (double)k / k_nz;
  u[0] = 1 + 0.2 * x * (1 - y) + 0.1 * z;
  u[1] = u[0] * (0.3 + 0.2 * y * y - 0.1 * x);
  u[2] = u[0] * (0.2 + 0.3 * z * (1 - x));
  u[3] = u[0] * (0.3 - 0.2 * x * y);
  u[4] = u[0] * (2 + 0.2 * x * z + 0.1 * y) +
         0.5 * (u[1] * u[1] + u[2] * u[2] + u[3] * u[3]) / u[0];
}

// The solution, or a field beside it that is the same on the faces of the box.
static void set_solution(const struct flow* f, double apart) {
  for (int k = 0; k < k_nz; k++)
    for (int j = 0; j < k_ny; j++)
      for (int i = 0; i < k_row; i++) {
        const double x = fmin(1, i / (k_nx - 1.0)), y = j / (k_ny - 1.0), z = k / (k_nz - 1.0);
        double* u = f->u[at(i, j, k)];
        exact(i, j, k, u);
        for (int c = 0; c < 5; c++)
          u[c] *= 1 + apart * x * (1 - x) * y * (1 - y) * z * (1 - z);
      }
}

static double distance(const struct flow* f) {
  double sum = 0;
  for (int k = 0; k < k_nz; k++)
    for (int j = 0; j < k_ny; j++)
      for (int i = 0; i < k_nx; i++) {
        state wanted;
        exact(i, j, k, wanted);
        for (int c = 0; c < 5; c++)
          sum += (f->u[at(i, j, k)][c] - wanted[c]) * (f->u[at(i, j, k)][c] - wanted[c]);
      }
  return sqrt(sum);
}

typedef void line_solver(const struct flow* f, size_t first, int d);

// Every inner line along an axis, from its first point.
ALWAYS_INLINE void along_lines(const struct flow* f, int d, line_solver* solve) {
  const int across = d == 0 ? 1 : 0, up = d == 2 ? 1 : 2;
#pragma omp for schedule(static)
  for (int z = 1; z < k_size[up] - 1; z++)
    for (int y = 1; y < k_size[across] - 1; y++)
      solve(f, (size_t)y * k_step[across] + (size_t)z * k_step[up], d);
}

static inline struct flow flow_in(struct groups* groups, int keeps_speed) {
  const size_t scalars = k_points * sizeof(double), states = k_points * sizeof(state);
  struct flow f = {0};
  f.u = array_in(groups, k_u_group, states);
  f.rhs = array_in(groups, k_rhs_group, states);
  f.forcing = array_in(groups, k_forcing_group, states);
  f.rho_i = array_in(groups, k_derived_group, scalars);
  f.square = array_in(groups, k_derived_group, scalars);
  if (KEEPS_VELOCITIES) f.qs = array_in(groups, k_derived_group, scalars);
  if (keeps_speed) f.speed = array_in(groups, k_derived_group, scalars);
  for (int d = 0; d < 3 && KEEPS_VELOCITIES; d++)
    f.velocity[d] = array_in(groups, k_derived_group, scalars);
  return f;
}

// The whole program. nearer: after the step, of the distance from the solution.
static inline int run_flow(int count, char** arguments, const char* program, int keeps_speed,
                           void (*step)(const struct flow*), double nearer) {
  struct groups groups = groups_of(count, arguments, k_groups);
  const struct flow f = flow_in(&groups, keeps_speed);
  set_solution(&f, 0);
#pragma omp parallel
  compute_rhs(&f, -1);
  memcpy(f.forcing, f.rhs, k_points * sizeof(state));
  set_solution(&f, 3);
  const double before = distance(&f);
  const double begin = begin_main();
  step(&f);
  const double took = end_main(begin);
  return report(&groups, program, took, fabs(distance(&f) / before - nearer) < 1e-6);
}
