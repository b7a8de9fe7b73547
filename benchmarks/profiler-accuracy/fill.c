/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "fill.h"

#include <string.h>

static unsigned long next_random(void) {
  static unsigned long state = 88172645463325252u;
  state ^= state << 13;
  state ^= state >> 7;
  return state ^= state << 17;
}

void fill_numbers(double* numbers, long count) {
  for (long i = 0; i < count; ++i)
    numbers[i] = 1 + (double)(i % 7);
}

void fill_singles(float* numbers, long count) {
  for (long i = 0; i < count; ++i)
    numbers[i] = 1 + (float)(i % 7);
}

void fill_indices(int* indices, long count, long range) {
  for (long i = 0; i < count; ++i)
    indices[i] = (int)(next_random() % (unsigned long)range);
}

/* Rows of mean - 4 to mean + 4 elements, so that short loops end at different places. */
void fill_rows(int* rows, long count, int mean) {
  rows[0] = 0;
  for (long i = 0; i < count; i += 2) {
    const int more = (int)(next_random() % 5);
    rows[i + 1] = rows[i] + mean - more;
    rows[i + 2] = rows[i] + 2 * mean;
  }
}

void fill_ring(struct node* nodes, long count) {
  for (long i = 0; i < count; ++i)
    nodes[i].next = &nodes[i];
  for (long i = count - 1; i > 0; --i) { /* Sattolo: one cycle */
    const long other = (long)(next_random() % (unsigned long)i);
    struct node* kept = nodes[i].next;
    nodes[i].next = nodes[other].next;
    nodes[other].next = kept;
  }
}

void fill_table(unsigned* table, long size, unsigned* keys, long count) {
  memset(table, 0, sizeof *table * (unsigned long)size);
  for (long i = 0; i < count; ++i) {
    keys[i] = (unsigned)(next_random() | 1);
    unsigned place = keys[i] * 2654435761u >> (__builtin_clz((unsigned)size) + 1);
    while (table[place] != 0 && table[place] != keys[i])
      place = (place + 1) & (unsigned)(size - 1);
    table[place] = keys[i];
  }
}

void fill_buckets(struct entry** heads, long buckets, struct entry* entries, unsigned long* keys,
                  long count) {
  memset(heads, 0, sizeof *heads * (unsigned long)buckets);
  for (long i = 0; i < count; ++i) {
    entries[i].key = next_random();
    entries[i].value = entries[i].spare = 1;
    struct entry** head = &heads[entries[i].key % (unsigned long)buckets];
    entries[i].next = *head;
    *head = &entries[i];
  }
  for (long i = 0; i < count; ++i)
    keys[i] = entries[next_random() % (unsigned long)count].key;
}

void fill_bodies(struct body* bodies, long count) {
  for (long i = 0; i < count; ++i) {
    for (int axis = 0; axis < 3; ++axis)
      bodies[i].place[axis] = bodies[i].speed[axis] = (double)(i % 7);
    bodies[i].mass = 1;
    bodies[i].number = i;
  }
}
