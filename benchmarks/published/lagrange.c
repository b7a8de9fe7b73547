// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Lagrangian hydrodynamics on an unstructured mesh of hexahedra, in the manner of LULESH (Karlin et
// al., LLNL-TR-641973): a gas with hot elements at one corner of a cube. Elements find their nodes,
// and nodes their elements' corners, by lists. Each step allocates the forces of corners, stresses
// and new volumes anew. Elements lose the work that their forces do to nodes (Caramana et al.,
// "compatible hydrodynamics", J. Comput. Phys. 1998), so that the total energy stays what it was.
//
// usage: lagrange [SIZE [STEPS]]
#include "whole_program.h"

#include <math.h>

enum { k_corners = 8, k_dimensions = 3, k_slab = 36 };

static const double k_gas = 1.4, k_time_step = 1e-4;

// Corners of each face in an order that shows outwards.
static const int k_face[6][4] = {{0, 3, 2, 1}, {4, 5, 6, 7}, {0, 1, 5, 4},
                                 {1, 2, 6, 5}, {2, 3, 7, 6}, {3, 0, 4, 7}};

struct mesh {
  size_t edge, height; // elements of a layer's edge; layers
  size_t elements, nodes;
  uint32_t* node_of;   // of each element's corners
  uint32_t* first;     // of each node's corners, one more than there are
  uint32_t* corner_of; // element's number times eight, plus corner
  double *position[k_dimensions], *velocity[k_dimensions], *node_mass;
  double *energy, *pressure, *viscosity, *volume, *mass;
};

struct vector {
  double of[k_dimensions];
};

static size_t node_at(const struct mesh* mesh, size_t x, size_t y, size_t z) {
  return (z * (mesh->edge + 1) + y) * (mesh->edge + 1) + x;
}

static void allocate_mesh(struct mesh* mesh) {
  mesh->node_of = allocate(mesh->elements * k_corners, sizeof(uint32_t));
  mesh->first = allocate(mesh->nodes + 1, sizeof(uint32_t));
  mesh->corner_of = allocate(mesh->elements * k_corners, sizeof(uint32_t));
  for (int d = 0; d < k_dimensions; d++)
    mesh->position[d] = allocate(mesh->nodes, sizeof(double));
  for (int d = 0; d < k_dimensions; d++)
    mesh->velocity[d] = allocate(mesh->nodes, sizeof(double));
  mesh->node_mass = allocate(mesh->nodes, sizeof(double));
  mesh->energy = allocate(mesh->elements, sizeof(double));
  mesh->pressure = allocate(mesh->elements, sizeof(double));
  mesh->viscosity = allocate(mesh->elements, sizeof(double));
  mesh->volume = allocate(mesh->elements, sizeof(double));
  mesh->mass = allocate(mesh->elements, sizeof(double));
}

static void connect(struct mesh* mesh) {
#pragma omp parallel for schedule(static)
  for (size_t e = 0; e < mesh->elements; e++) {
    const size_t x = e % mesh->edge, y = e / mesh->edge % mesh->edge,
                 z = e / mesh->edge / mesh->edge;
    for (int c = 0; c < k_corners; c++) {
      const int in_layer = c & 3; // counter-clockwise
      const size_t right = in_layer == 1 || in_layer == 2, back = in_layer >= 2;
      mesh->node_of[e * k_corners + (size_t)c] =
          (uint32_t)node_at(mesh, x + right, y + back, z + (size_t)(c / 4));
    }
  }
  memset(mesh->first, 0, (mesh->nodes + 1) * sizeof(uint32_t));
  const size_t corners = mesh->elements * k_corners;
  for (size_t c = 0; c < corners; c++)
    mesh->first[mesh->node_of[c]]++;
  for (size_t n = 1; n <= mesh->nodes; n++)
    mesh->first[n] += mesh->first[n - 1];
  for (size_t c = corners; c-- > 0;)
    mesh->corner_of[--mesh->first[mesh->node_of[c]]] = (uint32_t)c;
}

static void start(struct mesh* mesh) {
  const double side = 1.0 / (double)mesh->edge;
#pragma omp parallel for schedule(static)
  for (size_t n = 0; n < mesh->nodes; n++) {
    const size_t layer = (mesh->edge + 1) * (mesh->edge + 1);
    const size_t at[] = {n % (mesh->edge + 1), n % layer / (mesh->edge + 1), n / layer};
    for (int d = 0; d < k_dimensions; d++) {
      mesh->position[d][n] = side * (double)at[d];
      mesh->velocity[d][n] = 0;
    }
    mesh->node_mass[n] =
        side * side * side / k_corners * (double)(mesh->first[n + 1] - mesh->first[n]);
  }
#pragma omp parallel for schedule(static)
  for (size_t e = 0; e < mesh->elements; e++) {
    const size_t x = e % mesh->edge, y = e / mesh->edge % mesh->edge,
                 z = e / mesh->edge / mesh->edge;
    mesh->volume[e] = mesh->mass[e] = side * side * side;
    mesh->viscosity[e] = 0;
    mesh->energy[e] = x + y + z < 8 ? 10 : 1; // of its mass
    mesh->pressure[e] = (k_gas - 1) * mesh->energy[e];
  }
}

static void gather(const struct mesh* mesh, double* const field[], size_t e, struct vector at[]) {
  for (int c = 0; c < k_corners; c++)
    for (int d = 0; d < k_dimensions; d++)
      at[c].of[d] = field[d][mesh->node_of[e * k_corners + (size_t)c]];
}

// Twice a face's area as a vector: the product of its diagonals.
static struct vector twice_area(const struct vector at[], const int face[4]) {
  double a[k_dimensions], b[k_dimensions];
  for (int d = 0; d < k_dimensions; d++) {
    a[d] = at[face[2]].of[d] - at[face[0]].of[d];
    b[d] = at[face[3]].of[d] - at[face[1]].of[d];
  }
  return (struct vector){
      {a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]}};
}

// A quarter of the force on each face goes to each of its corners.
static void find_forces(const struct mesh* mesh, const double* stress, double* const force[]) {
#pragma omp parallel for schedule(static)
  for (size_t e = 0; e < mesh->elements; e++) {
    struct vector at[k_corners], sum[k_corners] = {{{0}}};
    gather(mesh, mesh->position, e, at);
    for (int f = 0; f < 6; f++) {
      const struct vector area = twice_area(at, k_face[f]);
      for (int c = 0; c < 4; c++)
        for (int d = 0; d < k_dimensions; d++)
          sum[k_face[f][c]].of[d] += area.of[d];
    }
    for (int d = 0; d < k_dimensions; d++)
      for (int c = 0; c < k_corners; c++)
        force[d][e * k_corners + (size_t)c] = stress[e] / 8 * sum[c].of[d];
  }
}

// Nodes of the cube's surface stay in their planes' way: there velocities are kept zero.
static void move_nodes(const struct mesh* mesh, double* const force[], double* const mean[]) {
  const size_t row = mesh->edge + 1, layer = row * row;
#pragma omp parallel for schedule(static)
  for (size_t n = 0; n < mesh->nodes; n++) {
    const size_t at[] = {n % row, n % layer / row, n / layer},
                 last[] = {mesh->edge, mesh->edge, mesh->height};
    for (int d = 0; d < k_dimensions; d++) {
      double sum = 0;
      for (uint32_t c = mesh->first[n]; c < mesh->first[n + 1]; c++)
        sum += force[d][mesh->corner_of[c]];
      const double old = mesh->velocity[d][n];
      const int fixed = at[d] == 0 || at[d] == last[d];
      const double now = fixed ? 0 : old + k_time_step * sum / mesh->node_mass[n];
      mesh->velocity[d][n] = now;
      mean[d][n] = (old + now) / 2;
      mesh->position[d][n] += k_time_step * mean[d][n];
    }
  }
}

static void find_volumes(const struct mesh* mesh, double* volume) {
#pragma omp parallel for schedule(static)
  for (size_t e = 0; e < mesh->elements; e++) {
    struct vector at[k_corners];
    gather(mesh, mesh->position, e, at);
    double sum = 0;
    for (int f = 0; f < 6; f++) {
      const struct vector area = twice_area(at, k_face[f]);
      for (int c = 0; c < 4; c++)
        for (int d = 0; d < k_dimensions; d++)
          sum += at[k_face[f][c]].of[d] * area.of[d];
    }
    volume[e] = sum / 24; // a third of the centre's product with the area
  }
}

// What forces did to nodes is taken from elements; then pressure and viscosity follow.
static void update_elements(const struct mesh* mesh, double* const force[], double* const mean[],
                            const double* volume) {
#pragma omp parallel for schedule(static)
  for (size_t e = 0; e < mesh->elements; e++) {
    struct vector at[k_corners];
    gather(mesh, mean, e, at);
    double power = 0;
    for (int d = 0; d < k_dimensions; d++)
      for (int c = 0; c < k_corners; c++)
        power += force[d][e * k_corners + (size_t)c] * at[c].of[d];
    mesh->energy[e] -= k_time_step * power / mesh->mass[e];
    const double density = mesh->mass[e] / volume[e];
    const double growth = (volume[e] - mesh->volume[e]) / (k_time_step * volume[e]);
    const double length = cbrt(volume[e]);
    mesh->viscosity[e] = growth < 0 ? 2 * density * length * length * growth * growth : 0;
    mesh->pressure[e] = (k_gas - 1) * density * mesh->energy[e];
    mesh->volume[e] = volume[e];
  }
}

static void step(const struct mesh* mesh) {
  double *force[k_dimensions], *mean[k_dimensions];
  for (int d = 0; d < k_dimensions; d++)
    force[d] = allocate(mesh->elements * k_corners, sizeof(double));
  double* const stress = allocate(mesh->elements, sizeof(double));
#pragma omp parallel for schedule(static)
  for (size_t e = 0; e < mesh->elements; e++)
    stress[e] = mesh->pressure[e] + mesh->viscosity[e];
  find_forces(mesh, stress, force);
  free(stress);
  for (int d = 0; d < k_dimensions; d++)
    mean[d] = allocate(mesh->nodes, sizeof(double));
  move_nodes(mesh, force, mean);
  double* const volume = allocate(mesh->elements, sizeof(double));
  find_volumes(mesh, volume);
  update_elements(mesh, force, mean, volume);
  free(volume);
  for (int d = 0; d < k_dimensions; d++)
    free(force[d]), free(mean[d]);
}

static double total_energy(const struct mesh* mesh) {
  double sum = 0;
  for (size_t e = 0; e < mesh->elements; e++)
    sum += mesh->mass[e] * mesh->energy[e];
  for (size_t n = 0; n < mesh->nodes; n++)
    for (int d = 0; d < k_dimensions; d++)
      sum += mesh->node_mass[n] / 2 * mesh->velocity[d][n] * mesh->velocity[d][n];
  return sum;
}

int main(int count, char** arguments) {
  struct work work = read_work(count, arguments);
  struct mesh mesh = {.edge = k_slab, .height = k_slab * (size_t)work.size};
  mesh.elements = mesh.edge * mesh.edge * mesh.height;
  mesh.nodes = (mesh.edge + 1) * (mesh.edge + 1) * (mesh.height + 1);
  allocate_mesh(&mesh);
  connect(&mesh);
  start(&mesh);
  const double before = total_energy(&mesh);
  while (next_step(&work))
    step(&mesh);
  const double error = fabs(total_energy(&mesh) / before - 1);
  return report("lagrange", &work, error, 1e-9);
}
