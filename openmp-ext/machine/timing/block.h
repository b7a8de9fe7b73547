// SPDX-License-Identifier: GPL-2.0-or-later
//
// What the instructions of a translated block do to registers, as far as it matters for time: from
// which loads an address comes. Found once, when QEMU translates the block; core.h follows it from
// block to block, so that loops and calls need no analysis of their own.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

enum {
  k_registers = 32,     // 16 general ones, 16 of vectors; the stack pointer's place is the flags'
  k_flags = 4,
  k_loads_of_block = 32 // later ones of a block count as the last of these
};

// A set of what a value comes from. Bits 0–31: the registers before the block; bits 32–63: the
// block's loads, in their order.
typedef uint64_t block_sources;

struct block_access { // an instruction that accesses memory
  uint64_t pc;
  block_sources address; // what its address comes from
  block_sources stored;  // what the value that it stores comes from
  uint16_t index;        // of the instruction in its block
  int8_t load;           // its number among the block's loads; −1 = none
  bool locked;           // atomic: the core waits for it
  bool past_caches;      // a store that does not read its line first (MOVNT…)
  bool clears_page;      // of the kernel, all of it
  bool copies_page;
};

struct block_change {
  uint8_t reg;
  block_sources sources;
};

struct block {
  uint64_t begin, end; // addresses
  bool branches;       // its last instruction is a conditional branch
  block_sources condition;
  uint32_t instructions;
  uint32_t change_count;
  struct block_change changes[k_registers];
};

// While a block is read.
struct block_builder {
  block_sources registers[k_registers];
  uint32_t instructions, loads;
  bool branches; // the last instruction
};

void block_begin(struct block_builder* builder);

// Adds the next instruction. access: what it is if it accesses memory, its pc left to the caller.
// What cannot be decoded changes nothing.
void block_add(struct block_builder* builder, const uint8_t* code, size_t size,
               struct block_access* access);

void block_end(const struct block_builder* builder, struct block* block);

#ifdef __cplusplus
}
#endif
