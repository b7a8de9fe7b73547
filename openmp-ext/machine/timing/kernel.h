// SPDX-License-Identifier: GPL-2.0-or-later
//
// What of the guest's kernel takes modelled time. Kernel code runs free, except for the functions
// that move bytes for a program (page copies, page clears, copies from and to user memory: their
// accesses pass through the caches like a program's), and for a constant on each call of a few
// functions that stand for the rest of a page migration: one per folio, one per TLB shoot-down.
//
// Functions are found by name in the kernel's symbols; kernels differ, so each group has the names
// of several versions (seen: 6.1, 6.12) and one of them must be there.
#pragma once

#include "machine/timing/config.h"

#ifdef __cplusplus
extern "C" {
#endif

struct kernel_model;

// Reads configuration->symbols. Null: error holds one line.
struct kernel_model* kernel_model_create(const struct configuration* configuration, char* error,
                                         size_t error_size);

// Does this code move bytes for a program?
bool kernel_moves_bytes(const struct kernel_model* model, uint64_t address);

// The undilated ns that one call of the function which starts here costs; 0 for all other
// addresses.
double kernel_charge_at(const struct kernel_model* model, uint64_t address);

// For the statistics: one line on what was found.
void kernel_model_describe(const struct kernel_model* model, char* text, size_t size);

#ifdef __cplusplus
}
#endif
