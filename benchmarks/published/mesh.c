// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A time step of the heat equation on an unstructured mesh, in the manner of NAS UA (H. Feng et
// al., "Unstructured Adaptive (UA) NAS Parallel Benchmark", NAS-04-006, 2004): elements of 5 x 5
// x 5 points in no order, each with values of its own; those of points that elements share lie once
// more in vectors and go to and fro by indices. Convection is explicit; diffusion is solved by
// conjugate gradients with a diagonal preconditioner. Elements do not divide here, so all have the
// same size. The solution is known, and must be met.
//
// usage: mesh NODES
//   NODES   of the elements' solution and residual, search direction and its product, factors; of
//           shared points' vectors and indices
//   prints  seconds, bytes of each group
#include "groups.h"

enum {
  k_side = 10, // elements along an edge of the box
  k_elements = k_side * k_side * k_side,
  k_order = 4, // intervals of an element
  k_nodes = k_order + 1,
  k_points = k_nodes * k_nodes * k_nodes, // of an element
  k_inner = (k_order - 1) * (k_order - 1) * (k_order - 1),
  k_outer = k_points - k_inner,
  k_edge = k_side * k_order + 1, // points along an edge of the box
  k_shared = k_edge * k_edge * k_edge - k_elements * k_inner,
  k_iterations = 5
};
enum group { k_solution_group, k_search_group, k_factor_group, k_shared_group, k_groups };

typedef double element[k_nodes][k_nodes][k_nodes];

struct mesh {
  element *x, *r, *p, *ap;            // solution, residual, search direction, its product
  element *mass, *inverse, *is_inner; // inverse: the preconditioner
  double *r_shared, *p_shared, *ap_shared, *x_shared, *inverse_shared;
  int (*index)[k_outer]; // of each element's outer points, their places in the vectors
  int *first, *copies;   // of each shared point, its copies in elements
};

static const double k_size = 1.0 / k_side, k_viscosity = 0.005, k_dt = 2e-3, k_flow = 1;
static const double k_weight[k_nodes] = {0.1, 49.0 / 90, 32.0 / 45, 49.0 / 90, 0.1};
static double derivative[k_nodes][k_nodes], stiffness[k_nodes][k_nodes];
static int outer[k_outer];        // points of an element
static int corner[k_elements][3]; // of elements, in points of the box

static double node(int i) {
  const double inside = sqrt(3.0 / 7);
  return (const double[]){-1, -inside, 0, inside, 1}[i];
}

// Derivatives of the polynomials that are 1 at one node, 0 at the others.
static void set_operators(void) {
  double product[k_nodes];
  for (int i = 0; i < k_nodes; i++) {
    product[i] = 1;
    for (int j = 0; j < k_nodes; j++)
      if (j != i) product[i] *= node(i) - node(j);
  }
  for (int i = 0; i < k_nodes; i++)
    for (int j = 0; j < k_nodes; j++)
      if (j != i) {
        derivative[i][j] = product[i] / product[j] / (node(i) - node(j));
        derivative[i][i] += 1 / (node(i) - node(j));
      }
  for (int i = 0; i < k_nodes; i++)
    for (int j = 0; j < k_nodes; j++)
      for (int l = 0; l < k_nodes; l++)
        stiffness[i][j] += derivative[l][i] * k_weight[l] * derivative[l][j];
}

// Along each direction, m of a row times the values on the line. Returns the sum, each weighted.
static inline __attribute__((always_inline)) double along_lines(double (*m)[k_nodes],
                                                                double (*u)[k_nodes][k_nodes],
                                                                int i, int j, int k, double x,
                                                                double y, double z) {
  double a = 0, b = 0, c = 0;
  for (int l = 0; l < k_nodes; l++) {
    a += m[i][l] * u[l][j][k];
    b += m[j][l] * u[i][l][k];
    c += m[k][l] * u[i][j][l];
  }
  return x * a + y * b + z * c;
}

#define EACH_NODE(i, j, k)                                                                         \
  for (int i = 0; i < k_nodes; i++)                                                                \
    for (int j = 0; j < k_nodes; j++)                                                              \
      for (int k = 0; k < k_nodes; k++)

// ap = H p in each element; the sum over all of p H p.
static void apply(const struct mesh* m, double* product) {
  const double* w = k_weight;
#pragma omp for schedule(static) reduction(+ : product[ : 1])
  for (int e = 0; e < k_elements; e++)
    EACH_NODE(i, j, k) {
      const double bent =
          along_lines(stiffness, m->p[e], i, j, k, w[j] * w[k], w[i] * w[k], w[i] * w[j]);
      const double p = m->p[e][i][j][k];
      const double value = k_viscosity * k_size / 2 * bent + m->mass[e][i][j][k] * p / k_dt;
      m->ap[e][i][j][k] = value;
      product[0] += value * p;
    }
}

// r += sign times what flows away, of p.
static void convect(const struct mesh* m, double sign) {
#pragma omp for schedule(static)
  for (int e = 0; e < k_elements; e++)
    EACH_NODE(i, j, k) {
      const double slope = along_lines(derivative, m->p[e], i, j, k, 1, 1, 1) * 2 / k_size;
      m->r[e][i][j][k] += sign * k_flow * slope * m->mass[e][i][j][k];
    }
}

// Shared points have the sum of their copies.
static void gather(const struct mesh* m, const element* from, double* to) {
  const double* values = &from[0][0][0][0];
#pragma omp for schedule(static)
  for (int s = 0; s < k_shared; s++) {
    double sum = 0;
    for (int c = m->first[s]; c < m->first[s + 1]; c++)
      sum += values[m->copies[c]];
    to[s] = sum;
  }
}

static void spread(const struct mesh* m, const double* from, element* to) {
#pragma omp for schedule(static)
  for (int e = 0; e < k_elements; e++)
    for (int q = 0; q < k_outer; q++)
      (&to[e][0][0][0])[outer[q]] = from[m->index[e][q]];
}

// p = M r + beta p
static void turn(const struct mesh* m, double beta) {
#pragma omp for schedule(static)
  for (int s = 0; s < k_shared; s++)
    m->p_shared[s] = m->inverse_shared[s] * m->r_shared[s] + beta * m->p_shared[s];
#pragma omp for schedule(static)
  for (int e = 0; e < k_elements; e++)
    EACH_NODE(i, j, k)
  m->p[e][i][j][k] = m->inverse[e][i][j][k] * m->r[e][i][j][k] + beta * m->p[e][i][j][k];
  spread(m, m->p_shared, m->p);
}

// x += alpha p, r -= alpha H p; r M r.
static void advance(const struct mesh* m, double alpha, double* left) {
#pragma omp for schedule(static) reduction(+ : left[ : 1])
  for (int s = 0; s < k_shared; s++) {
    m->x_shared[s] += alpha * m->p_shared[s];
    m->r_shared[s] -= alpha * m->ap_shared[s];
    left[0] += m->r_shared[s] * m->r_shared[s] * m->inverse_shared[s];
  }
  double *x = &m->x[0][0][0][0], *r = &m->r[0][0][0][0];
  const double *p = &m->p[0][0][0][0], *ap = &m->ap[0][0][0][0];
  const double *inverse = &m->inverse[0][0][0][0], *is_inner = &m->is_inner[0][0][0][0];
#pragma omp for simd schedule(static) reduction(+ : left[ : 1])
  for (int q = 0; q < k_elements * k_points; q++) {
    x[q] += alpha * p[q];
    r[q] -= alpha * ap[q];
    left[0] += r[q] * r[q] * inverse[q] * is_inner[q];
  }
}

// r is what the solution should give, p the temperature before.
static void step(const struct mesh* m) {
  double left[k_iterations + 1] = {0}, product[k_iterations] = {0};
#pragma omp parallel
  {
    convect(m, -1);
    gather(m, m->r, m->r_shared);
    advance(m, 0, &left[0]);
    for (int i = 0; i < k_iterations; i++) {
      turn(m, i > 0 ? left[i] / left[i - 1] : 0);
      apply(m, &product[i]);
      gather(m, m->ap, m->ap_shared);
      advance(m, left[i] / product[i], &left[i + 1]);
    }
    spread(m, m->x_shared, m->x);
  }
}

static void place(int e, int q, int* at) {
  at[0] = corner[e][0] + q / (k_nodes * k_nodes);
  at[1] = corner[e][1] + q / k_nodes % k_nodes;
  at[2] = corner[e][2] + q % k_nodes;
}

// 0 on the faces of the box.
static double wanted(int e, int q) {
  double value = 1;
  int at[3];
  place(e, q, at);
  for (int d = 0; d < 3; d++) {
    const double x = (at[d] / k_order + (node(at[d] % k_order) + 1) / 2) * k_size;
    value *= 4 * x * (1 - x);
  }
  return value;
}

// Elements in a random order; shared points in that in which elements name them.
static void connect(const struct mesh* m) {
  uint64_t state = 97;
  int order[k_elements], count = 0;
  for (int e = 0; e < k_elements; e++) {
    const int other = (int)(next_random(&state) % (uint64_t)(e + 1));
    order[e] = order[other];
    order[other] = e;
  }
  int* number = calloc(k_edge * k_edge * k_edge, sizeof *number);
  if (!number) give_up("calloc");
  for (int e = 0; e < k_elements; e++) {
    corner[e][0] = order[e] / (k_side * k_side) * k_order;
    corner[e][1] = order[e] / k_side % k_side * k_order;
    corner[e][2] = order[e] % k_side * k_order;
    for (int q = 0; q < k_outer; q++) {
      int at[3];
      place(e, outer[q], at);
      int* one = &number[(at[0] * k_edge + at[1]) * k_edge + at[2]];
      if (*one == 0) *one = ++count;
      m->index[e][q] = *one - 1;
      m->first[*one]++;
    }
  }
  free(number);
  for (int s = 0; s < k_shared; s++)
    m->first[s + 1] += m->first[s];
  for (int e = k_elements - 1; e >= 0; e--) // fills each point's part from its end
    for (int q = k_outer - 1; q >= 0; q--)
      m->copies[--m->first[m->index[e][q] + 1]] = e * k_points + outer[q];
  for (int s = 0; s < k_shared; s++)
    m->first[s] = m->first[s + 1];
  m->first[k_shared] = k_elements * k_outer;
}

static void list_outer_points(void) {
  int found = 0, q = 0;
  EACH_NODE(i, j, k) {
    if (i % k_order == 0 || j % k_order == 0 || k % k_order == 0) outer[found++] = q;
    q++;
  }
}

// The preconditioner is the diagonal's inverse; 0 on the faces of the box, which do not change.
static void set_factors(const struct mesh* m) {
  const double *w = k_weight, half = k_size / 2;
  for (int e = 0; e < k_elements; e++)
    EACH_NODE(i, j, k) {
      const double bent = stiffness[i][i] * w[j] * w[k] + stiffness[j][j] * w[i] * w[k] +
                          stiffness[k][k] * w[i] * w[j];
      m->mass[e][i][j][k] = w[i] * w[j] * w[k] * half * half * half;
      m->ap[e][i][j][k] = k_viscosity * half * bent + m->mass[e][i][j][k] / k_dt;
      m->inverse[e][i][j][k] = 1 / m->ap[e][i][j][k];
      m->is_inner[e][i][j][k] = i % k_order && j % k_order && k % k_order;
    }
#pragma omp parallel
  gather(m, m->ap, m->inverse_shared);
  for (int s = 0; s < k_shared; s++)
    m->inverse_shared[s] = 1 / m->inverse_shared[s];
  for (int e = 0; e < k_elements; e++)
    for (int q = 0; q < k_outer; q++)
      if (wanted(e, outer[q]) < 1e-12) m->inverse_shared[m->index[e][q]] = 0;
}

static void set_temperature(const struct mesh* m) {
  double product[1] = {0};
  for (int e = 0; e < k_elements; e++)
    for (int q = 0; q < k_points; q++)
      (&m->p[e][0][0][0])[q] = wanted(e, q);
#pragma omp parallel
  {
    apply(m, product);
#pragma omp for schedule(static)
    for (int e = 0; e < k_elements; e++)
      memcpy(m->r[e], m->ap[e], sizeof m->r[e]);
    convect(m, 1);
  }
}

static bool is_right(const struct mesh* m) {
  double worst = 0;
  for (int e = 0; e < k_elements; e++)
    for (int q = 0; q < k_points; q++)
      worst = fmax(worst, fabs((&m->x[e][0][0][0])[q] - wanted(e, q)));
  return worst < 1e-3;
}

int main(int count, char** arguments) {
  struct groups groups = groups_of(count, arguments, k_groups);
  const size_t elements = k_elements * sizeof(element), vector = k_shared * sizeof(double);
  const size_t indices = k_elements * k_outer * sizeof(int);
  struct mesh m;
  element** const fields[] = {&m.x, &m.r, &m.p, &m.ap, &m.mass, &m.inverse, &m.is_inner};
  double** const vectors[] = {&m.x_shared, &m.r_shared, &m.p_shared, &m.ap_shared,
                              &m.inverse_shared};
  for (int i = 0; i < 7; i++)
    *fields[i] = array_in(&groups,
                          i < 2   ? k_solution_group
                          : i < 4 ? k_search_group
                                  : k_factor_group,
                          elements);
  for (int i = 0; i < 5; i++)
    *vectors[i] = array_in(&groups, k_shared_group, vector);
  m.index = array_in(&groups, k_shared_group, indices);
  m.copies = array_in(&groups, k_shared_group, indices);
  m.first = array_in(&groups, k_shared_group, (k_shared + 1) * sizeof(int));
  set_operators();
  list_outer_points();
  connect(&m);
  set_factors(&m);
  set_temperature(&m);
  const double begin = begin_main();
  step(&m);
  const double took = end_main(begin);
  return report(&groups, "mesh", took, is_right(&m));
}
