// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// An implicit time step in the manner of NAS SP (flow.h): along each direction the equations are
// decoupled (Pulliam and Chaussee, "A Diagonal Form of an Implicit Approximate-Factorization
// Algorithm", Journal of Computational Physics, 1981), which leaves pentadiagonal systems.
//
// usage: scalar NODES
//   NODES   of the solution, the right-hand side, the forcing, what is derived from the solution
//   prints  seconds, bytes of each group
#define KEEPS_VELOCITIES 1
#include "flow.h"

static const double k_dt = 1.5e-3, k_half = 0.70710678118654752; // its square is 1/2
static const double k_nearer = 0.6594979; // after the step, of the distance from the solution

// Of the waves that travel with the flow, and of those slower and faster by the speed of sound.
enum wave { k_flow, k_faster, k_slower, k_waves };

// Of a thread, and of one line: they stay in its caches.
static _Thread_local double matrix[k_waves][k_nx][5], speeds[k_nx], damping[k_nx];

// Right-hand sides become waves along x: entropy, both velocities across, both of sound.
static void to_waves(const struct flow* f) {
#pragma omp for schedule(static)
  for (int k = 1; k < k_nz - 1; k++)
    for (int j = 1; j < k_ny - 1; j++)
      for (size_t p = at(1, j, k); p < at(k_nx - 1, j, k); p++) {
        double* r = f->rhs[p];
        const double u = f->velocity[0][p], v = f->velocity[1][p], w = f->velocity[2][p];
        const double inverse = f->rho_i[p], sound = f->speed[p];
        const double pressure = k_c2 * (f->qs[p] * r[0] - u * r[1] - v * r[2] - w * r[3] + r[4]);
        const double along = k_half * inverse * (r[1] - u * r[0]);
        const double compressed = k_half * inverse / sound * pressure;
        r[2] = inverse * (r[2] - v * r[0]);
        r[3] = inverse * (r[3] - w * r[0]);
        r[0] -= pressure / (sound * sound);
        r[1] = compressed + along;
        r[4] = compressed - along;
      }
}

// Waves of sound along `from` become ones along `to`. The faster wave lies where the velocity along
// its direction would, the slower one in r[4].
ALWAYS_INLINE void turn(const struct flow* f, int from, int to) {
#pragma omp for schedule(static)
  for (int k = 1; k < k_nz - 1; k++)
    for (int j = 1; j < k_ny - 1; j++)
      for (size_t p = at(1, j, k); p < at(k_nx - 1, j, k); p++) {
        double* r = f->rhs[p];
        const double compressed = 0.5 * (r[1 + from] + r[4]), along = k_half * r[1 + to];
        r[1 + from] = k_half * (r[1 + from] - r[4]);
        r[1 + to] = compressed + along;
        r[4] = compressed - along;
      }
}

static void from_waves(const struct flow* f) {
#pragma omp for schedule(static)
  for (int k = 1; k < k_nz - 1; k++)
    for (int j = 1; j < k_ny - 1; j++)
      for (size_t p = at(1, j, k); p < at(k_nx - 1, j, k); p++) {
        double* r = f->rhs[p];
        const double u = f->velocity[0][p], v = f->velocity[1][p], w = f->velocity[2][p];
        const double density = f->u[p][0], sound = f->speed[p];
        const double pressure = k_half * density * sound * (r[3] + r[4]);
        const double along = k_half * density * (r[3] - r[4]);
        r[0] += pressure / (sound * sound);
        r[1] = density * r[1] + u * r[0];
        r[2] = density * r[2] + v * r[0];
        r[3] = along + w * r[0];
        r[4] = pressure / k_c2 - f->qs[p] * r[0] + u * r[1] + v * r[2] + w * r[3];
      }
}

// A row of the matrices: differences of the flow, viscosity (the largest of any equation),
// dissipation.
ALWAYS_INLINE void fill_row(const struct flow* f, size_t p, int d, int place) {
  static const double far[5] = {1, -4, 6, -4, 1};
  const double t1 = k_dt * k_t1, t2 = k_dt * k_t2;
  const int last = k_size[d] - 2;
  double* row = matrix[k_flow][place];
  for (int c = 0; c < 5; c++)
    row[c] = k_dt * k_dissipation * far[c];
  if (place == 1 || place == last) row[2] -= k_dt * k_dissipation;
  if (place == 1) row[1] = 0;
  if (place <= 2) row[0] = 0;
  if (place == last) row[3] = 0;
  if (place >= last - 1) row[4] = 0;
  row[1] -= t2 * speeds[place - 1] + t1 * damping[place - 1];
  row[2] += 1 + 2 * t1 * damping[place];
  row[3] += t2 * speeds[place + 1] - t1 * damping[place + 1];
  const double before = t2 * f->speed[p - k_step[d]], after = t2 * f->speed[p + k_step[d]];
  for (int wave = k_faster; wave < k_waves; wave++)
    memcpy(matrix[wave][place], row, sizeof(double) * 5);
  matrix[k_faster][place][1] -= before;
  matrix[k_faster][place][3] += after;
  matrix[k_slower][place][1] += before;
  matrix[k_slower][place][3] -= after;
}

// The unknown at place leaves the two equations behind it. columns: the right-hand sides' of r.
ALWAYS_INLINE void eliminate(double (*m)[5], int place, double* r, size_t stride,
                             const int* columns, int count) {
  const double inverse = 1 / m[place][2];
  m[place][3] *= inverse;
  m[place][4] *= inverse;
  for (int c = 0; c < count; c++)
    r[columns[c]] *= inverse;
  for (int behind = 1; behind <= 2; behind++) {
    double* row = m[place + behind];
    const double factor = row[2 - behind];
    row[3 - behind] -= factor * m[place][3];
    row[4 - behind] -= factor * m[place][4];
    for (int c = 0; c < count; c++)
      r[(size_t)behind * stride + (size_t)columns[c]] -= factor * r[columns[c]];
  }
}

ALWAYS_INLINE void solve_line(const struct flow* f, size_t first, int d) {
  const size_t step = k_step[d], stride = 5 * step;
  const int size = k_size[d];
  const int across[3] = {0, 1 + (d + 1) % 3, 1 + (d + 2) % 3}, faster[1] = {1 + d}, slower[1] = {4};
  for (int place = 0; place < size; place++) {
    const size_t p = first + (size_t)place * step;
    const double viscous = k_viscosity * f->rho_i[p];
    speeds[place] = f->velocity[d][p];
    damping[place] = k_smooth + fmax(k_heat, 4.0 / 3) * viscous;
  }
  for (int wave = 0; wave < k_waves; wave++) // the ends do not change
    for (int c = 0; c < 5; c++)
      matrix[wave][0][c] = matrix[wave][size - 1][c] = c == 2;
  for (int place = 1; place < size - 1; place++)
    fill_row(f, first + (size_t)place * step, d, place);
  double* r = f->rhs[first];
  for (int place = 0; place < size - 2; place++, r += stride) {
    eliminate(matrix[k_flow], place, r, stride, across, 3);
    eliminate(matrix[k_faster], place, r, stride, faster, 1);
    eliminate(matrix[k_slower], place, r, stride, slower, 1);
  }
  for (int c = 0; c < 5; c++) // the last but one; behind it, zeros
    r[c] /= matrix[c == 4 ? k_slower : c == faster[0] ? k_faster : k_flow][size - 2][2];
  for (int place = size - 3; place > 0; place--) {
    r -= stride;
    UNROLL for (int c = 0; c < 5; c++) {
      const double* row = matrix[c == 4 ? k_slower : c == 1 + d ? k_faster : k_flow][place];
      r[c] -= row[3] * r[stride + (size_t)c] + row[4] * r[2 * stride + (size_t)c];
    }
  }
}

static void step(const struct flow* f) {
#pragma omp parallel
  {
    compute_rhs(f, k_dt);
    to_waves(f);
    along_lines(f, 0, solve_line);
    turn(f, 0, 1);
    along_lines(f, 1, solve_line);
    turn(f, 1, 2);
    along_lines(f, 2, solve_line);
    from_waves(f);
    add_to_solution(f, 1);
  }
}

int main(int count, char** arguments) {
  return run_flow(count, arguments, "scalar", 1, step, k_nearer);
}
