/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Contents of the kernels' arrays; compiled without instrumentation.
 */
#ifndef OMPTIER_ACCURACY_FILL_H
#define OMPTIER_ACCURACY_FILL_H

struct node { /* a cache line */
  struct node* next;
  long payload[7];
};

struct entry { /* of a bucket's list */
  struct entry* next;
  unsigned long key, value, spare;
};

struct body { /* a cache line */
  double place[3], speed[3], mass;
  long number;
};

void fill_numbers(double* numbers, long count);
void fill_singles(float* numbers, long count);
void fill_indices(int* indices, long count, long range); /* at random below range */
void fill_rows(int* rows, long count, int mean);         /* count + 1 offsets, mean apart */
void fill_ring(struct node* nodes, long count);          /* one ring through all, in random order */
void fill_table(unsigned* table, long size, unsigned* keys, long count); /* keys are in the table */
/* Lists of all entries, which lie in random order; keys are among theirs. */
void fill_buckets(struct entry** heads, long buckets, struct entry* entries, unsigned long* keys,
                  long count);
void fill_bodies(struct body* bodies, long count);

#endif
