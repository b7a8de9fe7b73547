// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Hydrodynamics of a gas on a structured grid, in the manner of CloverLeaf (Mallinson et al., CUG
// 2013): seventeen fields, each read or written by some of seven short kernels. A step is
// Lagrangian, with artificial viscosity, then the cells' masses and energies are carried back to
// the grid by upwind fluxes, so that the total mass stays what it was. Velocities are at corners of
// cells; the box is closed.
//
// usage: hydro [SIZE [STEPS]]
#include "whole_program.h"

#include <math.h>

enum { k_width = 448 };
static const double k_gas = 1.4;

typedef double* restrict field;

// All fields have a row and a column more than there are cells: for corners and sides.
struct grid {
  size_t width, height, stride;
  field density0, density1, energy0, energy1, pressure, viscosity, sound_speed;
  field x_velocity0, x_velocity1, y_velocity0, y_velocity1;
  field x_volume_flux, y_volume_flux, x_mass_flux, y_mass_flux, x_energy_flux, y_energy_flux;
};

static void allocate_grid(struct grid* g) {
  const size_t all = g->stride * (g->height + 1);
  g->density0 = allocate(all, sizeof(double));
  g->density1 = allocate(all, sizeof(double));
  g->energy0 = allocate(all, sizeof(double));
  g->energy1 = allocate(all, sizeof(double));
  g->pressure = allocate(all, sizeof(double));
  g->viscosity = allocate(all, sizeof(double));
  g->sound_speed = allocate(all, sizeof(double));
  g->x_velocity0 = allocate(all, sizeof(double));
  g->x_velocity1 = allocate(all, sizeof(double));
  g->y_velocity0 = allocate(all, sizeof(double));
  g->y_velocity1 = allocate(all, sizeof(double));
  g->x_volume_flux = allocate(all, sizeof(double));
  g->y_volume_flux = allocate(all, sizeof(double));
  g->x_mass_flux = allocate(all, sizeof(double));
  g->y_mass_flux = allocate(all, sizeof(double));
  g->x_energy_flux = allocate(all, sizeof(double));
  g->y_energy_flux = allocate(all, sizeof(double));
}

// Lengths are in cells. A dense, hot square in a corner of a thin gas.
static void start(const struct grid* g) {
  field const zero[] = {g->density1,    g->energy1,       g->pressure,      g->viscosity,
                        g->sound_speed, g->x_velocity0,   g->x_velocity1,   g->y_velocity0,
                        g->y_velocity1, g->x_volume_flux, g->y_volume_flux, g->x_mass_flux,
                        g->y_mass_flux, g->x_energy_flux, g->y_energy_flux};
#pragma omp parallel for schedule(static)
  for (size_t row = 0; row <= g->height; row++)
    for (size_t at = row * g->stride; at < (row + 1) * g->stride; at++) {
      const int inside = row < 100 && at % g->stride < 100;
      g->density0[at] = inside ? 1 : 0.2;
      g->energy0[at] = inside ? 2.5 : 1;
      for (size_t f = 0; f < sizeof zero / sizeof *zero; f++)
        zero[f][at] = 0;
    }
}

// Returns the greatest speed of a signal.
static double find_pressure(const struct grid* g) {
  double fastest = 0;
#pragma omp parallel for schedule(static) reduction(max : fastest)
  for (size_t row = 0; row < g->height; row++)
    for (size_t at = row * g->stride; at < row * g->stride + g->width; at++) {
      g->pressure[at] = (k_gas - 1) * g->density0[at] * g->energy0[at];
      g->sound_speed[at] = sqrt(k_gas * g->pressure[at] / g->density0[at]);
      fastest =
          fmax(fastest, g->sound_speed[at] + fabs(g->x_velocity0[at]) + fabs(g->y_velocity0[at]));
    }
  return fastest;
}

static void find_viscosity(const struct grid* g) {
  const size_t up = g->stride;
#pragma omp parallel for schedule(static)
  for (size_t row = 0; row < g->height; row++)
    for (size_t at = row * up; at < row * up + g->width; at++) {
      const double* const x = g->x_velocity0 + at;
      const double* const y = g->y_velocity0 + at;
      const double growth = (x[1] + x[up + 1] - x[0] - x[up] + y[up] + y[up + 1] - y[0] - y[1]) / 2;
      g->viscosity[at] =
          growth < 0 ? g->density0[at] * growth * (2 * growth - g->sound_speed[at] / 2) : 0;
    }
}

static void accelerate(const struct grid* g, double time) {
  const size_t up = g->stride;
#pragma omp parallel for schedule(static)
  for (size_t row = 1; row < g->height; row++)
    for (size_t at = row * up + 1; at < row * up + g->width; at++) {
      const double* const p = g->pressure + at;
      const double* const q = g->viscosity + at;
      const double* const d = g->density0 + at;
      const double right = p[0] + q[0] + p[-up] + q[-up],
                   left = p[-1] + q[-1] + p[-up - 1] + q[-up - 1];
      const double above = p[0] + q[0] + p[-1] + q[-1],
                   below = p[-up] + q[-up] + p[-up - 1] + q[-up - 1];
      const double part = 2 * time / (d[0] + d[-1] + d[-up] + d[-up - 1]);
      g->x_velocity1[at] = g->x_velocity0[at] - part * (right - left);
      g->y_velocity1[at] = g->y_velocity0[at] - part * (above - below);
    }
}

// Volumes that pass a cell's left and lower sides; none through the box.
static void find_volume_fluxes(const struct grid* g, double time) {
  const size_t up = g->stride;
#pragma omp parallel for schedule(static)
  for (size_t row = 0; row < g->height; row++)
    for (size_t column = 0; column < g->width; column++) {
      const size_t at = row * up + column;
      const double* const x0 = g->x_velocity0 + at;
      const double* const x1 = g->x_velocity1 + at;
      const double* const y0 = g->y_velocity0 + at;
      const double* const y1 = g->y_velocity1 + at;
      g->x_volume_flux[at] = column == 0 ? 0 : time / 4 * (x0[0] + x0[up] + x1[0] + x1[up]);
      g->y_volume_flux[at] = row == 0 ? 0 : time / 4 * (y0[0] + y0[1] + y1[0] + y1[1]);
    }
}

// Cells change their volumes with their mass, and lose the work that they do.
static void change_volumes(const struct grid* g) {
  const size_t up = g->stride;
#pragma omp parallel for schedule(static)
  for (size_t row = 0; row < g->height; row++)
    for (size_t at = row * up; at < row * up + g->width; at++) {
      const double growth = g->x_volume_flux[at + 1] - g->x_volume_flux[at] +
                            g->y_volume_flux[at + up] - g->y_volume_flux[at];
      g->density1[at] = g->density0[at] / (1 + growth);
      g->energy1[at] =
          g->energy0[at] - (g->pressure[at] + g->viscosity[at]) / g->density0[at] * growth;
    }
}

// What flows through the box is nothing, so no cell beyond it is read.
static void find_mass_fluxes(const struct grid* g) {
  const size_t up = g->stride;
#pragma omp parallel for schedule(static)
  for (size_t row = 0; row < g->height; row++)
    for (size_t at = row * up; at < row * up + g->width; at++) {
      const size_t in_x = g->x_volume_flux[at] > 0 ? at - 1 : at;
      const size_t in_y = g->y_volume_flux[at] > 0 ? at - up : at;
      g->x_mass_flux[at] = g->x_volume_flux[at] * g->density1[in_x];
      g->y_mass_flux[at] = g->y_volume_flux[at] * g->density1[in_y];
      g->x_energy_flux[at] = g->x_mass_flux[at] * g->energy1[in_x];
      g->y_energy_flux[at] = g->y_mass_flux[at] * g->energy1[in_y];
    }
}

static void carry_back(const struct grid* g) {
  const size_t up = g->stride;
#pragma omp parallel for schedule(static)
  for (size_t row = 0; row < g->height; row++)
    for (size_t at = row * up; at < row * up + g->width; at++) {
      const double mass = g->x_mass_flux[at] - g->x_mass_flux[at + 1] + g->y_mass_flux[at] -
                          g->y_mass_flux[at + up];
      const double energy = g->x_energy_flux[at] - g->x_energy_flux[at + 1] + g->y_energy_flux[at] -
                            g->y_energy_flux[at + up];
      const double old = g->density0[at];
      g->density0[at] = old + mass;
      g->energy0[at] = (old * g->energy1[at] + energy) / g->density0[at];
      g->x_velocity0[at] = g->x_velocity1[at];
      g->y_velocity0[at] = g->y_velocity1[at];
    }
}

static void step(const struct grid* g) {
  const double time = 0.2 / find_pressure(g);
  find_viscosity(g);
  accelerate(g, time);
  find_volume_fluxes(g, time);
  change_volumes(g);
  find_mass_fluxes(g);
  carry_back(g);
}

static double total_mass(const struct grid* g) {
  double sum = 0;
  for (size_t row = 0; row < g->height; row++)
    for (size_t at = row * g->stride; at < row * g->stride + g->width; at++)
      sum += g->density0[at];
  return sum;
}

int main(int count, char** arguments) {
  struct work work = read_work(count, arguments);
  struct grid grid = {
      .width = k_width, .height = k_width * (size_t)work.size, .stride = k_width + 1};
  allocate_grid(&grid);
  start(&grid);
  const double before = total_mass(&grid);
  while (next_step(&work))
    step(&grid);
  double error = fabs(total_mass(&grid) / before - 1);
  // The shock has left the square, and nothing has become negative or endless.
  if (!(grid.x_velocity0[50 * grid.stride + 100] > 0) || !(find_pressure(&grid) < 10))
    error = INFINITY;
  return report("hydro", &work, error, 1e-10);
}
