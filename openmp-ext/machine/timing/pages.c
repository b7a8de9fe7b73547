// SPDX-License-Identifier: GPL-2.0-or-later
#include "machine/timing/pages.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

enum {
  k_places = 1 << 16, // 256 MiB of memory that is made and not touched yet
  k_most_stores = 2 * k_page_size / k_line_size
};

struct waiting_misses {
  _Atomic uint32_t loads, stores, streamed, nanoseconds;
};

struct made_pages {
  _Atomic uint64_t unplaced;
  _Atomic uint64_t page[k_places]; // page number + 1; 0 = empty. Apart: looked at by every miss
  struct waiting_misses misses[k_places];
};

struct made_pages* made_pages_create(void) {
  return calloc(1, sizeof(struct made_pages));
}

static uint32_t empty(_Atomic uint32_t* count) {
  return atomic_exchange_explicit(count, 0, memory_order_relaxed);
}

static void add(_Atomic uint32_t* count, uint32_t more) {
  atomic_fetch_add_explicit(count, more, memory_order_relaxed);
}

static struct page_misses empty_place(struct waiting_misses* at) {
  return (struct page_misses){.loads = empty(&at->loads),
                              .stores = empty(&at->stores),
                              .streamed = empty(&at->streamed),
                              .nanoseconds = empty(&at->nanoseconds)};
}

void made_pages_clear(struct made_pages* pages) {
  atomic_store(&pages->unplaced, 0);
  for (uint32_t i = 0; i < k_places; i++) {
    atomic_store_explicit(&pages->page[i], 0, memory_order_relaxed);
    empty_place(&pages->misses[i]);
  }
}

static void give_up(struct made_pages* pages, struct waiting_misses* at) {
  const struct page_misses old = empty_place(at);
  atomic_fetch_add_explicit(&pages->unplaced, old.loads + old.stores, memory_order_relaxed);
}

void made_pages_add(struct made_pages* pages, uint64_t page, const struct page_misses* more) {
  const uint64_t place = page % k_places;
  struct waiting_misses* at = &pages->misses[place];
  if (atomic_exchange_explicit(&pages->page[place], page + 1, memory_order_relaxed) != page + 1 ||
      atomic_load_explicit(&at->stores, memory_order_relaxed) + more->stores > k_most_stores)
    give_up(pages, at);
  add(&at->loads, more->loads);
  add(&at->stores, more->stores);
  add(&at->streamed, more->streamed);
  add(&at->nanoseconds, more->nanoseconds);
}

bool made_pages_take(struct made_pages* pages, uint64_t page, struct page_misses* misses) {
  _Atomic uint64_t* held = &pages->page[page % k_places];
  if (atomic_load_explicit(held, memory_order_relaxed) != page + 1) return false;
  uint64_t expected = page + 1;
  if (!atomic_compare_exchange_strong(held, &expected, 0)) return false; // another vCPU took it
  *misses = empty_place(&pages->misses[page % k_places]);
  return true;
}

uint64_t made_pages_unplaced(const struct made_pages* pages) {
  return atomic_load_explicit(&pages->unplaced, memory_order_relaxed);
}
