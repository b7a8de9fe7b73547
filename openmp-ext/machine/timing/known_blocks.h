// SPDX-License-Identifier: GPL-2.0-or-later
//
// The blocks that were translated so far. QEMU translates the same code again and again, when a
// page was written to, and may execute a block until it drops all at once, its own cache being
// full: what is known of a block is kept once, until then.
#pragma once

#include "machine/timing/block.h"

#ifdef __cplusplus
extern "C" {
#endif

enum {
  k_most_instructions = 512, // of a block, in QEMU
  k_longest_instruction = 15
};

struct known_block {
  struct block block;
  uint64_t identity;
  struct known_block* next;
  struct block_access accesses[]; // by instruction, also of those that access nothing
};

struct known_blocks;

struct known_blocks* known_blocks_create(void);

// Frees what is known. Nobody uses a block any more.
void known_blocks_clear(struct known_blocks* blocks);

// ends: of each instruction within the code. Null: no memory. Any thread may call it.
const struct known_block* known_blocks_find(struct known_blocks* blocks, uint64_t address,
                                            const uint8_t* code, const size_t* ends, size_t count);

#ifdef __cplusplus
}
#endif
