// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The same data in one array and in small blocks: a sparse matrix, its rows one after the other or
// each by a malloc of its own, times a vector; and a hash table of chained nodes, in one array or
// each by a malloc of its own, in which keys are looked up. Nodes and rows are made in random order,
// so that neighbours in the table or matrix are none in memory, in either layout.
//
// usage: rows array|blocks|pool|nodes [SIZE [STEPS]]
//   array, blocks  the matrix's layout
//   pool, nodes    the table's
#include "whole_program.h"

#include <math.h>

enum { k_rows = 1 << 14, k_most_entries = 48, k_nodes = 1 << 17, k_lookups = 1 << 19 };

struct entry {
  double value;
  uint64_t column;
};
struct row {
  uint64_t count;
  struct entry entries[];
};

static size_t count_of(size_t i) {
  return k_most_entries / 2 + mixed(i) % (k_most_entries / 2);
}
static size_t bytes_of(size_t i) {
  return sizeof(struct row) + count_of(i) * sizeof(struct entry);
}
// The numbers below a power of two in another order.
static size_t turned(size_t i, size_t count) {
  return (size_t)(i * UINT64_C(0x9e3779b97f4a7c15)) & (count - 1);
}

static void fill_row(struct row* row, size_t i, size_t rows) {
  row->count = count_of(i);
  for (size_t e = 0; e < row->count; e++)
    row->entries[e] = (struct entry){1, mixed(i * k_most_entries + e) & (rows - 1)};
}

static struct row** make_array(size_t rows, void** to_free) {
  struct row** const matrix = allocate(rows, sizeof *matrix);
  size_t bytes = 0;
  for (size_t i = 0; i < rows; i++)
    bytes += bytes_of(i);
  char* const array = allocate(bytes, 1);
  char* at = array;
  for (size_t k = 0; k < rows; k++) {
    const size_t i = turned(k, rows);
    matrix[i] = (struct row*)(void*)at;
    fill_row(matrix[i], i, rows);
    at += bytes_of(i);
  }
  *to_free = array;
  return matrix;
}

static struct row** make_blocks(size_t rows) {
  struct row** const matrix = allocate(rows, sizeof *matrix);
  for (size_t k = 0; k < rows; k++) {
    const size_t i = turned(k, rows);
    struct row* const row = allocate(1, bytes_of(i));
    fill_row(row, i, rows);
    matrix[i] = row;
  }
  return matrix;
}

static double multiply(struct row* const* matrix, size_t rows, const double* x, double* y) {
  double sum = 0;
#pragma omp parallel for schedule(static) reduction(+ : sum)
  for (size_t i = 0; i < rows; i++) {
    double product = 0;
    for (size_t e = 0; e < matrix[i]->count; e++)
      product += matrix[i]->entries[e].value * x[matrix[i]->entries[e].column];
    y[i] = product;
    sum += product;
  }
  return sum;
}

static int run_matrix(struct work* work, int in_blocks) {
  const size_t rows = (size_t)work->size * k_rows;
  void* array = NULL;
  struct row** const matrix = in_blocks ? make_blocks(rows) : make_array(rows, &array);
  double* const x = allocate(rows, sizeof *x);
  double* const y = allocate(rows, sizeof *y);
  double wanted = 0, sum = 0;
  for (size_t i = 0; i < rows; i++) {
    x[i] = 1;
    y[i] = 0;
    wanted += (double)count_of(i);
  }
  while (next_step(work))
    sum += multiply(matrix, rows, x, y);
  for (size_t i = 0; i < rows && in_blocks; i++)
    free(matrix[i]);
  free(array), free(matrix), free(x), free(y);
  return report("rows", work, fabs(sum - wanted * (double)work->done), 0);
}

struct node {
  struct node* next;
  uint64_t key, value;
};

static size_t head_of(uint64_t key, size_t nodes) {
  return mixed(key) & (nodes / 2 - 1);
}

static void put(struct node** heads, size_t nodes, struct node* node, uint64_t key) {
  struct node** const head = heads + head_of(key, nodes);
  *node = (struct node){*head, key, 3 * key};
  *head = node;
}

static struct node** make_pool(size_t nodes, struct node** to_free) {
  struct node** const heads = calloc(nodes / 2, sizeof *heads);
  struct node* const pool = allocate(nodes, sizeof *pool);
  if (heads == NULL) give_up("calloc");
  for (size_t k = 0; k < nodes; k++)
    put(heads, nodes, pool + k, turned(k, nodes));
  *to_free = pool;
  return heads;
}

static struct node** make_nodes(size_t nodes) {
  struct node** const heads = calloc(nodes / 2, sizeof *heads);
  if (heads == NULL) give_up("calloc");
  for (size_t k = 0; k < nodes; k++) {
    struct node* const node = allocate(1, sizeof *node);
    put(heads, nodes, node, turned(k, nodes));
  }
  return heads;
}

static uint64_t look_up(struct node* const* heads, size_t nodes, size_t lookups) {
  uint64_t sum = 0;
#pragma omp parallel for schedule(static) reduction(+ : sum)
  for (size_t i = 0; i < lookups; i++) {
    const uint64_t key = mixed(i) & (nodes - 1);
    const struct node* node = heads[head_of(key, nodes)];
    while (node != NULL && node->key != key)
      node = node->next;
    sum += node != NULL ? node->value - 3 * key + 1 : 0;
  }
  return sum;
}

static int run_table(struct work* work, int in_blocks) {
  const size_t nodes = (size_t)work->size * k_nodes;
  struct node* pool = NULL;
  struct node** const heads = in_blocks ? make_nodes(nodes) : make_pool(nodes, &pool);
  uint64_t found = 0;
  while (next_step(work))
    found += look_up(heads, nodes, k_lookups);
  for (size_t at = 0; at < nodes / 2 && in_blocks; at++)
    while (heads[at] != NULL) {
      struct node* const next = heads[at]->next;
      free(heads[at]);
      heads[at] = next;
    }
  free(pool), free(heads);
  const double error = fabs((double)found - (double)k_lookups * (double)work->done);
  return report("rows", work, error, 0);
}

int main(int count, char** arguments) {
  static const char* const layouts[] = {"array", "blocks", "pool", "nodes"};
  int layout = 0;
  while (layout < 4 && (count < 2 || strcmp(arguments[1], layouts[layout]) != 0))
    layout++;
  if (layout == 4) {
    fprintf(stderr, "usage: rows array|blocks|pool|nodes [SIZE [STEPS]]\n");
    return 2;
  }
  struct work work = read_work(count - 1, arguments + 1);
  const int in_blocks = layout % 2;
  return layout < 2 ? run_matrix(&work, in_blocks) : run_table(&work, in_blocks);
}
