// SPDX-License-Identifier: GPL-2.0-or-later
//
// Misses of the kernel on pages that it clears or copies for a program. It does so before the page
// is the program's, through an address of its own; whose page it is shows when user code touches it
// first. Until then the misses wait here, by the page's address as QEMU reports it. Pages that no
// program touches (page tables, caches of files) are replaced by later ones in time; their misses
// stay unplaced.
//
// All vCPUs use the table without a lock: if two of them hit one place at once, a page may lose
// misses, which is harmless.
#pragma once

#include "machine/timing/config.h"

#ifdef __cplusplus
extern "C" {
#endif

struct made_pages;

struct page_misses {
  uint32_t loads, stores; // a copy's loads are of the page that it copies
  uint32_t streamed;      // of both
  uint32_t nanoseconds;   // undilated, of all together
};

struct made_pages* made_pages_create(void);
void made_pages_clear(struct made_pages* pages);

// The kernel missed on the page. Of a page that is made several times, twice a page's lines are
// kept: Linux clears a huge page once when it is allocated (init_on_alloc) and once for its user.
void made_pages_add(struct made_pages* pages, uint64_t page, const struct page_misses* more);

// User code touches the page. False: nothing waits for it. Else it is forgotten.
bool made_pages_take(struct made_pages* pages, uint64_t page, struct page_misses* misses);

// Misses on pages that were replaced.
uint64_t made_pages_unplaced(const struct made_pages* pages);

#ifdef __cplusplus
}
#endif
