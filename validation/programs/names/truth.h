/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Programs of this folder print the name that each of their arrays should have in a report, and its
 * bytes, by which names.py finds it. No two arrays have the same bytes.
 */
#include <stdio.h>

/* The compiler must think that the memory is used. */
#define KEEP(pointer) __asm__ volatile("" : : "r"(pointer) : "memory")
#define NAME(text, bytes) printf("%s %zu\n", text, (size_t)(bytes))
