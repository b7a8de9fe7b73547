// SPDX-License-Identifier: GPL-2.0-or-later
#include "machine/timing/known_blocks.h"

#include <pthread.h>
#include <stdlib.h>

enum { k_chains = 1 << 16 };

struct known_blocks {
  pthread_mutex_t lock;
  struct known_block* chains[k_chains];
};

struct known_blocks* known_blocks_create(void) {
  struct known_blocks* blocks = calloc(1, sizeof *blocks);
  if (blocks) pthread_mutex_init(&blocks->lock, NULL);
  return blocks;
}

void known_blocks_clear(struct known_blocks* blocks) {
  pthread_mutex_lock(&blocks->lock);
  for (size_t chain = 0; chain < k_chains; chain++)
    for (struct known_block* next; blocks->chains[chain]; blocks->chains[chain] = next) {
      next = blocks->chains[chain]->next;
      free(blocks->chains[chain]);
    }
  pthread_mutex_unlock(&blocks->lock);
}

// FNV-1a over the address and the code.
static uint64_t identity_of(uint64_t address, const uint8_t* code, size_t size) {
  uint64_t hash = UINT64_C(0xcbf29ce484222325);
  for (int shift = 0; shift < 64; shift += 8)
    hash = (hash ^ (address >> shift & 0xff)) * UINT64_C(0x100000001b3);
  for (size_t i = 0; i < size; i++)
    hash = (hash ^ code[i]) * UINT64_C(0x100000001b3);
  return hash;
}

static struct known_block* read_block(uint64_t address, const uint8_t* code, const size_t* ends,
                                      size_t count) {
  struct known_block* known = malloc(sizeof *known + count * sizeof *known->accesses);
  if (!known) return NULL;
  struct block_builder builder;
  block_begin(&builder);
  for (size_t i = 0, begin = 0; i < count; begin = ends[i++]) {
    block_add(&builder, code + begin, ends[i] - begin, &known->accesses[i]);
    known->accesses[i].pc = address + begin;
  }
  block_end(&builder, &known->block);
  known->block.begin = address;
  known->block.end = address + (count ? ends[count - 1] : 0);
  return known;
}

const struct known_block* known_blocks_find(struct known_blocks* blocks, uint64_t address,
                                            const uint8_t* code, const size_t* ends, size_t count) {
  const uint64_t identity = identity_of(address, code, count ? ends[count - 1] : 0);
  struct known_block** chain = &blocks->chains[(identity ^ identity >> 32) % k_chains];
  pthread_mutex_lock(&blocks->lock);
  struct known_block* found = *chain;
  while (found && (found->identity != identity || found->block.instructions != count))
    found = found->next;
  if (!found && (found = read_block(address, code, ends, count))) {
    found->identity = identity;
    found->next = *chain;
    *chain = found;
  }
  pthread_mutex_unlock(&blocks->lock);
  return found;
}
