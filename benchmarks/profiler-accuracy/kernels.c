/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Kernels with known memory accesses, each array a separate allocation: kernels NAME ROUNDS, or
 * NAME and seconds of CPU time as "2s". fill.c fills the arrays and is never instrumented, so that
 * exact counts contain the kernel only. Prints where the arrays were.
 *
 * kernels NAME SECONDSs SUBSET: measures how much time an array costs. Arrays of the subset (bit i:
 * the i-th that is allocated) map the same few pages again and again, so that they stay in the
 * cache while code and addresses are unchanged. Prints the CPU time of a round.
 */
#define _GNU_SOURCE
#include "fill.h"

#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define KERNEL __attribute__((noinline)) static

#ifndef SCALE_BITS
#define SCALE_BITS 0
#endif
enum { N = 1 << (20 + SCALE_BITS), PAGE = 4096, RESIDENT = 256 << 10 };
enum { SMALL = 256, EDGES = 8, TILE = 32, PIECE = 1 << 16 };
static volatile double g_sink;
static volatile long g_small = SMALL; /* prevents full unrolling */
static double g_seconds;
static long g_rounds;

static double cpu_seconds(void) {
  struct timespec now;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static struct {
  char* begin;
  size_t bytes;
} g_arrays[8];
static int g_count;
static long g_subset = -1; /* arrays to keep in the cache; -1: leave memory as it is */

static void* noted(size_t bytes, void* memory) {
  g_arrays[g_count].begin = memory;
  g_arrays[g_count++].bytes = bytes;
  return memory;
}
/* On one line, so that the array's name is in the line of the call. */
#define omp_alloc(bytes, allocator) noted(bytes, omp_alloc(bytes, allocator))

/* Replaces the array's whole pages by shared ones: with its own content, or with its first piece
 * repeated. By system calls, so that neither the C library nor a preloaded one notices. */
static void lay_over(char* begin, size_t bytes, int resident) {
  char* first = begin + (-(size_t)begin & (PAGE - 1));
  const size_t whole = (bytes - (size_t)(first - begin)) / PAGE * PAGE;
  const size_t piece = resident && whole > RESIDENT ? RESIDENT : whole;
  const int file = memfd_create("array", 0);
  if (file < 0 || ftruncate(file, (off_t)piece) != 0) abort();
  for (size_t done = 0; done < piece;) {
    const ssize_t more = pwrite(file, first + done, piece - done, (off_t)done);
    if (more <= 0) abort();
    done += (size_t)more;
  }
  for (size_t at = 0; at < whole; at += piece) {
    const size_t here = whole - at < piece ? whole - at : piece;
    if (syscall(SYS_mmap, first + at, here, (long)(PROT_READ | PROT_WRITE),
                (long)(MAP_SHARED | MAP_FIXED | MAP_POPULATE), (long)file, 0L) == -1)
      abort();
  }
  close(file);
}

/* Whether to run another round. */
static int go_on(void) {
  static double begin = -1;
  static long rounds = -2; /* two for warming up */
  if (g_seconds <= 0) return g_rounds-- > 0;
  if (rounds == -2 && g_subset >= 0)
    for (int i = 0; i < g_count; ++i)
      lay_over(g_arrays[i].begin, g_arrays[i].bytes, (int)(g_subset >> i & 1));
  if (++rounds <= 0) return 1;
  const double now = cpu_seconds();
  if (begin < 0) begin = now, rounds = 0;
  if (now - begin < g_seconds || rounds == 0) return 1;
  if (g_subset >= 0) printf("round %.9f\n", (now - begin) / (double)rounds);
  return 0;
}

KERNEL void triad(double* restrict a, const double* restrict b, const double* restrict c) {
#pragma omp parallel for
  for (long i = 0; i < N; ++i)
    a[i] = b[i] + 3 * c[i];
}
static void run_triad(void) {
  double* a = omp_alloc(sizeof(double) * (N), omp_default_mem_alloc);
  double* b = omp_alloc(sizeof(double) * (N), omp_default_mem_alloc);
  double* c = omp_alloc(sizeof(double) * (N), omp_default_mem_alloc);
  fill_numbers(a, N), fill_numbers(b, N), fill_numbers(c, N);
  while (go_on())
    triad(a, b, c);
}

KERNEL double dot(const double* restrict x, const double* restrict y) {
  double sum = 0;
#pragma omp parallel for reduction(+ : sum)
  for (long i = 0; i < N; ++i)
    sum += x[i] * y[i];
  return sum;
}
static void run_dot(void) {
  double* x = omp_alloc(sizeof(double) * (N), omp_default_mem_alloc);
  double* y = omp_alloc(sizeof(double) * (N), omp_default_mem_alloc);
  fill_numbers(x, N), fill_numbers(y, N);
  while (go_on())
    g_sink = dot(x, y);
}

KERNEL double gather(const double* restrict data, const int* restrict index) {
  double sum = 0;
#pragma omp parallel for reduction(+ : sum)
  for (long i = 0; i < N; ++i)
    sum += data[index[i]];
  return sum;
}
static void run_gather(void) {
  double* data = omp_alloc(sizeof(double) * (N), omp_default_mem_alloc);
  int* index = omp_alloc(sizeof(int) * (N), omp_default_mem_alloc);
  fill_numbers(data, N), fill_indices(index, N, N);
  while (go_on())
    g_sink = gather(data, index);
}

KERNEL void scatter(double* restrict out, const int* restrict index) {
#pragma omp parallel for
  for (long i = 0; i < N; ++i)
    out[index[i]] = (double)i;
}
static void run_scatter(void) {
  double* out = omp_alloc(sizeof(double) * (N), omp_default_mem_alloc);
  int* index = omp_alloc(sizeof(int) * (N), omp_default_mem_alloc);
  fill_numbers(out, N), fill_indices(index, N, N);
  while (go_on())
    scatter(out, index);
}

KERNEL void histogram(int* restrict bins, const int* restrict index) {
#pragma omp parallel for
  for (long i = 0; i < N; ++i)
    bins[index[i]] += 1;
}
static void run_histogram(void) {
  int* bins = omp_alloc(sizeof(int) * (N), omp_default_mem_alloc);
  int* index = omp_alloc(sizeof(int) * (N), omp_default_mem_alloc);
  fill_indices(bins, N, 1), fill_indices(index, N, N);
  while (go_on())
    histogram(bins, index);
}

/* Every 32nd element, a stride of 256 bytes. */
KERNEL void strided(double* restrict out, const double* restrict in) {
#pragma omp parallel for
  for (long i = 0; i < N / 32; ++i)
    out[i] = in[i * 32] + 1;
}
static void run_strided(void) {
  double* in = omp_alloc(sizeof(double) * (N), omp_default_mem_alloc);
  double* out = omp_alloc(sizeof(double) * (N), omp_default_mem_alloc);
  fill_numbers(in, N), fill_numbers(out, N);
  while (go_on())
    strided(out, in);
}

/* A matrix of 1024 columns, transposed tile by tile. */
KERNEL void tiled(double* restrict to, const double* restrict from) {
#pragma omp parallel for collapse(2)
  for (long row = 0; row < N / 1024; row += TILE)
    for (long column = 0; column < 1024; column += TILE)
      for (long i = row; i < row + TILE; ++i)
        for (long k = column; k < column + TILE; ++k)
          to[i * 1024 + k] = from[i * 1024 + k] * 0.5;
}
static void run_tiled(void) {
  double* from = omp_alloc(sizeof(double) * (N), omp_default_mem_alloc);
  double* to = omp_alloc(sizeof(double) * (N), omp_default_mem_alloc);
  fill_numbers(from, N), fill_numbers(to, N);
  while (go_on())
    tiled(to, from);
}

KERNEL void stencil2d(double* restrict out, const double* restrict in) {
  const long width = 1024;
#pragma omp parallel for
  for (long row = 1; row < N / width - 1; ++row)
    for (long i = row * width + 1; i < (row + 1) * width - 1; ++i)
      out[i] = 0.25 * (in[i - 1] + in[i + 1] + in[i - width] + in[i + width]);
}
static void run_stencil2d(void) {
  double* in = omp_alloc(sizeof(double) * (N), omp_default_mem_alloc);
  double* out = omp_alloc(sizeof(double) * (N), omp_default_mem_alloc);
  fill_numbers(in, N), fill_numbers(out, N);
  while (go_on())
    stencil2d(out, in);
}

KERNEL void stencil3d(double* restrict out, const double* restrict in) {
  const long line = 128, plane = 128 * 64;
#pragma omp parallel for
  for (long z = 1; z < N / plane - 1; ++z)
    for (long y = 1; y < 63; ++y)
      for (long i = z * plane + y * line + 1; i < z * plane + (y + 1) * line - 1; ++i)
        out[i] = in[i] + 0.1 * (in[i - 1] + in[i + 1] + in[i - line] + in[i + line] +
                                in[i - plane] + in[i + plane]);
}
static void run_stencil3d(void) {
  double* in = omp_alloc(sizeof(double) * (N), omp_default_mem_alloc);
  double* out = omp_alloc(sizeof(double) * (N), omp_default_mem_alloc);
  fill_numbers(in, N), fill_numbers(out, N);
  while (go_on())
    stencil3d(out, in);
}

/* Rows of a are linear, columns of b are 2 KiB apart. */
KERNEL void dgemm(double* restrict c, const double* restrict a, const double* restrict b, long n) {
#pragma omp parallel for
  for (long i = 0; i < n; ++i)
    for (long j = 0; j < n; ++j) {
      double sum = 0;
      for (long k = 0; k < n; ++k)
        sum += a[i * n + k] * b[k * n + j];
      c[i * n + j] = sum;
    }
}
static void run_dgemm(void) {
  double* a = omp_alloc(sizeof(double) * (SMALL * SMALL), omp_default_mem_alloc);
  double* b = omp_alloc(sizeof(double) * (SMALL * SMALL), omp_default_mem_alloc);
  double* c = omp_alloc(sizeof(double) * (SMALL * SMALL), omp_default_mem_alloc);
  fill_numbers(a, SMALL * SMALL), fill_numbers(b, SMALL * SMALL), fill_numbers(c, SMALL * SMALL);
  while (go_on())
    dgemm(c, a, b, g_small);
}

KERNEL void chase(struct node* nodes) {
#pragma omp parallel
  {
    const struct node* at = nodes + 997 * omp_get_thread_num();
    for (long i = 0; i < N / 16; ++i)
      at = at->next;
    g_sink = (double)(at - nodes);
  }
}
static void run_chase(void) {
  struct node* nodes = omp_alloc(sizeof(struct node) * (N / 8), omp_default_mem_alloc);
  fill_ring(nodes, N / 8);
  while (go_on())
    chase(nodes);
}

KERNEL void spmv(double* restrict y, const int* restrict rows, const int* restrict columns,
                 const double* restrict values, const double* restrict x) {
#pragma omp parallel for
  for (long row = 0; row < N / 16; ++row) {
    double sum = 0;
    for (int k = rows[row]; k < rows[row + 1]; ++k)
      sum += values[k] * x[columns[k]];
    y[row] = sum;
  }
}
static void run_spmv(void) {
  double* values = omp_alloc(sizeof(double) * (N), omp_default_mem_alloc);
  int* columns = omp_alloc(sizeof(int) * (N), omp_default_mem_alloc);
  int* rows = omp_alloc(sizeof(int) * (N / 16 + 1), omp_default_mem_alloc);
  double* x = omp_alloc(sizeof(double) * (N), omp_default_mem_alloc);
  double* y = omp_alloc(sizeof(double) * (N / 16), omp_default_mem_alloc);
  fill_numbers(values, N), fill_numbers(x, N), fill_numbers(y, N / 16);
  fill_indices(columns, N, N), fill_rows(rows, N / 16, 16);
  while (go_on())
    spmv(y, rows, columns, values, x);
}

KERNEL long hash(const unsigned* restrict keys, const unsigned* restrict table) {
  long found = 0;
#pragma omp parallel for reduction(+ : found)
  for (long i = 0; i < N / 4; ++i) {
    unsigned place = keys[i] * 2654435761u >> (12 - SCALE_BITS);
    for (int tries = 0; tries < 4; ++tries, place = (place + 1) & (N - 1)) {
      if (table[place] == keys[i]) ++found;
      if (table[place] == 0) break;
    }
  }
  return found;
}
static void run_hash(void) {
  unsigned* keys = omp_alloc(sizeof(unsigned) * (N / 4), omp_default_mem_alloc);
  unsigned* table = omp_alloc(sizeof(unsigned) * (N), omp_default_mem_alloc);
  fill_table(table, N, keys, N / 4);
  while (go_on())
    g_sink = (double)hash(keys, table);
}

KERNEL double visit(const int* offsets, const int* edges, const float* rank, long vertex) {
  double sum = 0;
  for (int e = offsets[vertex]; e < offsets[vertex + 1]; ++e)
    sum += (double)rank[edges[e]];
  return sum;
}
KERNEL void graph(const int* offsets, const int* edges, const float* rank, float* next) {
#pragma omp parallel for
  for (long vertex = 0; vertex < N / EDGES; ++vertex)
    next[vertex] = (float)(0.15 + 0.85 * visit(offsets, edges, rank, vertex));
}
static void run_graph(void) {
  int* offsets = omp_alloc(sizeof(int) * (N / EDGES + 1), omp_default_mem_alloc);
  int* edges = omp_alloc(sizeof(int) * (N), omp_default_mem_alloc);
  float* rank = omp_alloc(sizeof(float) * (N / EDGES), omp_default_mem_alloc);
  float* next = omp_alloc(sizeof(float) * (N / EDGES), omp_default_mem_alloc);
  fill_rows(offsets, N / EDGES, EDGES), fill_indices(edges, N, N / EDGES);
  fill_singles(rank, N / EDGES), fill_singles(next, N / EDGES);
  while (go_on())
    graph(offsets, edges, rank, next);
}

KERNEL void copy(char* restrict to, const char* restrict from) {
#pragma omp parallel for
  for (long at = 0; at < 8L * N; at += PIECE)
    memcpy(to + at, from + at, PIECE);
}
static void run_copy(void) {
  char* from = omp_alloc(sizeof(char) * (8L * N), omp_default_mem_alloc);
  char* to = omp_alloc(sizeof(char) * (8L * N), omp_default_mem_alloc);
  fill_numbers((double*)from, N), fill_numbers((double*)to, N);
  while (go_on())
    copy(to, from);
}

/* From here on: kernels that were not used to develop the rules. */

/* A transposed matrix of 1024 columns, read down its columns. */
KERNEL void transpose(double* restrict to, const double* restrict from) {
#pragma omp parallel for
  for (long i = 0; i < N / 1024; ++i)
    for (long k = 0; k < 1024; ++k)
      to[i * 1024 + k] = from[k * 1024 + i];
}
static void run_transpose(void) {
  double* from = omp_alloc(sizeof(double) * (N), omp_default_mem_alloc);
  double* to = omp_alloc(sizeof(double) * (N), omp_default_mem_alloc);
  fill_numbers(from, N), fill_numbers(to, N);
  while (go_on())
    transpose(to, from);
}

/* Lists of four entries on average, followed until the key is found. */
KERNEL long buckets(const unsigned long* keys, struct entry* const* heads) {
  long sum = 0;
#pragma omp parallel for reduction(+ : sum)
  for (long i = 0; i < N / 8; ++i) {
    const struct entry* at = heads[keys[i] % (N / 32)];
    while (at->key != keys[i])
      at = at->next;
    sum += (long)at->value;
  }
  return sum;
}
static void run_buckets(void) {
  unsigned long* keys = omp_alloc(sizeof(long) * (N / 8), omp_default_mem_alloc);
  struct entry** heads = omp_alloc(sizeof(struct entry*) * (N / 32), omp_default_mem_alloc);
  struct entry* entries = omp_alloc(sizeof(struct entry) * (N / 8), omp_default_mem_alloc);
  fill_buckets(heads, N / 32, entries, keys, N / 8);
  while (go_on())
    g_sink = (double)buckets(keys, heads);
}

/* Forward substitution with eight diagonals, 64 systems side by side. */
KERNEL void banded(double* restrict x, const double* restrict band, const double* restrict right) {
#pragma omp parallel for
  for (long system = 0; system < 64; ++system)
    for (long row = system * (N / 512) + 8; row < (system + 1) * (N / 512); ++row) {
      double sum = right[row];
      for (long k = 1; k < 8; ++k)
        sum -= band[row * 8 + k] * x[row - k];
      x[row] = sum * band[row * 8];
    }
}
static void run_banded(void) {
  double* x = omp_alloc(sizeof(double) * (N / 8), omp_default_mem_alloc);
  double* band = omp_alloc(sizeof(double) * (N), omp_default_mem_alloc);
  double* right = omp_alloc(sizeof(double) * (N / 8), omp_default_mem_alloc);
  fill_numbers(x, N / 8), fill_numbers(band, N), fill_numbers(right, N / 8);
  while (go_on())
    banded(x, band, right);
}

/* Six of eight fields of one array of structures, one field of another. */
KERNEL void structures(struct body* restrict moving, const struct body* restrict still) {
#pragma omp parallel for
  for (long i = 0; i < N / 8; ++i) {
    const double mass = still[i].mass; /* one load, whatever the compiler does */
    for (int axis = 0; axis < 3; ++axis)
      moving[i].place[axis] += moving[i].speed[axis] * mass;
  }
}
static void run_structures(void) {
  struct body* moving = omp_alloc(sizeof(struct body) * (N / 8), omp_default_mem_alloc);
  struct body* still = omp_alloc(sizeof(struct body) * (N / 8), omp_default_mem_alloc);
  fill_bodies(moving, N / 8), fill_bodies(still, N / 8);
  while (go_on())
    structures(moving, still);
}

/* From here on also not used for the rules of how streams share time. An array written in place: */
KERNEL void update(double* restrict y, const double* restrict x) {
#pragma omp parallel for
  for (long i = 0; i < N; ++i)
    y[i] += 3 * x[i];
}
static void run_update(void) {
  double* y = omp_alloc(sizeof(double) * (N), omp_default_mem_alloc);
  double* x = omp_alloc(sizeof(double) * (N), omp_default_mem_alloc);
  fill_numbers(y, N), fill_numbers(x, N);
  while (go_on())
    update(y, x);
}

/* Half as many bytes are read as written. */
KERNEL void widen(double* restrict to, const float* restrict from) {
#pragma omp parallel for
  for (long i = 0; i < N; ++i)
    to[i] = (double)from[i];
}
static void run_widen(void) {
  double* to = omp_alloc(sizeof(double) * (N), omp_default_mem_alloc);
  float* from = omp_alloc(sizeof(float) * (N), omp_default_mem_alloc);
  fill_numbers(to, N), fill_singles(from, N);
  while (go_on())
    widen(to, from);
}

/* The matrix comes from memory, the vector of 16 KiB stays in the cache. */
KERNEL void matvec(double* restrict y, const double* restrict matrix, const double* restrict x) {
  const long width = 2048;
#pragma omp parallel for
  for (long row = 0; row < N / width; ++row) {
    double sum = 0;
    for (long i = 0; i < width; ++i)
      sum += matrix[row * width + i] * x[i];
    y[row] = sum;
  }
}
static void run_matvec(void) {
  double* y = omp_alloc(sizeof(double) * (N / 2048), omp_default_mem_alloc);
  double* matrix = omp_alloc(sizeof(double) * (N), omp_default_mem_alloc);
  double* x = omp_alloc(sizeof(double) * (2048), omp_default_mem_alloc);
  fill_numbers(y, N / 2048), fill_numbers(matrix, N), fill_numbers(x, 2048);
  while (go_on())
    matvec(y, matrix, x);
}

/* Random reads between two streams, one of them written. */
KERNEL void permute(double* restrict out, const double* restrict data, const int* restrict index) {
#pragma omp parallel for
  for (long i = 0; i < N; ++i)
    out[i] = data[index[i]];
}
static void run_permute(void) {
  double* out = omp_alloc(sizeof(double) * (N), omp_default_mem_alloc);
  double* data = omp_alloc(sizeof(double) * (N), omp_default_mem_alloc);
  int* index = omp_alloc(sizeof(int) * (N), omp_default_mem_alloc);
  fill_numbers(out, N), fill_numbers(data, N), fill_indices(index, N, N);
  while (go_on())
    permute(out, data, index);
}

int main(int count, char** arguments) {
  static const struct {
    const char* name;
    void (*run)(void);
  } kernels[] = {{"triad", run_triad},
                 {"dot", run_dot},
                 {"gather", run_gather},
                 {"scatter", run_scatter},
                 {"histogram", run_histogram},
                 {"strided", run_strided},
                 {"tiled", run_tiled},
                 {"stencil2d", run_stencil2d},
                 {"stencil3d", run_stencil3d},
                 {"dgemm", run_dgemm},
                 {"chase", run_chase},
                 {"spmv", run_spmv},
                 {"hash", run_hash},
                 {"graph", run_graph},
                 {"copy", run_copy},
                 {"transpose", run_transpose},
                 {"buckets", run_buckets},
                 {"banded", run_banded},
                 {"structures", run_structures},
                 {"update", run_update},
                 {"widen", run_widen},
                 {"matvec", run_matvec},
                 {"permute", run_permute}};
  if (count == 3 || count == 4) {
    char* rest = NULL;
    g_seconds = strtod(arguments[2], &rest);
    if (*rest != 's') g_rounds = (long)g_seconds, g_seconds = 0;
    if (count == 4) g_subset = strtol(arguments[3], NULL, 10);
    for (size_t i = 0; i < sizeof kernels / sizeof *kernels; ++i) {
      if (strcmp(arguments[1], kernels[i].name) != 0) continue;
      kernels[i].run();
      for (int array = 0; array < g_count; ++array)
        printf("range %zx-%zx\n", (size_t)g_arrays[array].begin,
               (size_t)g_arrays[array].begin + g_arrays[array].bytes - 1);
      return 0;
    }
  }
  fprintf(stderr, "usage: kernels NAME ROUNDS|SECONDSs [SUBSET]\n");
  return 2;
}
