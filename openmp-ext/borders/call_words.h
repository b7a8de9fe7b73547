/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * A call of malloc as libomptier_preload.so recognises it again, by what lies on the thread's
 * stack. Made by the library that knows how to unwind: the recorder, or libomptier.so.
 */
#ifndef OMPTIER_BORDERS_CALL_WORDS_H
#define OMPTIER_BORDERS_CALL_WORDS_H

#include <stdint.h>

#define OMPTIER_MOST_CALL_WORDS 24

/* Return addresses, malloc's first, and how many bytes above the first each of them lies. */
typedef struct omptier_call_words {
  uint32_t count; /* at least 1 */
  uint32_t site;  /* its number, by the library that made this; 0 from libomptier.so */
  uint64_t code[OMPTIER_MOST_CALL_WORDS];
  uint32_t above[OMPTIER_MOST_CALL_WORDS];
} omptier_call_words;

#endif /* OMPTIER_BORDERS_CALL_WORDS_H */
