// SPDX-License-Identifier: GPL-2.0-or-later
//
// What the guest's kernel takes of modelled time, beside its instructions. Functions that move bytes
// for a program (page copies, page clears, copies from and to user memory) go through the modelled
// caches as a program does; the kernel's other accesses all hit. A few functions cost a constant per
// call, in place of the rest of a page migration: one per folio, one per TLB shoot-down.
//
// Functions are found by name in the kernel's symbols. Since kernels differ, each group has the
// names of several versions (seen: 6.1, 6.12), and one of them must exist.
#pragma once

#include "machine/timing/config.h"

#ifdef __cplusplus
extern "C" {
#endif

struct kernel_model;

// Reads configuration->symbols. Null: error holds one line.
struct kernel_model* kernel_model_create(const struct configuration* configuration, char* error,
                                         size_t error_size);

// What the function at an address does for a program.
enum kernel_moves {
  k_moves_nothing,
  k_moves_bytes, // from or to user memory
  k_clears_page,
  k_copies_page
};
enum kernel_moves kernel_moves_at(const struct kernel_model* model, uint64_t address);

// Undilated ns that a call of the function which starts here costs; 0 at all other addresses.
double kernel_charge_at(const struct kernel_model* model, uint64_t address);

// One line about the functions found, for the statistics.
void kernel_model_describe(const struct kernel_model* model, char* text, size_t size);

#ifdef __cplusplus
}
#endif
