// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// PageRank on a graph whose degrees follow a power law, after the description of Ligra (Shun and
// Blelloch, PPoPP 2013) and of its use by Huckebrink (thesis, RWTH Aachen 2025), who found that its
// arrays only pay together: each vertex pulls the ranks of those that point to it, divided by their
// degrees. The ranks' sum is known.
//
// usage: pagerank [SIZE [STEPS]]
#include "whole_program.h"

#include <math.h>

enum { k_vertices = 1 << 18, k_edges_of_each = 8 };
static const double k_damping = 0.85;

struct vertex {
  uint64_t first; // of its incoming edges; the next vertex has the end
  uint32_t outgoing, unused;
};

struct graph {
  size_t vertices, edges;
  struct vertex* vertex; // one more than there are
  uint32_t* source;      // of each edge
};

// Incoming edges: P(degree >= d) = 16 / d², so 8 on average.
static uint64_t degree(size_t vertex) {
  const double part = ((double)(mixed(vertex) >> 40) + 1) / (1 << 24);
  return (uint64_t)(k_edges_of_each / 2 / sqrt(part));
}

// Who points to others often is drawn by a power, too; names say nothing about degrees.
static uint32_t source_of(uint64_t edge, size_t vertices) {
  const double part = (double)(mixed(~edge) >> 32) / (double)(UINT64_C(1) << 32);
  const uint64_t number = (uint64_t)(part * part * part * (double)vertices);
  return (uint32_t)(number * 0x9e3779b1u & (vertices - 1));
}

// Returns the number of edges.
static size_t count_edges(struct vertex* vertex, size_t vertices) {
#pragma omp parallel for schedule(static)
  for (size_t v = 0; v < vertices; v++)
    vertex[v] = (struct vertex){degree(v), 0, 0};
  size_t sum = 0;
  for (size_t v = 0; v < vertices; v++) {
    const size_t edges = vertex[v].first;
    vertex[v].first = sum;
    sum += edges;
  }
  vertex[vertices] = (struct vertex){sum, 0, 0};
  return sum;
}

static void draw_edges(const struct graph* graph) {
#pragma omp parallel for schedule(static)
  for (size_t e = 0; e < graph->edges; e++) {
    graph->source[e] = source_of(e, graph->vertices);
    __atomic_fetch_add(&graph->vertex[graph->source[e]].outgoing, 1, __ATOMIC_RELAXED);
  }
}

// Returns the rank of vertices from which no edge goes out: it is lost.
static double step(const struct graph* graph, const double* rank, double* next) {
  const struct vertex* const vertex = graph->vertex;
  const double base = (1 - k_damping) / (double)graph->vertices;
  double lost = 0;
#pragma omp parallel for schedule(dynamic, 4096) reduction(+ : lost)
  for (size_t v = 0; v < graph->vertices; v++) {
    double sum = 0;
    for (uint64_t e = vertex[v].first; e < vertex[v + 1].first; e++) {
      const uint32_t from = graph->source[e];
      sum += rank[from] / vertex[from].outgoing;
    }
    next[v] = base + k_damping * sum;
    if (vertex[v].outgoing == 0) lost += rank[v];
  }
  return lost;
}

static void take_over(const double* next, double* rank, size_t vertices) {
#pragma omp parallel for schedule(static)
  for (size_t v = 0; v < vertices; v++)
    rank[v] = next[v];
}

static double sum_of(const double* rank, size_t vertices) {
  double sum = 0;
#pragma omp parallel for schedule(static) reduction(+ : sum)
  for (size_t v = 0; v < vertices; v++)
    sum += rank[v];
  return sum;
}

int main(int count, char** arguments) {
  struct work work = read_work(count, arguments);
  const size_t vertices = (size_t)work.size * k_vertices;
  struct graph graph = {vertices, 0, allocate(vertices + 1, sizeof *graph.vertex), NULL};
  graph.edges = count_edges(graph.vertex, vertices);
  graph.source = allocate(graph.edges, sizeof *graph.source);
  double* rank = allocate(vertices, sizeof *rank);
  double* next = allocate(vertices, sizeof *next);
  draw_edges(&graph);
#pragma omp parallel for schedule(static)
  for (size_t v = 0; v < vertices; v++)
    rank[v] = next[v] = 1 / (double)vertices;

  double wanted = 1;
  while (next_step(&work)) {
    wanted = 1 - k_damping + k_damping * (wanted - step(&graph, rank, next));
    take_over(next, rank, vertices);
  }
  const double error = fabs(sum_of(rank, vertices) - wanted);
  free(graph.vertex), free(graph.source), free(rank), free(next);
  return report("pagerank", &work, error, 1e-9);
}
