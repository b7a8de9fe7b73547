// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A multigrid V-cycle in the manner of NAS MG, after its description (RNR-94-007, section 2.3.2):
// Poisson's equation on a periodic grid, with a source of +1 and -1 at random points; residuals and
// a smoother of 27 points, full weighting, trilinear interpolation. The grid is a slab: so a plane
// is larger than a thread's part of the caches, as the published run's (1024^3 points, 8 MB a
// plane) was, without as many planes. Residuals must fall as they did where many cycles made them
// vanish.
//
// usage: multigrid NODES
//   NODES   of u (solution), v (source), r (residuals); u and r on all levels
//   prints  seconds, bytes of each group
#include "groups.h"

enum { k_width = 256, k_height = 16, k_levels = 4, k_charges = 20 };
enum group { k_u_group, k_v_group, k_r_group, k_groups };

struct grid { // with one layer of points around it
  size_t width, height, row, plane;
  double* at;
};

static const double k_residual[4] = {-8.0 / 3, 0, 1.0 / 6, 1.0 / 12};
static const double k_smoother[4] = {-3.0 / 17, 1.0 / 33, -1.0 / 61, 0}; // those of large problems

static const double k_smaller = 0.5327784; // after the cycle, of the residuals before

static size_t points(const struct grid* g) {
  return g->plane * (g->height + 2);
}

static struct grid shape(size_t width, size_t height) {
  return (struct grid){width, height, width + 2, (width + 2) * (width + 2), NULL};
}

// Levels lie one behind the other, the finest last.
static void allocate(struct groups* groups, int group, struct grid* levels, int count) {
  size_t all = 0;
  for (int i = 0; i < count; i++) {
    levels[i] = shape(k_width >> (count - 1 - i), k_height >> (count - 1 - i));
    all += points(&levels[i]);
  }
  double* memory = array_in(groups, group, all * sizeof(double));
  for (int i = 0; i < count; i++) {
    levels[i].at = memory;
    memory += points(&levels[i]);
  }
}

// The layer around the grid, from the opposite side.
static void wrap(const struct grid* g) {
  const size_t n = g->width, row = g->row, plane = g->plane;
#pragma omp for schedule(static)
  for (size_t k = 1; k <= g->height; k++) {
    double* at = g->at + k * plane;
    for (size_t j = 1; j <= n; j++) {
      at[j * row] = at[j * row + n];
      at[j * row + n + 1] = at[j * row + 1];
    }
    memcpy(at, at + n * row, row * sizeof *at);
    memcpy(at + (n + 1) * row, at + row, row * sizeof *at);
  }
#pragma omp single
  {
    memcpy(g->at, g->at + g->height * plane, plane * sizeof *g->at);
    memcpy(g->at + (g->height + 1) * plane, g->at + plane, plane * sizeof *g->at);
  }
}

// Of a row: at each point the sum of the four nearest points across it, and of the next four.
static void sums_across(const double* at, size_t row, size_t plane, double* near, double* far) {
  for (size_t i = 0; i < row; i++) {
    near[i] = at[i - row] + at[i + row] + at[i - plane] + at[i + plane];
    far[i] = at[i - plane - row] + at[i - plane + row] + at[i + plane - row] + at[i + plane + row];
  }
}

// r = v - A u; v may be r.
static void residual(const struct grid* u, const double* v, const struct grid* r) {
  const size_t row = u->row, plane = u->plane;
  const double* a = k_residual;
#pragma omp for schedule(static)
  for (size_t k = 1; k <= u->height; k++)
    for (size_t j = 1; j <= u->width; j++) {
      const size_t first = k * plane + j * row;
      const double *from = u->at + first, *source = v + first;
      double *to = r->at + first, near[k_width + 2], far[k_width + 2];
      sums_across(from, row, plane, near, far);
#pragma omp simd
      for (size_t i = 1; i <= u->width; i++) // a[1] is 0
        to[i] = source[i] - a[0] * from[i] - a[2] * (far[i] + near[i - 1] + near[i + 1]) -
                a[3] * (far[i - 1] + far[i + 1]);
    }
  wrap(r);
}

// u += S r
static void smooth(const struct grid* r, const struct grid* u) {
  const size_t row = r->row, plane = r->plane;
  const double* c = k_smoother;
#pragma omp for schedule(static)
  for (size_t k = 1; k <= r->height; k++)
    for (size_t j = 1; j <= r->width; j++) {
      const size_t first = k * plane + j * row;
      const double* from = r->at + first;
      double *to = u->at + first, near[k_width + 2], far[k_width + 2];
      sums_across(from, row, plane, near, far);
#pragma omp simd
      for (size_t i = 1; i <= r->width; i++) // c[3] is 0
        to[i] += c[0] * from[i] + c[1] * (from[i - 1] + from[i + 1] + near[i]) +
                 c[2] * (far[i] + near[i - 1] + near[i + 1]);
    }
  wrap(u);
}

static void restrict_to(const struct grid* fine, const struct grid* coarse) {
  const size_t row = fine->row, plane = fine->plane;
#pragma omp for schedule(static)
  for (size_t k = 1; k <= coarse->height; k++)
    for (size_t j = 1; j <= coarse->width; j++) {
      const double* from = fine->at + 2 * k * plane + 2 * j * row;
      double *to = coarse->at + k * coarse->plane + j * coarse->row, near[k_width + 2],
             far[k_width + 2];
      sums_across(from, row, plane, near, far);
      for (size_t i = 1; i <= coarse->width; i++)
        to[i] = 0.5 * from[2 * i] + 0.25 * (from[2 * i - 1] + from[2 * i + 1] + near[2 * i]) +
                0.125 * (near[2 * i - 1] + near[2 * i + 1] + far[2 * i]) +
                0.0625 * (far[2 * i - 1] + far[2 * i + 1]);
    }
  wrap(coarse);
}

// fine += interpolated. A fine point lies on a coarse one (an even place) or between two.
static void interpolate(const struct grid* coarse, const struct grid* fine) {
#pragma omp for schedule(static)
  for (size_t k = 1; k <= fine->height; k++)
    for (size_t j = 1; j <= fine->width; j++) {
      const size_t row = coarse->row, across = j % 2 * row, along = k % 2 * coarse->plane;
      const double* from = coarse->at + k / 2 * coarse->plane + j / 2 * row;
      double *to = fine->at + k * fine->plane + j * fine->row, mean[k_width / 2 + 2];
      for (size_t i = 0; i < row; i++)
        mean[i] = 0.25 * (from[i] + from[i + across] + from[i + along] + from[i + along + across]);
      for (size_t i = 1; i < row; i++) {
        to[2 * i - 1] += 0.5 * (mean[i - 1] + mean[i]);
        if (2 * i <= fine->width) to[2 * i] += mean[i];
      }
    }
  wrap(fine);
}

static void clear(const struct grid* g) {
#pragma omp for schedule(static)
  for (size_t k = 0; k < g->height + 2; k++)
    memset(g->at + k * g->plane, 0, g->plane * sizeof *g->at);
}

static void cycle(const struct grid* u, const double* v, const struct grid* r) {
  const int finest = k_levels - 1;
  for (int level = finest; level > 0; level--)
    restrict_to(&r[level], &r[level - 1]);
  clear(&u[0]);
  smooth(&r[0], &u[0]);
  for (int level = 1; level <= finest; level++) {
    if (level < finest) clear(&u[level]);
    interpolate(&u[level - 1], &u[level]);
    residual(&u[level], level < finest ? r[level].at : v, &r[level]);
    smooth(&r[level], &u[level]);
  }
  residual(&u[finest], v, &r[finest]);
}

static double norm(const struct grid* g) {
  double sum = 0;
  for (size_t k = 1; k <= g->height; k++)
    for (size_t j = 1; j <= g->width; j++)
      for (size_t i = 1; i <= g->width; i++)
        sum += g->at[k * g->plane + j * g->row + i] * g->at[k * g->plane + j * g->row + i];
  return sqrt(sum);
}

static void charge(const struct grid* v) {
  uint64_t state = 271828183;
  for (int i = 0; i < k_charges; i++) {
    const size_t x = 1 + next_random(&state) % v->width, y = 1 + next_random(&state) % v->width;
    v->at[(1 + next_random(&state) % v->height) * v->plane + y * v->row + x] = i % 2 ? 1 : -1;
  }
#pragma omp parallel
  wrap(v);
}

int main(int count, char** arguments) {
  struct groups groups = groups_of(count, arguments, k_groups);
  struct grid u[k_levels], v, r[k_levels];
  allocate(&groups, k_u_group, u, k_levels);
  allocate(&groups, k_v_group, &v, 1);
  allocate(&groups, k_r_group, r, k_levels);
  charge(&v);
  charge(&r[k_levels - 1]); // u is 0
  const double begin = begin_main();
#pragma omp parallel
  cycle(u, v.at, r);
  const double took = end_main(begin);
  return report(&groups, "multigrid", took,
                fabs(norm(&r[k_levels - 1]) / sqrt(k_charges) - k_smaller) < 1e-6);
}
